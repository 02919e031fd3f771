import System
import Values

/// A UUIDv8 (RFC 9562, section 5.8) made from the first 16 bytes of a sha256.
package struct ResourceUUID: Hashable, Sendable, CustomStringConvertible {
  private let high: UInt64
  private let low: UInt64

  /// The length of a UUID's text.
  package static let textLength = 36

  package init(_ sha256: SHA256) {
    let words = sha256.withBytes { bytes in
      (
        high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
        low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
    // "ver: … set to 0b1000", "var: … set to 0b10".
    high = words.high & ~0xF000 | 0x8000
    low = words.low & ~(0b11 << 62) | 0b10 << 62
  }

  /// Parses 8-4-4-4-12 lowercase hexadecimal digits at `start`; nil for anything that isn't such a UUIDv8.
  init?(_ bytes: RawSpan, at start: Int) {
    guard start >= 0, start + Self.textLength <= bytes.byteCount else { return nil }
    var words = (high: UInt64(0), low: UInt64(0))
    for i in 0..<Self.textLength {
      let byte = bytes.unsafeLoad(fromByteOffset: start + i, as: UInt8.self)
      if i == 8 || i == 13 || i == 18 || i == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      guard let digit = ASCII.hexValue(byte), byte == ASCII.lowerHexDigit(digit) else { return nil }
      words.high = words.high << 4 | words.low >> 60
      words.low = words.low << 4 | UInt64(digit)
    }
    guard words.high & 0xF000 == 0x8000, words.low >> 62 == 0b10 else { return nil }
    (high, low) = words
  }

  package init?(text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == Self.textLength else { return nil }
    self.init(bytes.span.bytes, at: 0)
  }

  package var text: String {
    var out: [UInt8] = []
    out.reserveCapacity(Self.textLength)
    append(to: &out)
    return String(decoding: out, as: UTF8.self)
  }

  /// Appends the text to `out`.
  func append(to out: inout [UInt8]) {
    for i in 0..<32 {
      if i == 8 || i == 12 || i == 16 || i == 20 { out.append(UInt8(ascii: "-")) }
      let word = i < 16 ? high : low
      out.append(ASCII.lowerHexDigit(UInt8(truncatingIfNeeded: word >> UInt64(60 - i % 16 * 4)) & 15))
    }
  }

  package var description: String { text }
}
