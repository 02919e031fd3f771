import System
import Values

/// The cookies of a call that is sent ahead: those that it was sent with, and those that its answer set or removed.
///
/// Only a request with just these may get the answer: with any other, it may be another user's.
struct CallCookies {
  /// One cookie of the engine's store (RFC 6265 §5.3, step 11).
  private struct Key: Hashable {
    let name: String
    /// Empty for a cookie of the host alone.
    let domain: String
    let path: String
  }

  private let url: ResourceURL?
  private let header: String?
  private let sent: [String: [String]]
  /// What the answer, and redirects on the way to it, left at each place; nil if they removed what was there.
  private var own: [Key: String?] = [:]

  /// - Parameters:
  ///   - url: the call's URL.
  ///   - header: the value of `Cookie` in the call; nil if there was none.
  init(_ url: String, sent header: String?) {
    self.url = try? ResourceURL(url)
    self.header = header
    sent = Self.values(header)
  }

  /// Adds the `Set-Cookie` values of an answer from `url`; those that requests to the call's URL don't carry are ignored.
  mutating func set(_ lines: [String], by url: String, at now: Int64 = Clock.unixMilliseconds() / 1000) {
    guard let call = self.url, let setter = try? ResourceURL(url) else { return }
    for line in lines {
      guard let cookie = WrittenCookie(line), cookie.isAllowed(at: String(setter.host)) else { continue }
      let path = cookie.path ?? Self.defaultPath(setter)
      let domain = cookie.domain.map { "." + $0 } ?? String(setter.host)
      let placed = PageCookie(
        name: cookie.name, value: cookie.value, domain: domain, path: path, isSecure: cookie.isSecure)
      guard placed.isSent(to: call) else { continue }
      let key = Key(name: cookie.name, domain: cookie.domain ?? "", path: path)
      own.updateValue(cookie.isRemoval(at: now) ? nil : cookie.value, forKey: key)
    }
  }

  /// Whether a request with this `Cookie`, nil for none, may get the answer.
  func allows(_ header: String?) -> Bool {
    if header == self.header { return true }
    let asked = Self.values(header)
    let names = Set(asked.keys).union(sent.keys).union(own.keys.map(\.name))
    return names.allSatisfy { name in
      let changed = own.filter { $0.key.name == name }
      if changed.isEmpty { return asked[name] == sent[name] }
      // All that the answer set, and of the others some that were sent: each place that it changed may have held one.
      guard let others = (asked[name] ?? []).without(changed.values.compactMap(\.self)),
        let left = (sent[name] ?? []).without(others)
      else { return false }
      return left.count <= changed.count
    }
  }

  /// "the characters of the uri-path from the first character up to, but not including, the right-most" slash (§5.1.4).
  private static func defaultPath(_ url: ResourceURL) -> String {
    let path = url.path
    guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  /// The values of each name, in their order.
  private static func values(_ header: String?) -> [String: [String]] {
    var values: [String: [String]] = [:]
    for pair in (header ?? "").split(separator: ";") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = parts.count == 2 ? String(parts[0].trimmingSpaces) : ""
      values[name, default: []].append(String(parts[parts.count - 1].trimmingSpaces))
    }
    return values
  }
}

extension [String] {
  /// Returns the elements without one of each of `others`; nil if one of those isn't there.
  fileprivate func without(_ others: [String]) -> [String]? {
    var rest = self
    for other in others {
      guard let index = rest.firstIndex(of: other) else { return nil }
      rest.remove(at: index)
    }
    return rest
  }
}
