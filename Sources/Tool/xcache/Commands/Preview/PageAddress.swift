import Values

/// The URL of a page to open.
struct PageAddress: Hashable, Sendable {
  /// The URL without its fragment.
  let url: ResourceURL
  /// The fragment with its `#`, which the page's scripts read; empty if there is none.
  let fragment: String

  private static let longestFragment = 2048

  /// Parses a URL; `place` is its source, for messages.
  init(_ text: String, in place: String) throws(UsageError) {
    let address = text.prefix { $0 != "#" }
    fragment = String(text[address.endIndex...])
    guard fragment.utf8.count <= Self.longestFragment,
      fragment.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f })
    else {
      throw UsageError("\(place) \(text): its fragment is too long, or has spaces or line breaks in it")
    }
    do {
      url = try ResourceURL(String(address))
    } catch {
      throw UsageError(
        "\(place) \(text) is not an address of a page, such as https://m.example.com/index.html")
    }
  }

  init(_ url: ResourceURL, fragment: String = "") {
    self.url = url
    self.fragment = fragment
  }

  var text: String { url.text + fragment }
}
