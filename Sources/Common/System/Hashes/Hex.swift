/// Lowercase hexadecimal, the only form in which digests are written.
package enum Hex {
  /// Returns two lowercase digits per byte.
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

  /// Appends two lowercase digits per byte to `out`.
  package static func append(_ bytes: RawSpan, to out: inout [UInt8]) {
    for i in bytes.byteOffsets {
      let byte = bytes.unsafeLoad(fromByteOffset: i, as: UInt8.self)
      out.append(digit(byte >> 4))
      out.append(digit(byte & 15))
    }
  }

  /// Returns the bytes, or nil unless `text` is exactly `2 * count` lowercase digits.
  package static func decode(_ text: some StringProtocol, count: Int) -> [UInt8]? {
    if let bytes = text.utf8.withContiguousStorageIfAvailable({ decode($0, count: count) }) { return bytes }
    return Array(text.utf8).withUnsafeBufferPointer { decode($0, count: count) }
  }

  /// Returns the bytes, or nil unless `digits` are exactly `2 * count` lowercase digits.
  package static func decode(_ digits: UnsafeBufferPointer<UInt8>, count: Int) -> [UInt8]? {
    var isHex = false
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { out, initialized in
      isHex = decode(
        digits, into: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(out)[..<count]))
      initialized = isHex ? count : 0
    }
    return isHex ? bytes : nil
  }

  /// Decodes `digits` into `out`, whose size is the expected number of bytes.
  /// - Returns: false unless there are exactly twice as many digits, all lowercase.
  static func decode(_ digits: UnsafeBufferPointer<UInt8>, into out: UnsafeMutableRawBufferPointer) -> Bool {
    guard digits.count == 2 * out.count else { return false }
    for i in out.indices {
      guard let high = value(of: digits[2 * i]), let low = value(of: digits[2 * i + 1]) else { return false }
      out[i] = high << 4 | low
    }
    return true
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
