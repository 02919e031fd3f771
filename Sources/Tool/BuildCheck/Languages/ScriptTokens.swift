/// A tokenizer for scripts that tells code from strings, templates, comments and regular expressions (ECMA-262, section
/// 12).
struct ScriptTokens {
  private(set) var cursor: TextCursor
  /// The open brackets: `(`, `[`, `{` and template substitutions.
  private var open: [Opening] = []
  /// Whether a `/` here would begin a regular expression.
  private var takesRegex = true
  private var isAfterDot = false
  /// Whether a `(` here would belong to `if`, `while`, `for` or `with`.
  private var isAfterCondition = false
  private var takesBlock = true
  /// The range of the last `sourceMappingURL` in a comment.
  private(set) var sourceMap: Range<Int>?
  /// False once the text turns out not to be a script, or to have been misread.
  private(set) var isSure = true
  /// No `/` before this begins a regular expression: a search failed, and repeating it would make the work quadratic.
  private var noRegexBefore = 0
  /// The maximum nesting of brackets that is tracked.
  private static let deepest = 4096

  private enum Opening { case condition, paren, bracket, block, object, substitution }

  var bytes: [UInt8] { cursor.bytes }
  /// Whether no bracket of any kind is open.
  var isAtTop: Bool { open.isEmpty }
  /// How many brackets are open.
  var depth: Int { open.count }

  init(_ bytes: [UInt8], _ part: Range<Int>) {
    cursor = TextCursor(bytes, part)
    if cursor.byte == UInt8(ascii: "#"), cursor.byte(1) == UInt8(ascii: "!") { line() }
  }

  mutating func next() -> ScriptToken {
    trivia()
    if open.count > Self.deepest {
      isSure = false
      cursor.at = cursor.end
    }
    let start = cursor.at
    if cursor.isAtEnd { return ScriptToken(kind: .end, start: start, end: start, byte: 0) }
    let byte = cursor.byte
    let kind: ScriptToken.Kind
    if Self.isNameStart(byte) {
      name()
      kind = .name
    } else if TextBytes.isDigit(byte) || byte == UInt8(ascii: ".") && TextBytes.isDigit(cursor.byte(1)) {
      number()
      kind = .number
    } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
      string(byte)
      kind = .string
    } else if byte == UInt8(ascii: "`") {
      cursor.at += 1
      kind = template() ? .template : .templateHead
    } else if byte == UInt8(ascii: "/"), takesRegex, regex() {
      kind = .regex
    } else {
      sign(byte)
      kind = .sign
    }
    return ScriptToken(kind: kind, start: start, end: cursor.at, byte: byte)
  }

  func equals(_ token: ScriptToken, _ text: StaticString) -> Bool {
    guard token.end - token.start == text.utf8CodeUnitCount else { return false }
    for i in 0..<text.utf8CodeUnitCount where cursor.bytes[token.start + i] != text.utf8Start[i] {
      return false
    }
    return true
  }

  // MARK: Spaces and comments

  private mutating func trivia() {
    while !cursor.isAtEnd {
      let byte = cursor.byte
      if byte <= 0x20 {
        cursor.at += 1
      } else if byte == UInt8(ascii: "/"), cursor.byte(1) == UInt8(ascii: "/") {
        cursor.at += 2
        noteSourceMap()
        line()
      } else if byte == UInt8(ascii: "/"), cursor.byte(1) == UInt8(ascii: "*") {
        cursor.at += 2
        noteSourceMap()
        cursor.at = cursor.seek(text: "*/") ? cursor.at + 2 : cursor.end
      } else if byte == UInt8(ascii: "<"), cursor.starts(with: "<!--") {
        line()
      } else {
        return
      }
    }
  }

  private mutating func line() { cursor.skip { !TextBytes.isLineBreak($0) } }

  private mutating func noteSourceMap() {
    guard cursor.starts(with: "# sourcemappingurl=") || cursor.starts(with: "@ sourcemappingurl=") else {
      return
    }
    let start = cursor.at + 19
    cursor.at = start
    cursor.skip {
      $0 > 0x20 && $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "'") && $0 != UInt8(ascii: "\"")
    }
    sourceMap = start..<cursor.at
  }

  // MARK: Words and texts

  @inline(__always) private static func isNameStart(_ byte: UInt8) -> Bool {
    TextBytes.isLetter(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || byte >= 0x80
      || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "#")
  }

  private mutating func name() {
    let start = cursor.at
    cursor.at += 1
    cursor.skip { Self.isNameStart($0) || TextBytes.isDigit($0) }
    let word = isAfterDot ? .other : ScriptWord(cursor.bytes, start..<cursor.at)
    isAfterDot = false
    isAfterCondition = word == .condition
    takesRegex = word == .operator_ || word == .block || word == .condition
    takesBlock = word != .operator_
  }

  private mutating func number() {
    cursor.skip { Self.isNameStart($0) || TextBytes.isDigit($0) || $0 == UInt8(ascii: ".") }
    endsValue()
  }

  private mutating func endsValue() {
    takesRegex = false
    takesBlock = false
    isAfterDot = false
    isAfterCondition = false
  }

  private mutating func string(_ quote: UInt8) {
    cursor.at += 1
    while !cursor.isAtEnd {
      let byte = cursor.byte
      cursor.at += 1
      if byte == quote { return endsValue() }
      if byte == UInt8(ascii: "\\") {
        // A backslash before a line break, of one byte or two, continues the string.
        if cursor.byte == 0x0D, cursor.byte(1) == 0x0A { cursor.at += 1 }
        cursor.at = min(cursor.at + 1, cursor.end)
      } else if TextBytes.isLineBreak(byte) {
        break
      }
    }
    isSure = false
    endsValue()
  }

  /// Continues in a template; returns false where a substitution begins.
  private mutating func template() -> Bool {
    while !cursor.isAtEnd {
      let byte = cursor.byte
      cursor.at += 1
      if byte == UInt8(ascii: "`") {
        endsValue()
        return true
      }
      if byte == UInt8(ascii: "\\") {
        cursor.at = min(cursor.at + 1, cursor.end)
      } else if byte == UInt8(ascii: "$"), cursor.byte == UInt8(ascii: "{") {
        cursor.at += 1
        open.append(.substitution)
        takesRegex = true
        takesBlock = false
        isAfterDot = false
        return false
      }
    }
    isSure = false
    return true
  }

  /// Reads a regular expression; returns false, having read nothing, if the line ends first: then `/` is a division.
  private mutating func regex() -> Bool {
    let start = cursor.at
    if start < noRegexBefore { return false }
    cursor.at += 1
    var isInClass = false
    while !cursor.isAtEnd {
      let byte = cursor.byte
      cursor.at += 1
      switch byte {
      case UInt8(ascii: "\\"): cursor.at = min(cursor.at + 1, cursor.end)
      case UInt8(ascii: "["): isInClass = true
      case UInt8(ascii: "]"): isInClass = false
      case UInt8(ascii: "/") where !isInClass:
        cursor.skip { TextBytes.isLetter($0) }
        endsValue()
        return true
      case 0x0A, 0x0D: return endRegex(start)
      default: break
      }
    }
    return endRegex(start)
  }

  private mutating func endRegex(_ start: Int) -> Bool {
    noRegexBefore = cursor.at
    cursor.at = start
    isSure = false
    return false
  }
}

// MARK: - Signs

extension ScriptTokens {
  private mutating func sign(_ byte: UInt8) {
    cursor.at += 1
    let wasCondition = isAfterCondition
    let wasBlock = takesBlock
    isAfterCondition = false
    isAfterDot = byte == UInt8(ascii: ".") && cursor.byte != UInt8(ascii: ".")
    takesRegex = true
    takesBlock = false
    switch byte {
    case UInt8(ascii: "("): open.append(wasCondition ? .condition : .paren)
    case UInt8(ascii: "["): open.append(.bracket)
    case UInt8(ascii: "{"):
      open.append(wasBlock ? .block : .object)
      takesBlock = wasBlock
    case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): close(byte)
    case UInt8(ascii: ";"): takesBlock = true
    case UInt8(ascii: ":"): takesBlock = open.last == .block || open.isEmpty
    case UInt8(ascii: "=") where cursor.byte == UInt8(ascii: ">"):
      cursor.at += 1
      takesBlock = true
    case UInt8(ascii: "+"), UInt8(ascii: "-"):
      // `a++ / b`: a regular expression can't be incremented.
      if cursor.byte == byte {
        cursor.at += 1
        takesRegex = false
      }
    default: break
    }
  }

  private mutating func close(_ byte: UInt8) {
    let last = open.popLast()
    switch (byte, last) {
    case (UInt8(ascii: ")"), .condition): takesBlock = true
    case (UInt8(ascii: ")"), .paren):
      takesRegex = false
      takesBlock = true
    case (UInt8(ascii: "]"), .bracket): takesRegex = false
    case (UInt8(ascii: "}"), .block): takesBlock = true
    case (UInt8(ascii: "}"), .object): takesRegex = false
    case (UInt8(ascii: "}"), .substitution):
      // The parts of a template are one value, which was already returned with the first part.
      _ = template()
    default: isSure = false
    }
  }
}

/// A token: a word, a literal or a punctuator.
struct ScriptToken {
  enum Kind {
    case name, string, number, regex
    /// A template without substitutions, or the first part of one with them.
    case template, templateHead
    case sign
    case end
  }

  let kind: Kind
  let start: Int
  let end: Int
  /// Its first byte.
  let byte: UInt8
}

/// What a word of a script allows to follow it.
enum ScriptWord {
  /// `return`, `typeof`, …: a value follows, so `{` begins an object.
  case operator_
  /// `else`, `do`, …: a statement follows.
  case block
  /// `if`, `while`, `for`, `with`: a statement follows the parentheses.
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
