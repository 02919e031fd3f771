/// Text that people write for people: a name, a reason, a message. Terminals, tables and logs show it as it is.
package enum HumanText {
  /// What a text may be.
  package struct Rule: Hashable, Sendable {
    /// The greatest length.
    package let bytes: Int
    /// Whether it may have more than one line.
    package let hasLines: Bool

    /// One line.
    package static func line(bytes: Int) -> Rule { Rule(bytes: bytes, hasLines: false) }
    /// Several lines, with tabs.
    package static let message = Rule(bytes: 4096, hasLines: true)
  }

  /// Why a text isn't taken.
  package enum Problem: Error, Hashable, Sendable {
    /// Longer than so many bytes.
    case tooLong(limit: Int)
    /// A control character, or a line break where one line is meant.
    case character(Unicode.Scalar)
  }

  /// Why a text can't be used; nil where it can.
  ///
  /// Marks that turn the direction of what follows would let one text look like another, and noncharacters are none.
  /// SQLite takes U+0000 for the end of a text in `length()`, `GLOB` and what a shell shows, and a terminal obeys
  /// escape sequences: none of them is part of what somebody says.
  package static func problem(of text: String, _ rule: Rule) -> Problem? {
    guard text.utf8.count <= rule.bytes else { return .tooLong(limit: rule.bytes) }
    let isBad = { (scalar: Unicode.Scalar) in
      switch scalar {
      case "\n", "\r", "\t", "\u{2028}", "\u{2029}": !rule.hasLines
      case "\u{200E}", "\u{200F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{FEFF}": true
      default:
        scalar.properties.generalCategory == .control || scalar.properties.isNoncharacterCodePoint
      }
    }
    return text.unicodeScalars.first(where: isBad).map { .character($0) }
  }
}
