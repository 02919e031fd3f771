import Values

/// A pattern of subjects of ID tokens: `*` stands for any characters but `:` and `/`, so that what it stands for is one part of a
/// subject, such as a branch: `repo:acme/shop:ref:refs/heads/*`.
package struct SubjectPattern: Hashable, Sendable, CustomStringConvertible {
  /// The most bytes of a pattern, and of a subject.
  package static let limit = 1024
  /// The fewest bytes before the first `*`: with fewer, a pattern may match subjects of strangers.
  package static let leastPrefix = 4

  /// The pattern as written.
  package let text: String

  /// The pattern as written.
  package var description: String { text }

  /// Creates a pattern; nil for a text with spaces or control characters, for one with fewer than `leastPrefix` bytes before its first
  /// `*`, and for one that is empty or too long.
  package init?(_ text: String) {
    guard (1...Self.limit).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      return nil
    }
    if let wildcard = text.utf8.firstIndex(of: UInt8(ascii: "*")) {
      guard text.utf8.distance(from: text.startIndex, to: wildcard) >= Self.leastPrefix else { return nil }
    }
    self.text = text
  }

  /// Whether a subject matches.
  package func matches(_ subject: String) -> Bool {
    guard subject.utf8.count <= Self.limit else { return false }
    // No wildcard reaches over a separator, so both have the same ones, and their parts match one by one.
    let (own, other) = (Self.parts(of: text), Self.parts(of: subject))
    return own.separators == other.separators
      && zip(own.parts, other.parts).allSatisfy { pattern, part in
        Wildcard.matches(
          Array(pattern), part, isMany: { $0 == UInt8(ascii: "*") }, fits: { $0 == $1 })
      }
  }

  private static func parts(of text: String) -> (parts: [ArraySlice<UInt8>], separators: [UInt8]) {
    let bytes = Array(text.utf8)
    func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/") }
    return (
      bytes.split(omittingEmptySubsequences: false, whereSeparator: isSeparator), bytes.filter(isSeparator)
    )
  }
}
