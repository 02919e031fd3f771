import Values

/// Which page answers the routes of a single-page app (docs/protocol.md §11, D-168): of a manifest, or of a build.
///
/// A URL looks up each prefix of its path, the longest first, so the time depends on the path's length and not on the number of pages. Empty
/// for most manifests.
package struct FallbackTable<Page: Sendable>: Sendable {
  private struct Place: Sendable {
    let page: Page
    let rule: PageFallbacks.Rule
  }

  /// By origin and prefix, as a match key; in the order of the pages' URLs.
  private var places: [String: [Place]] = [:]

  /// None.
  package init() {}

  /// Creates the table of those that have fallbacks and are html documents.
  package init(
    _ pages: some Sequence<(url: ResourceURL, ctype: String, fallbacks: PageFallbacks, page: Page)>
  ) {
    let answering = pages.filter { !$0.fallbacks.isEmpty && PageFallbacks.isDocument($0.ctype) }
    for (url, _, fallbacks, page) in answering.sorted(by: { $0.url < $1.url }) {
      for rule in fallbacks.rules {
        places[url.origin + ResourceURL.matchKey(of: rule.prefix), default: []].append(
          Place(page: page, rule: rule))
      }
    }
  }

  package var isEmpty: Bool { places.isEmpty }

  /// The page that answers for a URL which nothing is listed for; nil if there is none.
  package subscript(url: ResourceURL) -> Page? {
    if places.isEmpty { return nil }
    let path = ResourceURL.matchKey(of: String(url.path))
    let origin = url.origin
    var rest = path[...]
    while let slash = rest.utf8.lastIndex(of: UInt8(ascii: "/")) {
      if let place = places[origin + rest[...slash]]?.first(where: { $0.rule.covers(url) }) {
        return place.page
      }
      rest = rest[..<slash]
    }
    return nil
  }
}

extension FallbackTable where Page == ResourceURL {
  package init(_ pages: some Sequence<(url: ResourceURL, ctype: String, fallbacks: PageFallbacks)>) {
    self.init(pages.lazy.map { ($0.url, $0.ctype, $0.fallbacks, $0.url) })
  }
}

extension PageFallbacks {
  /// Whether documents of this type can answer navigations.
  package static func isDocument(_ ctype: String) -> Bool {
    let essence = ctype.prefix { $0 != ";" }.lowercased().split(separator: " ")
    return essence == ["text/html"] || essence == ["application/xhtml+xml"]
  }
}

extension ResourceURL {
  /// The scheme, host and port: `https://m.example.com`.
  fileprivate var origin: String { "\(scheme)://\(authority)" }
}
