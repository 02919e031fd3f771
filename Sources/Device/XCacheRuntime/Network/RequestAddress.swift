import Values

/// The address of a request: server and target, which may be longer than a resource's URL allows.
package struct RequestAddress: Sendable {
  /// `http` or `https`.
  let scheme: String
  /// The host, and the port unless it is the scheme's default.
  let authority: String
  /// The host; an IPv6 address is in brackets.
  let host: String
  /// The path and query as they are sent.
  let target: String

  /// Nil if `text` isn't an absolute http or https URL, or if it is a long one that isn't written as browsers do.
  package init?(_ text: String) {
    if let url = try? ResourceURL(text) {
      self.init(of: url, target: url.path + (url.query.map { "?\($0)" } ?? ""))
      return
    }
    let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    guard text.utf8.count > ResourceURL.limit, parts.count == 4, parts[1].isEmpty,
      !parts[2].utf8.contains(where: { "?#\\".utf8.contains($0) }),
      let root = try? ResourceURL("\(parts[0])//\(parts[2])/")
    else { return nil }
    let target = parts[3].prefix { $0 != "#" }
    guard target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    self.init(of: root, target: "/\(target)")
  }

  private init(of url: ResourceURL, target: String) {
    scheme = url.scheme
    authority = String(url.authority)
    host = String(url.host)
    self.target = target
  }

  /// `https://m.example.com:8080`.
  package var server: String { "\(scheme)://\(authority)" }
}
