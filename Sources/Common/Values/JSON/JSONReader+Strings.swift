extension JSONReader {
  /// Reads the next value, a string.
  package mutating func string() throws(JSONError) -> String {
    try expect(UInt8(ascii: "\""))
    let start = at
    while at < bytes.count {
      switch bytes[at] {
      case UInt8(ascii: "\""):
        at += 1
        return try text(bytes[start..<at - 1], at: start)
      case UInt8(ascii: "\\"): return try escapedString(from: start)
      case 0..<0x20: throw .unexpected(at: at)
      default: at += 1
      }
    }
    throw .ended
  }

  private func text(_ bytes: some Collection<UInt8>, at offset: Int) throws(JSONError) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .encoding(at: offset) }
    return text
  }

  private mutating func escapedString(from start: Int) throws(JSONError) -> String {
    var content = Array(bytes[start..<at])
    while at < bytes.count {
      let byte = bytes[at]
      at += 1
      switch byte {
      case UInt8(ascii: "\""): return try text(content, at: start)
      case UInt8(ascii: "\\"): try appendEscaped(to: &content)
      case 0..<0x20: throw .unexpected(at: at - 1)
      default: content.append(byte)
      }
    }
    throw .ended
  }

  mutating func appendEscaped(to content: inout [UInt8]) throws(JSONError) {
    guard at < bytes.count else { throw .ended }
    let byte = bytes[at]
    at += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(byte)
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0C)
    case UInt8(ascii: "n"): content.append(0x0A)
    case UInt8(ascii: "r"): content.append(0x0D)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "u"): content.append(contentsOf: Character(try scalar()).utf8)
    default: throw .escape(at: at - 2)
    }
  }

  /// Reads the scalar of four digits, or of a surrogate pair: four, `\u` and four more (RFC 8259, section 7).
  private mutating func scalar() throws(JSONError) -> Unicode.Scalar {
    let start = at - 2
    let first = try codeUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard UTF16.isLeadSurrogate(first), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
      throw .escape(at: start)
    }
    let second = try codeUnit()
    guard UTF16.isTrailSurrogate(second),
      let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
    else { throw .escape(at: start) }
    return scalar
  }

  private mutating func codeUnit() throws(JSONError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard at < bytes.count else { throw .ended }
      guard let digit = ASCII.hexValue(bytes[at]) else { throw .escape(at: at) }
      unit = unit << 4 | UInt16(digit)
      at += 1
    }
    return unit
  }
}
