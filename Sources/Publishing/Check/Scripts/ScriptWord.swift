/// What a word of a script says of what may follow it.
enum ScriptWord {
  /// `return`, `typeof`, …: a value follows, and `{` is an object.
  case operator_
  /// `else`, `do`, …: a statement follows.
  case block
  /// `if`, `while`, `for`, `with`: what follows the parentheses is a statement.
  case condition
  case other

  init(_ bytes: [UInt8], _ range: Range<Int>) {
    guard (2...10).contains(range.count), bytes[range.lowerBound] >= 0x61 else {
      self = .other
      return
    }
    self = Self.words[String(decoding: bytes[range], as: UTF8.self)] ?? .other
  }

  private static let words: [String: ScriptWord] = [
    "return": .operator_, "typeof": .operator_, "case": .operator_, "delete": .operator_, "in": .operator_,
    "instanceof": .operator_, "new": .operator_, "throw": .operator_, "void": .operator_,
    "yield": .operator_, "await": .operator_, "default": .operator_,
    "else": .block, "do": .block, "try": .block, "finally": .block,
    "if": .condition, "while": .condition, "for": .condition, "with": .condition,
  ]
}
