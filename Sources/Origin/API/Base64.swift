/// Base64 with padding (RFC 4648 §4), as Content-MD5 has it.
enum Base64 {
  /// The bytes; nil unless `text` is their one canonical form.
  static func decode(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 4 == 0 else { return nil }
    let padding = digits.suffix(2).filter { $0 == UInt8(ascii: "=") }.count
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    for (index, digit) in digits.dropLast(padding).enumerated() {
      guard let value = value(of: digit) else { return nil }
      bits = bits << 6 | UInt32(value)
      let held = (index + 1) * 6 % 8
      if index % 4 != 0 { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held))) }
    }
    // The bits that padding leaves over must be zero, or two texts would stand for the same bytes.
    let unused = UInt32(padding == 2 ? 15 : padding == 1 ? 3 : 0)
    return bits & unused == 0 ? bytes : nil
  }

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
