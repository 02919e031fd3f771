/// Lower-case hexadecimal, the only form in which digests are written.
package enum Hex {
  /// Two lower-case digits a byte.
  package static func encode(_ bytes: RawSpan) -> String {
    String(unsafeUninitializedCapacity: bytes.byteCount * 2) { out in
      for i in bytes.byteOffsets {
        let byte = bytes.unsafeLoad(fromByteOffset: i, as: UInt8.self)
        out[2 * i] = digit(byte >> 4)
        out[2 * i + 1] = digit(byte & 15)
      }
      return bytes.byteCount * 2
    }
  }

  /// The bytes, or nil unless `text` is exactly `2 * count` lower-case digits.
  package static func decode(_ text: some StringProtocol, count: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    var high: UInt8?
    for character in text.utf8 {
      guard let value = value(of: character), bytes.count < count else { return nil }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return bytes.count == count && high == nil ? bytes : nil
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
