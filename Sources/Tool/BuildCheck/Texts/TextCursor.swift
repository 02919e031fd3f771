/// A position in a part of a text that moves forward; beyond the end it reads zeros.
struct TextCursor {
  let bytes: [UInt8]
  let end: Int
  var at: Int

  init(_ bytes: [UInt8], _ part: Range<Int>) {
    self.bytes = bytes
    at = part.lowerBound
    end = part.upperBound
  }

  @inline(__always) var isAtEnd: Bool { at >= end }
  @inline(__always) var byte: UInt8 { at < end ? bytes[at] : 0 }

  @inline(__always) func byte(_ ahead: Int) -> UInt8 {
    at + ahead < end ? bytes[at + ahead] : 0
  }

  @inline(__always) mutating func skip(while matches: (UInt8) -> Bool) {
    while at < end, matches(bytes[at]) { at += 1 }
  }

  /// Moves to the next `byte`, or to the end.
  @inline(__always) mutating func seek(_ byte: UInt8) {
    while at < end, bytes[at] != byte { at += 1 }
  }

  /// Whether `text`, given in lowercase, is here in any case.
  func starts(with text: StaticString, ahead: Int = 0) -> Bool {
    guard at + ahead + text.utf8CodeUnitCount <= end else { return false }
    for i in 0..<text.utf8CodeUnitCount
    where TextBytes.lowered(bytes[at + ahead + i]) != text.utf8Start[i] {
      return false
    }
    return true
  }

  /// Moves to `text`, given in lowercase, in any case; returns false, at the end, if there is none.
  mutating func seek(text: StaticString) -> Bool {
    let first = text.utf8Start[0]
    while at < end {
      if TextBytes.lowered(bytes[at]) == first, starts(with: text) { return true }
      at += 1
    }
    return false
  }
}

/// Byte classes shared by the grammars of pages, style sheets and scripts.
enum TextBytes {
  @inline(__always) static func lowered(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }

  @inline(__always) static func isLetter(_ byte: UInt8) -> Bool {
    let letter = byte | 0x20
    return letter >= 0x61 && letter <= 0x7A
  }

  @inline(__always) static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

  @inline(__always) static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte >= 0x09 && byte <= 0x0D && byte != 0x0B
  }

  @inline(__always) static func isLineBreak(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

  static func hexValue(_ byte: UInt8) -> UInt32? {
    if isDigit(byte) { return UInt32(byte - 0x30) }
    let letter = byte | 0x20
    return letter >= 0x61 && letter <= 0x66 ? UInt32(letter - 0x61 + 10) : nil
  }

  /// Appends a character as UTF-8, or U+FFFD if it isn't valid.
  static func append(scalar value: UInt32, to out: inout [UInt8]) {
    let scalar = value == 0 ? nil : Unicode.Scalar(value)
    out.append(contentsOf: UTF8.encode(scalar ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter)
  }

  static func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

  /// Returns the text without leading and trailing spaces.
  static func trimmed(_ text: String) -> String {
    let utf8 = text.utf8
    guard let first = utf8.firstIndex(where: { !isSpace($0) }),
      let last = utf8.lastIndex(where: { !isSpace($0) })
    else { return "" }
    return String(text[first...last])
  }
}
