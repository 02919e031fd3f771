/// Rewrites URLs by prefix: `https://test.m.example.com` becomes `https://m.example.com`.
package struct URLRewriting: Sendable {
  package struct Rule: Hashable, Sendable {
    package let from: BaseURL
    package let to: BaseURL

    package init(from: BaseURL, to: BaseURL) {
      self.from = from
      self.to = to
    }

    /// The host that files may name, port included.
    package var host: String {
      let rest = from.text.drop { $0 != ":" }.dropFirst(3)
      return String(rest.prefix { $0 != "/" })
    }

    /// What follows the prefix; nil where the URL doesn't lie under it.
    fileprivate func rest(of url: ResourceURL) -> Substring? {
      guard url.text.utf8.starts(with: from.text.utf8) else { return nil }
      let rest = url.text.utf8.dropFirst(from.text.utf8.count)
      // `https://m.example.com.evil.org` and `…/app2` don't lie under `https://m.example.com` and `…/app`.
      guard rest.isEmpty || rest.first == UInt8(ascii: "/") || rest.first == UInt8(ascii: "?") else {
        return nil
      }
      return Substring(rest)
    }
  }

  package let rules: [Rule]

  /// Of several rules for a URL the one with the longest prefix counts.
  package init(_ rules: [Rule]) {
    self.rules = rules.sorted { $0.from.text.utf8.count > $1.from.text.utf8.count }
  }

  package func apply(to url: ResourceURL) throws(ResourceURLError) -> ResourceURL {
    for rule in rules {
      if let rest = rule.rest(of: url) { return try ResourceURL(rule.to.text + rest) }
    }
    return url
  }
}
