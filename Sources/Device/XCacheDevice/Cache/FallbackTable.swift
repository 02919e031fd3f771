import Manifests
import Values

/// Which page answers the routes of a single-page app (docs/protocol.md §11, D-168).
///
/// A request looks up each prefix of its path, the longest first, so the time depends on the path's length and not on the number of
/// pages. Empty for most manifests.
struct FallbackTable: Sendable {
  private struct Page: Sendable {
    let entry: HeldEntry
    let rule: PageFallbacks.Rule
  }

  /// By origin and prefix, as a match key; in the order of the pages' URLs.
  private var pages: [String: [Page]] = [:]

  /// - Parameter entries: sorted by URL.
  init(_ entries: [HeldEntry]) {
    for entry in entries {
      let rules = entry.fallbacks.rules
      if rules.isEmpty || !Self.isHTML(entry.contentType) { continue }
      for rule in rules {
        pages[entry.url.origin + ResourceURL.matchKey(of: rule.prefix), default: []].append(
          Page(entry: entry, rule: rule))
      }
    }
  }

  var isEmpty: Bool { pages.isEmpty }

  /// The entry of the page that answers for a URL which nothing is listed for.
  subscript(url: ResourceURL) -> HeldEntry? {
    if pages.isEmpty { return nil }
    let path = ResourceURL.matchKey(of: String(url.path))
    let origin = url.origin
    var rest = path[...]
    while let slash = rest.utf8.lastIndex(of: UInt8(ascii: "/")) {
      if let page = pages[origin + rest[...slash]]?.first(where: { $0.rule.covers(url) }) {
        return page.entry
      }
      rest = rest[..<slash]
    }
    return nil
  }

  private static func isHTML(_ type: String) -> Bool {
    let name = type.prefix { $0 != ";" }.lowercased().split(separator: " ")
    return name == ["text/html"] || name == ["application/xhtml+xml"]
  }
}

extension ResourceURL {
  /// The scheme, host and port: `https://m.example.com`.
  fileprivate var origin: String { "\(scheme)://\(authority)" }
}
