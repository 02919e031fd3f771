/// An absolute http or https URL under which files lie: no query, no fragment, no slash at its end.
package struct BaseURL: Hashable, Sendable, CustomStringConvertible {
  /// Without a slash at its end: `https://cdn.example.com/hxm/tech`.
  package let text: String

  /// Reads a URL with or without a slash at its end.
  package init(_ text: String) throws(ResourceURLError) {
    if text.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
      throw ResourceURLError(text: text, problem: .baseWithQuery)
    }
    let url = try ResourceURL(text)
    self.text = url.text.hasSuffix("/") ? String(url.text.dropLast()) : url.text
  }

  package var description: String { text }

  /// The path, empty or from its first slash, without one at its end: `/hxm/tech`.
  package var path: Substring {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return "" }
    let authority = text[text.utf8.index(colon, offsetBy: 3)...]
    guard let slash = authority.utf8.firstIndex(of: UInt8(ascii: "/")) else { return "" }
    return authority[slash...]
  }
}

/// Rewrites URLs by prefix: `https://test.m.example.com` becomes `https://m.example.com`.
package struct URLRewriting: Sendable {
  /// One base in place of another.
  package struct Rule: Hashable, Sendable {
    /// The base of the URLs that change.
    package let from: BaseURL
    /// What it becomes.
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

  /// The longest prefix first.
  package let rules: [Rule]

  /// Of several rules for a URL the one with the longest prefix counts.
  package init(_ rules: [Rule]) {
    self.rules = rules.sorted { $0.from.text.utf8.count > $1.from.text.utf8.count }
  }

  /// The URL as the rule that fits makes it; as it is where none does.
  package func apply(to url: ResourceURL) throws(ResourceURLError) -> ResourceURL {
    for rule in rules {
      if let rest = rule.rest(of: url) { return try ResourceURL(rule.to.text + rest) }
    }
    return url
  }

  /// A prefetch config whose pages and apis are rewritten; bodies stay as they are.
  package func apply(toPrefetch config: JSONValue) throws(ResourceURLError) -> JSONValue {
    var pages: [JSONValue] = []
    for page in config.array ?? [] {
      var calls: [JSONValue] = []
      for call in page["interfaces"]?.array ?? [] { calls.append(try apply(to: "api", of: call)) }
      var page = try apply(to: "url", of: page).object ?? JSONObject()
      page["interfaces"] = .array(calls)
      pages.append(.object(page))
    }
    return .array(pages)
  }

  private func apply(to key: String, of value: JSONValue) throws(ResourceURLError) -> JSONValue {
    guard var object = value.object, let text = value[key]?.string else { return value }
    object[key] = .string(try apply(to: try ResourceURL(text)).text)
    return .object(object)
  }
}
