/// The absolute http or https URL of a resource, as the WHATWG URL serialiser writes it, without fragment.
///
/// Its text is ASCII, so its order is that of its bytes.
package struct ResourceURL: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The greatest length, in bytes as serialised.
  package static let limit = 4096

  package let text: String
  // A path ends within `limit`.
  private let pathStart: UInt16
  private let pathEnd: UInt16

  /// Reads a URL as a browser would. Tabs, line breaks, user names and hosts outside ASCII are refused.
  package init(_ text: String) throws(ResourceURLError) {
    var parser = URLTextParser(text)
    let parsed = try parser.parse()
    self.text = parsed.text
    pathStart = UInt16(parsed.path.lowerBound)
    pathEnd = UInt16(parsed.path.upperBound)
  }

  package var description: String { text }

  /// `http` or `https`.
  package var scheme: String { text.utf8.dropFirst(4).first == UInt8(ascii: "s") ? "https" : "http" }

  /// Host and, where it isn't the scheme's own, port: `m.example.com:8080`.
  package var authority: Substring {
    let start = text.utf8.index(text.startIndex, offsetBy: scheme.utf8.count + 3)
    return text[start..<index(pathStart)]
  }

  /// The host alone; an IPv6 address in its brackets.
  package var host: Substring {
    let authority = authority
    guard let last = authority.utf8.lastIndex(of: UInt8(ascii: ":")),
      !authority[last...].utf8.contains(UInt8(ascii: "]"))
    else { return authority }
    return authority[..<last]
  }

  /// The path, from its first `/`.
  package var path: Substring { text[index(pathStart)..<index(pathEnd)] }

  /// The query without its `?`; nil where the URL has none.
  package var query: Substring? {
    let rest = text[index(pathEnd)...]
    return rest.isEmpty ? nil : rest.dropFirst()
  }

  /// The URL without its query.
  package var withoutQuery: Substring { text[..<index(pathEnd)] }

  private func index(_ offset: UInt16) -> String.Index {
    text.utf8.index(text.startIndex, offsetBy: Int(offset))
  }

  package static func == (a: ResourceURL, b: ResourceURL) -> Bool { a.text == b.text }
  package static func < (a: ResourceURL, b: ResourceURL) -> Bool { a.text < b.text }
  package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
