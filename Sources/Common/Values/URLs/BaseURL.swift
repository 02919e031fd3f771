/// An absolute http or https URL of a folder of files: no query, no fragment, no slash at its end.
package struct BaseURL: Hashable, Sendable, CustomStringConvertible {
  /// The URL without a slash at its end: `https://cdn.example.com/hxm/tech`.
  package let text: String

  /// Parses a URL with or without a slash at its end.
  package init(_ text: String) throws(ResourceURLError) {
    if text.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
      throw ResourceURLError(text: text, problem: .baseWithQuery)
    }
    let url = try ResourceURL(text)
    self.text = url.text.hasSuffix("/") ? String(url.text.dropLast()) : url.text
  }

  package var description: String { text }

  /// The path without a slash at its end: `/hxm/tech`, or empty.
  package var path: Substring {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return "" }
    let authority = text[text.utf8.index(colon, offsetBy: 3)...]
    guard let slash = authority.utf8.firstIndex(of: UInt8(ascii: "/")) else { return "" }
    return authority[slash...]
  }
}

/// Rewrites URLs by prefix: `https://test.m.example.com` becomes `https://m.example.com`.
package struct URLRewriting: Sendable {
  /// The replacement of one base by another.
  package struct Rule: Hashable, Sendable {
    /// The base of the URLs that change.
    package let from: BaseURL
    /// The base that replaces it.
    package let to: BaseURL

    package init(from: BaseURL, to: BaseURL) {
      self.from = from
      self.to = to
    }

    /// The host of `from`, including its port.
    package var host: String {
      let rest = from.text.drop { $0 != ":" }.dropFirst(3)
      return String(rest.prefix { $0 != "/" })
    }

    /// Returns what follows the prefix; nil if the URL isn't under it.
    fileprivate func rest(of url: ResourceURL) -> Substring? {
      guard url.text.utf8.starts(with: from.text.utf8) else { return nil }
      let rest = url.text.utf8.dropFirst(from.text.utf8.count)
      // `https://m.example.com.evil.org` and `…/app2` aren't under `https://m.example.com` and `…/app`.
      guard rest.isEmpty || rest.first == UInt8(ascii: "/") || rest.first == UInt8(ascii: "?") else {
        return nil
      }
      return Substring(rest)
    }
  }

  /// The rules, longest prefix first.
  package let rules: [Rule]

  /// If several rules match a URL, the one with the longest prefix applies.
  package init(_ rules: [Rule]) {
    self.rules = rules.sorted { $0.from.text.utf8.count > $1.from.text.utf8.count }
  }

  /// Returns the URL rewritten by the rule that matches it, or unchanged if none does.
  package func apply(to url: ResourceURL) throws(ResourceURLError) -> ResourceURL {
    for rule in rules {
      if let rest = rule.rest(of: url) { return try ResourceURL(rule.to.text + rest) }
    }
    return url
  }

  /// Returns the rules that no URL is under.
  package func idleRules(for urls: some Sequence<ResourceURL>) -> [Rule] {
    var idle = rules
    for url in urls {
      if idle.isEmpty { break }
      idle.removeAll { $0.rest(of: url) != nil }
    }
    return idle
  }

  /// Returns a prefetch config with its pages and APIs rewritten; bodies are unchanged.
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
