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
