/// The bytes of a file in a response with status 206: `bytes 1000-1999/5000` (RFC 9110 §14.4).
struct ContentRange: Equatable {
  let start: Int64
  /// The position of the last byte, inclusive.
  let last: Int64
  /// Nil if the server doesn't know it and sent `*`.
  let total: Int64?

  /// Parses a `Content-Range`; nil if `text` names no bytes.
  init?(_ text: String) {
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
}
