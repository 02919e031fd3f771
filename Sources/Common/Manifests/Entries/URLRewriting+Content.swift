import Values

extension URLRewriting {
  /// Why a page's fallback can't go along with the page.
  package enum FallbackFault: Error, Hashable, Sendable {
    /// The page gets another origin, and this prefix isn't rewritten, or gets a third one.
    case origin(ResourceURL)
    /// What comes out isn't a fallback.
    case fallback(PageFallbacks.Fault)
  }

  /// Returns a page's fallbacks once its URL is rewritten: they have paths of its origin, and these move with it. Patterns that aren't
  /// below what is rewritten, such as `/*.js`, stay.
  ///
  /// - Parameters:
  ///   - fallbacks: those of the page.
  ///   - page: its URL.
  ///   - new: what `apply(to:)` makes of that.
  package func apply(
    to fallbacks: PageFallbacks, of page: ResourceURL, to new: ResourceURL
  ) throws(FallbackFault) -> PageFallbacks {
    var rules: [PageFallbacks.Rule] = []
    for (rule, prefix) in zip(fallbacks.rules, fallbacks.prefixes(of: page)) {
      guard let moved = path(of: prefix, at: new) else { throw .origin(prefix) }
      let except = rule.except.map { pattern in
        guard let old = try? ResourceURL("\(page.scheme)://\(page.authority)\(pattern)") else {
          return pattern
        }
        return path(of: old, at: new) ?? pattern
      }
      rules.append(
        try Self.fallback { () throws(PageFallbacks.Fault) in try .init(prefix: moved, except: except) })
    }
    return try Self.fallback { () throws(PageFallbacks.Fault) in try PageFallbacks(rules) }
  }

  /// Returns what is said of a URL that is rewritten.
  package func apply(
    to content: ResourceContent, of url: ResourceURL, to new: ResourceURL
  ) throws(FallbackFault) -> ResourceContent {
    if content.fallbacks.isEmpty { return content }
    return ResourceContent(
      md5: content.md5, sha256: content.sha256, size: content.size, ctype: content.ctype,
      headers: content.headers, fallbacks: try apply(to: content.fallbacks, of: url, to: new),
      isLazy: content.isLazy)
  }

  private static func fallback<Value>(
    _ make: () throws(PageFallbacks.Fault) -> Value
  ) throws(FallbackFault) -> Value {
    do throws(PageFallbacks.Fault) {
      return try make()
    } catch {
      throw .fallback(error)
    }
  }

  /// The path and query that a URL gets; nil if it gets another origin than `page`.
  private func path(of url: ResourceURL, at page: ResourceURL) -> String? {
    guard let moved = try? apply(to: url), moved.scheme == page.scheme, moved.authority == page.authority
    else { return nil }
    return String(moved.text.dropFirst(moved.scheme.count + 3 + moved.authority.count))
  }
}

extension URLRewriting.FallbackFault: CustomStringConvertible {
  /// What is wrong, and what to do.
  package var description: String {
    switch self {
    case .origin(let prefix):
      "the page is the fallback for \(prefix), which would stay behind; rewrite that, too, or the whole host"
    case .fallback(let fault): "its fallback would be invalid: \(fault)"
    }
  }
}
