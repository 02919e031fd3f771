import Manifests
import Publishing
import Values

/// A fallback in `xcache.json`: `{"prefix": "/app/", "page": "/app/index.html", "except": ["/app/api/*"]}`. Prefix and page are URLs, or
/// paths on the host of the base URL.
struct FallbackSettings: Hashable, Sendable {
  /// The keys of a fallback.
  static let keys = ["prefix", "page", "except"]

  private let prefix: String
  private let page: String
  private let except: [String]
  private let file: String
  private let keys: [String]

  init(_ node: SettingsNode) throws(SettingsError) {
    var prefix: String?
    var page: String?
    var except: [String] = []
    for (key, value) in try node.members() {
      switch key {
      case "prefix": prefix = try value.text("a URL or path that ends with /, such as /app/")
      case "page": page = try value.text("the URL or path of a page, such as /app/index.html")
      case "except":
        for item in try value.elements() { except.append(try item.text("a path such as /app/api/*")) }
        do throws(PageFallbacks.Fault) {
          _ = try PageFallbacks.Rule(prefix: "/", except: except)
        } catch {
          throw SettingsError(.fallback(error), in: value.file, at: value.keys)
        }
      // As the bundle's own key for what it leaves out.
      case "exclude": throw SettingsError(.unknownKey(nearest: "except"), in: value.file, at: value.keys)
      default: throw value.unknown(Self.keys)
      }
    }
    guard let prefix, let page else {
      throw node.wanted(#"an object such as {"prefix": "/app/", "page": "/app/index.html"}"#)
    }
    self.prefix = prefix
    self.page = page
    self.except = except
    file = node.file
    keys = node.keys
  }

  /// Returns the rules of a bundle whose folders have the URLs `bases`.
  /// - Throws: `SettingsError` with the place of the first that can't be one.
  static func rules(_ list: [FallbackSettings], for bases: [BaseURL]) throws(SettingsError)
    -> [BundleSource.FallbackRule]
  {
    var rules: [BundleSource.FallbackRule] = []
    for fallback in list {
      let rule = try fallback.rule(for: bases)
      let others = rules.filter { $0.page.origin == rule.page.origin && $0.rule.prefix == rule.rule.prefix }
      if let other = others.first(where: { $0.page.matchKey != rule.page.matchKey }) {
        throw fallback.wanted(
          "another one, because \(other.page) answers the routes below \(rule.rule.prefix) already", "prefix")
      }
      rules.append(rule)
      do throws(PageFallbacks.Fault) {
        _ = try PageFallbacks(rules.filter { $0.page.matchKey == rule.page.matchKey }.map(\.rule))
      } catch {
        throw SettingsError(.fallback(error), in: fallback.file, at: fallback.keys)
      }
    }
    return rules
  }

  private func rule(for bases: [BaseURL]) throws(SettingsError) -> BundleSource.FallbackRule {
    let page = try url(page, "page", bases)
    let prefix = try url(prefix, "prefix", bases)
    guard page.origin == prefix.origin else {
      throw wanted("of the page's host, \(page.origin): a page answers only routes of its own", "prefix")
    }
    let rule: PageFallbacks.Rule
    do throws(PageFallbacks.Fault) {
      let path = String(prefix.text.dropFirst(prefix.origin.count))
      rule = try PageFallbacks.Rule(prefix: self.prefix.contains("#") ? self.prefix : path, except: except)
    } catch {
      throw SettingsError(.fallback(error), in: file, at: keys + ["prefix"])
    }
    try checkPatterns(rule)
    return BundleSource.FallbackRule(page, rule, file: file, keys: keys.joined(separator: " / "))
  }

  /// Checks that each pattern of `except` can match a route: one that was copied with another prefix would leave the app's API to the page.
  private func checkPatterns(_ rule: PageFallbacks.Rule) throws(SettingsError) {
    for pattern in rule.except {
      let start = pattern.prefix { $0 != "*" && $0 != "?" }
      let goesOn = start.endIndex < pattern.endIndex && pattern[start.endIndex] == "*"
      if start.hasPrefix(rule.prefix) || goesOn && rule.prefix.hasPrefix(start) { continue }
      throw wanted("paths below \(rule.prefix), where the page answers; \(pattern) is none", "except")
    }
  }

  /// Returns what a member names: a URL, or a path on the host of the base URLs.
  private func url(_ text: String, _ key: String, _ bases: [BaseURL]) throws(SettingsError) -> ResourceURL {
    var absolute = text
    if text.utf8.first == UInt8(ascii: "/"), !text.hasPrefix("//") {
      let origins = Set(bases.compactMap { try? ResourceURL($0.text + "/").origin })
      guard let origin = origins.first, origins.count == 1 else {
        throw wanted("a URL, because the bundle's base URLs are of several hosts", key)
      }
      absolute = origin + text
    }
    do {
      return try ResourceURL(absolute)
    } catch {
      let example = key == "page" ? "/app/index.html" : "/app/"
      throw wanted("a URL, or a path such as \(example): \(error.message)", key)
    }
  }

  private func wanted(_ wanted: String, _ key: String) -> SettingsError {
    SettingsError(.value(wanted: wanted), in: file, at: keys + [key])
  }
}

extension ResourceURL {
  /// Scheme, host and port: `https://m.example.com`.
  fileprivate var origin: String { "\(scheme)://\(authority)" }
}
