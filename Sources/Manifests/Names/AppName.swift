/// The name of a mobile app: a letter, then letters, digits, `-` and `_`, 64 at most, e.g. `yanxuan`.
package struct AppName: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let text: String

  package init(_ text: String) throws(NameError) {
    try Self.grammar.check(text)
    self.text = text
    // `/xcache/delta/…` is where deltas lie.
    if caseKey == "delta" { throw Self.grammar.error(text, .reserved) }
  }

  /// What two names have in common that differ only in case, which no two apps may.
  package var caseKey: String { text.lowercased() }

  package var description: String { text }

  package static func < (a: AppName, b: AppName) -> Bool { a.text < b.text }

  private static var grammar: NameGrammar {
    NameGrammar(kind: .app, limit: 64, isFirst: ASCII.isLetter) {
      ASCII.isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
    }
  }
}
