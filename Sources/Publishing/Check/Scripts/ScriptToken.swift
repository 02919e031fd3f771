/// A word, a text or a sign of a script.
struct ScriptToken {
  enum Kind {
    case name, string, number, regex
    /// A template without substitutions, or the first piece of one with them.
    case template, templateHead
    case sign
    case end
  }

  let kind: Kind
  let start: Int
  let end: Int
  /// The first byte.
  let byte: UInt8
}
