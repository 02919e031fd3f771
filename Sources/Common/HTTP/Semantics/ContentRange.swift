/// The bytes of a representation that an answer with status 206 has: `bytes 1000-1999/5000` (RFC 9110 §14.4).
package struct ContentRange: Equatable, Sendable, CustomStringConvertible {
  /// The position of the first byte.
  package let start: Int64
  /// The position of the last byte, inclusive.
  package let last: Int64
  /// The length of the whole; nil if the server doesn't know it and sent `*`.
  package let total: Int64?

  /// The range of a representation of `length` bytes; it isn't empty.
  package init(_ range: Range<UInt64>, of length: UInt64) {
    start = Int64(clamping: range.lowerBound)
    last = Int64(clamping: range.upperBound) - 1
    total = Int64(clamping: length)
  }

  /// Parses a `Content-Range`; nil if `text` names no bytes.
  package init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: true)
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let start = Self.number(ends[0]), let last = Self.number(ends[1]), start <= last
    else { return nil }
    self.start = start
    self.last = last
    if parts[1] == "*" {
      total = nil
    } else {
      guard let total = Self.number(parts[1]), last < total else { return nil }
      self.total = total
    }
  }

  /// Parses digits only, without a sign.
  private static func number(_ text: Substring) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }

  /// The range as in a field.
  package var description: String { "bytes \(start)-\(last)/\(total.map { "\($0)" } ?? "*")" }

  /// Returns the `Content-Range` of a 416, which names the length alone (RFC 9110 §15.5.17).
  package static func unsatisfied(_ length: UInt64) -> String { "bytes */\(length)" }
}
