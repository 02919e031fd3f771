import System

/// A place in `mappings` (ECMA-426, "Mappings Structure"), and the segment before it.
///
/// Segments are numbers in base 64 (VLQ), each the difference to the one before. A number has at most 7 digits here, and there are fewer
/// than 2^26 of them, so the sums stay within 64 bits.
struct MappingDecoder: Sendable {
  /// The offset of what comes next, in the map's bytes.
  private(set) var at: Int
  private let end: Int
  /// Of the segment, in the generated file, from 0.
  private(set) var line = 0
  private(set) var column = 0
  /// What the segment refers to; the sums go on where one refers to nothing.
  private(set) var source = 0
  private(set) var sourceLine = 0
  private(set) var sourceColumn = 0
  private(set) var name = 0
  /// Whether there was a segment in this line.
  private(set) var isInLine = false
  private(set) var hasSource = false
  private(set) var hasName = false

  init(_ mappings: Range<Int>) {
    at = mappings.lowerBound
    end = mappings.upperBound
  }

  /// How many bytes lie between two states that are kept.
  private static let pace = 4096
  /// How far a search goes on: a segment lies within `pace` of the state before it, in a map whose columns rise.
  private static let reach = 64 << 10

  /// Decodes all, and returns the states that searches begin at.
  /// - Throws: `SourceMapError.mappings`
  static func marks(_ mappings: Range<Int>, in bytes: [UInt8]) throws(SourceMapError) -> [MappingDecoder] {
    var marks: [MappingDecoder] = []
    var decoder = MappingDecoder(mappings)
    var next = mappings.lowerBound + pace
    let span = bytes.span
    while decoder.at < decoder.end {
      guard decoder.step(span) else { throw .mappings(at: decoder.at) }
      if decoder.at >= next {
        marks.append(decoder)
        next = decoder.at + pace
      }
    }
    return marks
  }

  /// Returns the last segment of a line up to a column, both from 0.
  static func segment(
    line: Int, column: Int, _ mappings: Range<Int>, _ marks: [MappingDecoder], in bytes: [UInt8]
  ) -> MappingDecoder? {
    var (low, high) = (0, marks.count)
    while low < high {
      let middle = (low + high) / 2
      if (marks[middle].line, marks[middle].column) <= (line, column) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    var decoder = low == 0 ? MappingDecoder(mappings) : marks[low - 1]
    var found: MappingDecoder?
    let span = bytes.span
    let limit = min(decoder.end, decoder.at + reach)
    while true {
      if decoder.line > line || decoder.line == line && decoder.column > column { break }
      if decoder.line == line, decoder.isInLine { found = decoder }
      guard decoder.at < limit, decoder.step(span) else { break }
    }
    return found
  }

  /// Decodes what comes next: the end of a line, a comma, or a segment. Returns false if it is malformed.
  private mutating func step(_ bytes: Span<UInt8>) -> Bool {
    switch bytes[at] {
    case UInt8(ascii: ";"):
      at += 1
      line += 1
      (column, isInLine) = (0, false)
      return true
    case UInt8(ascii: ","):
      at += 1
      return true
    default:
      return segment(bytes)
    }
  }

  /// Decodes a segment of 1, 4 or 5 numbers.
  private mutating func segment(_ bytes: Span<UInt8>) -> Bool {
    guard let first = number(bytes) else { return false }
    column += first
    (isInLine, hasSource, hasName) = (true, false, false)
    if isAtSegmentEnd(bytes) { return column >= 0 }
    guard let second = number(bytes), let third = number(bytes), let fourth = number(bytes) else {
      return false
    }
    source += second
    sourceLine += third
    sourceColumn += fourth
    hasSource = true
    if isAtSegmentEnd(bytes) { return column >= 0 }
    guard let fifth = number(bytes) else { return false }
    name += fifth
    hasName = true
    return isAtSegmentEnd(bytes) && column >= 0
  }

  private func isAtSegmentEnd(_ bytes: Span<UInt8>) -> Bool {
    at >= end || bytes[at] == UInt8(ascii: ",") || bytes[at] == UInt8(ascii: ";")
  }

  /// Decodes a number; nil if there is none, or it has more than 7 digits.
  private mutating func number(_ bytes: Span<UInt8>) -> Int? {
    var (value, shift) = (0, 0)
    while at < end, shift < 35 {
      var byte = bytes[at]
      // Some JSON writers escape the slash.
      if byte == UInt8(ascii: "\\") {
        at += 1
        guard at < end, bytes[at] == UInt8(ascii: "/") else { return nil }
        byte = UInt8(ascii: "/")
      }
      guard let digit = Self.digit(byte) else { return nil }
      at += 1
      value |= (digit & 31) << shift
      shift += 5
      if digit & 32 == 0 { return value & 1 == 0 ? value >> 1 : -(value >> 1) }
    }
    return nil
  }

  @inline(__always)
  private static func digit(_ byte: UInt8) -> Int? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(byte) - 65
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(byte) - 71
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte) + 4
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
