import Values

/// The URL of a page to open.
package struct PageAddress: Hashable, Sendable {
  /// The URL without its fragment.
  package let url: ResourceURL
  /// The fragment with its `#`, which the page's scripts read; empty if there is none.
  let fragment: String

  private static let longestFragment = 2048

  /// Parses a URL; `place` is its source, for messages.
  /// - Throws: `notAnAddress`, `badFragment`.
  package init(_ text: String, in place: String) throws(PreviewError) {
    let address = text.prefix { $0 != "#" }
    fragment = String(text[address.endIndex...])
    guard fragment.utf8.count <= Self.longestFragment,
      fragment.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f })
    else { throw .badFragment(text, in: place) }
    do {
      url = try ResourceURL(String(address))
    } catch {
      throw .notAnAddress(text, in: place)
    }
  }

  init(_ url: ResourceURL, fragment: String = "") {
    self.url = url
    self.fragment = fragment
  }

  /// The URL with its fragment.
  package var text: String { url.text + fragment }
}
