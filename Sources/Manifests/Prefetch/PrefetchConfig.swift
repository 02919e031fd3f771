/// Which calls a device sends ahead for which page (DESIGN §3 "prefetchConfig").
package struct PrefetchConfig: Hashable, Sendable {
  package let pages: [PrefetchPage]

  /// What a channel has before its first push.
  package static let empty = PrefetchConfig(reading: .array([]))

  /// Calls under one page, and bytes of the whole as canonical JSON, that an origin takes.
  package static let limit = (calls: 64, bytes: 1_000_000)

  /// Reads a `config` array as a device does: what it can't use it passes over.
  package init(reading config: JSONValue) {
    pages = (config.array ?? []).compactMap(PrefetchPage.init(reading:))
  }

  /// The `config` array, its members in their one form: methods in capitals, no member that says nothing.
  package var json: JSONValue { .array(pages.map(\.json)) }

  package var callCount: Int { pages.reduce(0) { $0 + $1.calls.count } }

  /// The entry for a page that opens: one that names the page's query goes before one without a query.
  package func entry(for page: ResourceURL) -> PrefetchPage? {
    pages.first { $0.url.query != nil && page.isPage(of: $0.url) }
      ?? pages.first { $0.url.query == nil && page.isPage(of: $0.url) }
  }
}
