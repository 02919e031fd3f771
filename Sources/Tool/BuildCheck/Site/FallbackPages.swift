import Manifests
import Values

/// The pages of a build or release that answer navigations which nothing else in it answers, as devices choose among them
/// (docs/protocol.md §11).
package struct FallbackPages: Hashable, Sendable {
  private struct Page: Hashable {
    let url: ResourceURL
    let fallbacks: PageFallbacks
  }

  private let pages: [Page]

  /// None.
  package init() { pages = [] }

  /// Creates the set of those that have fallbacks and are html documents.
  package init(_ pages: some Sequence<(url: ResourceURL, ctype: String, fallbacks: PageFallbacks)>) {
    self.pages = pages.filter { !$0.fallbacks.isEmpty && Self.isDocument($0.ctype) }
      .map { Page(url: $0.url, fallbacks: $0.fallbacks) }.sorted { $0.url < $1.url }
  }

  package var isEmpty: Bool { pages.isEmpty }

  /// Returns the page that answers a navigation to `url`: that of the longest prefix; nil if there is none.
  package func page(for url: ResourceURL) -> ResourceURL? {
    var best: (length: Int, page: ResourceURL)?
    for page in pages where page.url.scheme == url.scheme && page.url.authority == url.authority {
      for rule in page.fallbacks.rules where rule.covers(url) {
        let length = ResourceURL.matchKey(of: rule.prefix).utf8.count
        // The pages are sorted, and the first of two with the same prefix is taken.
        if best.map({ $0.length < length }) ?? true { best = (length, page.url) }
      }
    }
    return best?.page
  }

  /// Whether documents of this type can answer navigations.
  package static func isDocument(_ ctype: String) -> Bool {
    let essence = ctype.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
    return essence == "text/html" || essence == "application/xhtml+xml"
  }
}
