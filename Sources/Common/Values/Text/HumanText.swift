/// Text that people write for people: a name, a reason, a message. Terminals, tables and logs show it unescaped.
package enum HumanText {
  /// The limits of a text.
  package struct Rule: Hashable, Sendable {
    /// The maximum length in bytes.
    package let bytes: Int
    /// Whether it may have more than one line.
    package let hasLines: Bool

    /// One line.
    package static func line(bytes: Int) -> Rule { Rule(bytes: bytes, hasLines: false) }
    /// Several lines, with tabs.
    package static let message = Rule(bytes: 4096, hasLines: true)
  }

  /// Why a text is refused.
  package enum Problem: Error, Hashable, Sendable {
    /// Longer than this many bytes.
    case tooLong(limit: Int)
    /// A character that isn't allowed, or a line break in a single-line text.
    case character(Unicode.Scalar)
  }

  /// Returns why a text is refused; nil if it is accepted.
  ///
  /// Bidirectional controls could make one text look like another, and noncharacters aren't text. SQLite treats
  /// U+0000 as the end of a text in `length()`, `GLOB` and its shell, and a terminal obeys escape sequences.
  package static func problem(of text: String, _ rule: Rule) -> Problem? {
    guard text.utf8.count <= rule.bytes else { return .tooLong(limit: rule.bytes) }
    return text.unicodeScalars.first { isBad($0, hasLines: rule.hasLines) }.map { .character($0) }
  }

  private static func isBad(_ scalar: Unicode.Scalar, hasLines: Bool) -> Bool {
    switch scalar {
    case "\n", "\r", "\t", "\u{2028}", "\u{2029}": !hasLines
    case "\u{200E}", "\u{200F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{FEFF}": true
    default:
      scalar.properties.generalCategory == .control || scalar.properties.isNoncharacterCodePoint
    }
  }

  /// Returns a text from anywhere as one line of at most `limit` characters: a space for each line break, U+FFFD for each
  /// other character that is refused in a text for people.
  package static func line(_ text: String, limit: Int) -> String {
    var line = ""
    for scalar in text.unicodeScalars.prefix(limit) {
      switch scalar {
      case "\n", "\r", "\t", "\u{2028}", "\u{2029}": line.unicodeScalars.append(" ")
      default: line.unicodeScalars.append(isBad(scalar, hasLines: false) ? "\u{FFFD}" : scalar)
      }
    }
    return text.unicodeScalars.count > limit ? line + "…" : line
  }
}
