/// Converts a header's bytes to text and back without loss: a header may hold any bytes (obs-text, RFC 9110 §5.5).
///
/// UTF-8 is decoded as such. Every other byte becomes a private-use character, U+10FF80 to U+10FFFF; the bytes of such
/// characters in the header are escaped the same way.
package enum HeaderText {
  private static let own: ClosedRange<UInt32> = 0x10_FF80...0x10_FFFF
  /// The first UTF-8 byte of these characters.
  private static let lead: UInt8 = 0xF4

  /// Returns the text of received bytes.
  package static func text(_ bytes: some Collection<UInt8>) -> String {
    if let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(lead) { return text }
    var text = String.UnicodeScalarView()
    var rest = Array(bytes)[...]
    while let first = rest.first {
      let count = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
      let piece = String(validating: rest.prefix(count), as: UTF8.self)?.unicodeScalars
      if let scalar = piece?.first, piece?.count == 1, !own.contains(scalar.value) {
        text.append(scalar)
        rest = rest.dropFirst(count)
      } else {
        text.append(Unicode.Scalar(0x10_FF00 + UInt32(first)) ?? "\u{FFFD}")
        rest = rest.dropFirst()
      }
    }
    return String(text)
  }

  /// Returns the bytes to send for a text.
  package static func bytes(_ text: String) -> [UInt8] {
    guard text.utf8.contains(lead) else { return Array(text.utf8) }
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      if own.contains(scalar.value) {
        bytes.append(UInt8(truncatingIfNeeded: scalar.value))
      } else {
        bytes += Array(String(scalar).utf8)
      }
    }
    return bytes
  }
}
