import System

/// The places of the strings in an array of a JSON document: that of every 32nd is kept, so that a list takes a fraction of its bytes.
struct JSONTextList: Sendable {
  private static let pace = 32
  private(set) var count = 0
  /// The offset of every 32nd element. A map has fewer than 2^32 bytes.
  private var places: [UInt32] = []

  /// Adds an element that begins at an offset.
  mutating func append(at offset: Int) {
    if count % Self.pace == 0 { places.append(UInt32(offset)) }
    count += 1
  }

  /// Returns where an element is, without its quotes; nil if there is none, or it isn't a string.
  /// - Parameter bytes: the document, which was read once already.
  func range(_ index: Int, in bytes: [UInt8]) -> Range<Int>? {
    guard index >= 0, index < count else { return nil }
    let span = bytes.span
    var at = Int(places[index / Self.pace])
    for _ in 0..<index % Self.pace {
      at = Self.end(at, in: span)
      while at < span.count, span[at] != UInt8(ascii: ",") { at += 1 }
      at += 1
      while at < span.count, span[at] <= 0x20 { at += 1 }
    }
    guard at < span.count, span[at] == UInt8(ascii: "\"") else { return nil }
    let end = Self.end(at, in: span)
    return end - 1 > at ? at + 1..<end - 1 : nil
  }

  /// Returns the offset behind the value that begins at an offset: a string, or anything else, whose brackets are counted.
  private static func end(_ start: Int, in bytes: Span<UInt8>) -> Int {
    var (at, depth) = (start, 0)
    while at < bytes.count {
      switch bytes[at] {
      case UInt8(ascii: "\""):
        at += 1
        while at < bytes.count, bytes[at] != UInt8(ascii: "\"") {
          at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        at += 1
        if depth == 0 { return min(at, bytes.count) }
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        at += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        if depth == 0 { return at }
        depth -= 1
        at += 1
      case UInt8(ascii: ",") where depth == 0: return at
      default: at += 1
      }
    }
    return bytes.count
  }
}

/// Strings in the bytes of a JSON document, read in parts.
enum JSONText {
  /// Returns the text of a string, at most `limit` bytes of it. Control characters but tabs become blanks, and what isn't valid U+FFFD.
  static func decode(_ bytes: [UInt8], _ range: Range<Int>, limit: Int) -> String {
    var out: [UInt8] = []
    var at = range.lowerBound
    // A character takes at most 4 bytes.
    while at < range.upperBound, out.count < limit + 4 {
      guard bytes[at] == UInt8(ascii: "\\"), at + 1 < range.upperBound else {
        out.append(isControl(bytes[at]) ? 0x20 : bytes[at])
        at += 1
        continue
      }
      at += 1
      switch bytes[at] {
      case UInt8(ascii: "t"): out.append(0x09)
      case UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "b"), UInt8(ascii: "f"): out.append(0x20)
      case UInt8(ascii: "u"):
        let (scalar, length) = scalar(bytes, at + 1, range.upperBound)
        append(scalar, to: &out)
        at += length
      default: out.append(isControl(bytes[at]) ? 0x20 : bytes[at])
      }
      at += 1
    }
    return cut(String(decoding: out, as: UTF8.self), to: limit)
  }

  /// Returns a text without what is beyond `limit` bytes, cut between characters.
  static func cut(_ text: String, to limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var scalars = text.unicodeScalars[...]
    var count = text.utf8.count
    while count > limit, let last = scalars.popLast() { count -= UTF8.width(last) }
    return String(String.UnicodeScalarView(scalars))
  }

  private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

  private static func append(_ scalar: UInt32, to out: inout [UInt8]) {
    let isBlank = scalar < 0x20 && scalar != 0x09 || scalar == 0x7F
    TextBytes.append(scalar: isBlank ? 0x20 : scalar, to: &out)
  }

  /// Reads the four hex digits of an escape, or both escapes of a surrogate pair; returns the scalar, and how many bytes it took.
  private static func scalar(_ bytes: [UInt8], _ at: Int, _ end: Int) -> (UInt32, length: Int) {
    guard let first = unit(bytes, at, end) else { return (0xFFFD, 0) }
    guard first & 0xFC00 == 0xD800, at + 5 < end, bytes[at + 4] == UInt8(ascii: "\\"),
      bytes[at + 5] == UInt8(ascii: "u"), let second = unit(bytes, at + 6, end), second & 0xFC00 == 0xDC00
    else { return (first, 4) }
    return (0x10000 + (first & 0x3FF) << 10 + second & 0x3FF, 10)
  }

  private static func unit(_ bytes: [UInt8], _ at: Int, _ end: Int) -> UInt32? {
    guard at + 4 <= end else { return nil }
    var unit: UInt32 = 0
    for byte in bytes[at..<at + 4] {
      guard let digit = TextBytes.hexValue(byte) else { return nil }
      unit = unit << 4 | digit
    }
    return unit
  }

  /// Returns where lines of a string are, of those that it has. Line breaks are escaped in JSON: `\n`, `\r`, `\u000a`.
  /// - Parameter wanted: the lines' numbers, from 0.
  static func lines(_ wanted: Range<Int>, of text: Range<Int>, in bytes: [UInt8]) -> [Range<Int>] {
    var lines: [Range<Int>] = []
    var (number, start, at) = (0, text.lowerBound, text.lowerBound)
    func end(_ end: Int, next: Int) {
      if wanted.contains(number) { lines.append(start..<end) }
      number += 1
      start = next
    }
    let span = bytes.span
    while at < text.upperBound, number < wanted.upperBound {
      guard span[at] == UInt8(ascii: "\\"), at + 1 < text.upperBound else {
        at += 1
        continue
      }
      let length = breakLength(bytes, at, text.upperBound)
      if length > 0 { end(at, next: at + length) }
      at += max(2, length)
    }
    if number < wanted.upperBound { end(text.upperBound, next: text.upperBound) }
    return lines
  }

  /// Returns the length of the line break that an escape at an offset begins, as it is written; 0 if it is none.
  private static func breakLength(_ bytes: [UInt8], _ at: Int, _ end: Int) -> Int {
    func escape(_ at: Int) -> (isFeed: Bool, isReturn: Bool, length: Int) {
      guard at + 1 < end, bytes[at] == UInt8(ascii: "\\") else { return (false, false, 0) }
      switch bytes[at + 1] {
      case UInt8(ascii: "n"): return (true, false, 2)
      case UInt8(ascii: "r"): return (false, true, 2)
      case UInt8(ascii: "u"):
        let scalar = unit(bytes, at + 2, end)
        return (scalar == 0x0A, scalar == 0x0D, 6)
      default: return (false, false, 2)
      }
    }
    let first = escape(at)
    if first.isFeed { return first.length }
    guard first.isReturn else { return 0 }
    let second = escape(at + first.length)
    return first.length + (second.isFeed ? second.length : 0)
  }
}
