/// The name of a bundle: a letter or digit, then letters, digits, `.`, `-` and `_`, 128 at most.
package struct BundleName: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let text: String

  package init(_ text: String) throws(NameError) {
    try Self.grammar.check(text)
    self.text = text
  }

  package var description: String { text }

  package static func < (a: BundleName, b: BundleName) -> Bool { a.text < b.text }

  private static var grammar: NameGrammar {
    NameGrammar(kind: .bundle, limit: 128, isFirst: ASCII.isLetterOrDigit) {
      ASCII.isUnreserved($0) && $0 != UInt8(ascii: "~")
    }
  }
}
