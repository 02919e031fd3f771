import Platform

/// The file name under which a resource is kept and downloaded: its URL, percent-encoded.
package struct ResourceFileName: Hashable, Sendable, CustomStringConvertible {
  /// The greatest length in bytes; most file systems take 255.
  package static let limit = 200

  /// `https%3A%2F%2F…`, or `~` and 32 hexadecimal digits and the URL's ending where that were too long.
  package let text: String

  package init(_ url: ResourceURL) {
    var name: [UInt8] = []
    name.reserveCapacity(url.text.utf8.count + 32)
    for byte in url.text.utf8 {
      if ASCII.isUnreserved(byte) { name.append(byte) } else { ASCII.appendEscape(of: byte, to: &name) }
    }
    text = name.count <= Self.limit ? String(decoding: name, as: UTF8.self) : Self.short(url)
  }

  /// Reads a name; nil where no URL has it.
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

  /// Each byte unreserved, or a capital escape of one that isn't.
  private static func hasCanonicalEscapes(_ name: [UInt8]) -> Bool {
    var rest = name[...]
    while let byte = rest.popFirst() {
      if ASCII.isUnreserved(byte) { continue }
      let digits = rest.prefix(2)
      guard byte == UInt8(ascii: "%"), digits.count == 2, !digits.contains(where: isSmallLetter),
        let high = digits.first.flatMap(ASCII.hexValue), let low = digits.last.flatMap(ASCII.hexValue),
        !ASCII.isUnreserved(high << 4 | low)
      else { return false }
      rest = rest.dropFirst(2)
    }
    return true
  }

  private static func isLowerHex(_ byte: UInt8) -> Bool {
    ASCII.isDigit(byte) || (byte >= 0x61 && byte <= 0x66)
  }

  private static func isSmallLetter(_ byte: UInt8) -> Bool { ASCII.isLower(byte) }
}
