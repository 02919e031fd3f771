import System
import Values

/// The file name under which a resource is stored and downloaded: its URL, percent-encoded.
package struct ResourceFileName: Hashable, Sendable, CustomStringConvertible {
  /// The maximum length in bytes; most file systems allow 255.
  package static let limit = 200

  /// `https%3A%2F%2F…`, or, if that would be too long, `~`, 32 hexadecimal digits and the URL's extension.
  package let text: String

  package init(_ url: ResourceURL) {
    let name = PercentEncoding.encode(url.text)
    text = name.utf8.count <= Self.limit ? name : Self.short(url)
  }

  /// Whether a URL's name is its percent-encoded text, which it is unless that would be too long.
  package static func isEncoding(of url: ResourceURL) -> Bool {
    url.text.utf8.reduce(0) { $0 + (ASCII.isUnreserved($1) ? 1 : 3) } <= limit
  }

  /// Parses a name; nil if it isn't the name of any URL.
  package init?(text: String) {
    let bytes = Array(text.utf8)
    guard Self.isCanonical(bytes) else { return nil }
    self.text = text
  }

  package var description: String { text }

  private static func short(_ url: ResourceURL) -> String {
    "~" + SHA256.of(Array(url.text.utf8)).hex.prefix(32) + ending(of: url.path)
  }

  /// "a final dot and 1–8 letters or digits of the path, else empty"
  private static func ending(of path: Substring) -> Substring {
    guard let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")) else { return "" }
    let ending = path[dot...]
    return isEnding(ending.utf8) ? ending : ""
  }

  private static func isEnding(_ bytes: some Collection<UInt8>) -> Bool {
    (2...9).contains(bytes.count) && bytes.first == UInt8(ascii: ".")
      && bytes.dropFirst().allSatisfy(ASCII.isLetterOrDigit)
  }

  private static func isCanonical(_ name: [UInt8]) -> Bool {
    if name.first == UInt8(ascii: "~") {
      let digits = name.dropFirst().prefix(32)
      return digits.count == 32 && digits.allSatisfy(isLowerHex)
        && (name.count == 33 || isEnding(name.dropFirst(33)))
    }
    guard name.count <= limit,
      name.starts(with: "https%3A%2F%2F".utf8) || name.starts(with: "http%3A%2F%2F".utf8)
    else { return false }
    return hasCanonicalEscapes(name)
  }

  /// Whether each byte is unreserved, or part of an uppercase escape of a byte that isn't.
  private static func hasCanonicalEscapes(_ name: [UInt8]) -> Bool {
    var rest = name[...]
    while let byte = rest.popFirst() {
      if ASCII.isUnreserved(byte) { continue }
      guard byte == UInt8(ascii: "%"), !rest.prefix(2).contains(where: ASCII.isLower),
        let escaped = PercentEncoding.popDigits(&rest), !ASCII.isUnreserved(escaped)
      else { return false }
    }
    return true
  }

  private static func isLowerHex(_ byte: UInt8) -> Bool {
    ASCII.isDigit(byte) || (byte >= 0x61 && byte <= 0x66)
  }
}
