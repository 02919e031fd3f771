import Manifests
import Values

/// What the texts of a single-page app tell about its routes.
package enum RouteText {
  /// Whether a text has a router that changes the path: it calls `pushState`, and listens to `popstate`.
  package static func hasRouter(_ bytes: [UInt8]) -> Bool {
    contains("pushState", bytes) && contains("popstate", bytes)
  }

  /// Case matters: parsers made by Jison, of which libraries for diagrams have many, call `pushState` and `popState`.
  private static func contains(_ word: StaticString, _ bytes: [UInt8]) -> Bool {
    let word = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    return bytes.indices.contains { bytes[$0] == word[0] && bytes[$0...].starts(with: word) }
  }

  /// A reference of a page that leads somewhere else at a route.
  package struct Moved: Sendable {
    let reference: Reference
    /// The route, and what the reference leads to there.
    let route: ResourceURL
    let url: ResourceURL

    /// The reference as it is written.
    package var text: String { reference.text }
    /// Whether the page doesn't work without it.
    package var breaksPage: Bool { reference.isCertain && reference.kind.breaksPages }
  }

  /// Returns what the page at `page` loads by URLs that depend on its address, as it would be at one of the routes for which it is a
  /// fallback; empty if nothing does. Of a rule's routes, one part and two are tried, so that patterns in `except` can leave out deeper ones.
  package static func moved(_ bytes: [UInt8], at page: ResourceURL, _ fallbacks: PageFallbacks) -> [Moved] {
    let own = ReadText(.page, bytes, at: page)
    for rule in fallbacks.rules {
      for route in ["a", "a/b"] {
        guard let route = try? ResourceURL("\(page.scheme)://\(page.authority)\(rule.prefix)\(route)"),
          rule.covers(route)
        else { continue }
        let there = ReadText(.page, bytes, at: route)
        let moved = own.references.compactMap { reference -> Moved? in
          guard isLoaded(reference.kind), let url = there.url(of: reference), url != own.url(of: reference)
          else { return nil }
          return Moved(reference: reference, route: route, url: url)
        }
        if !moved.isEmpty { return moved }
      }
    }
    return []
  }

  /// Whether the page itself loads it: the app's router handles links.
  private static func isLoaded(_ kind: Reference.Kind) -> Bool {
    switch kind {
    case .link, .appPage, .sourceMap: false
    default: true
    }
  }
}
