/// Strings of scripts.
enum ScriptText {
  /// What stands between the quotes, with its escapes decoded (ECMA-262, section 12.9.4).
  static func decode(_ bytes: [UInt8], _ range: Range<Int>) -> String {
    guard bytes[range].contains(UInt8(ascii: "\\")) else { return TextBytes.text(bytes[range]) }
    var out: [UInt8] = []
    var cursor = TextCursor(bytes, range)
    while !cursor.isAtEnd {
      let byte = cursor.byte
      cursor.at += 1
      if byte == UInt8(ascii: "\\") { escape(&cursor, &out) } else { out.append(byte) }
    }
    return TextBytes.text(out)
  }

  private static func escape(_ cursor: inout TextCursor, _ out: inout [UInt8]) {
    let byte = cursor.byte
    cursor.at += 1
    switch byte {
    case UInt8(ascii: "n"): out.append(0x0A)
    case UInt8(ascii: "r"): out.append(0x0D)
    case UInt8(ascii: "t"): out.append(0x09)
    case 0x0A: break
    case 0x0D: if cursor.byte == 0x0A { cursor.at += 1 }
    case UInt8(ascii: "x"): TextBytes.append(scalar: hex(&cursor, digits: 2), to: &out)
    case UInt8(ascii: "u") where cursor.byte == UInt8(ascii: "{"):
      cursor.at += 1
      TextBytes.append(scalar: hex(&cursor, digits: 6), to: &out)
      if cursor.byte == UInt8(ascii: "}") { cursor.at += 1 }
    case UInt8(ascii: "u"): TextBytes.append(scalar: hex(&cursor, digits: 4), to: &out)
    case 0 where cursor.at > cursor.end: break
    default: out.append(byte)
    }
  }

  private static func hex(_ cursor: inout TextCursor, digits: Int) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<digits {
      guard let digit = TextBytes.hexValue(cursor.byte) else { break }
      value = value << 4 | digit
      cursor.at += 1
    }
    return value
  }
}
