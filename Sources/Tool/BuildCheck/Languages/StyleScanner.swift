/// Finds a style sheet's references: `url()`, `@import`, `image-set()` (CSS Syntax Level 3, section 4).
///
/// Comments, and strings in other properties, are ignored.
struct StyleScanner {
  private var cursor: TextCursor
  private(set) var references: [Reference] = []
  /// The open functions and blocks.
  private var open: [Opening] = []
  /// Counts declarations, to group the alternatives of each.
  private var declaration = 0
  private var fontFaceDepth: Int?
  private var isAfterFontFace = false
  private var import_ = ImportState.none

  private enum Opening { case block, imageSet, other }
  /// Whether the next string or URL belongs to an `@import`; that of an `@namespace` is only a name.
  private enum ImportState { case none, expected, namespace }

  init(_ bytes: [UInt8], _ part: Range<Int>) { cursor = TextCursor(bytes, part) }

  /// Returns the references in `bytes`, or in a part of them, in order.
  static func references(_ bytes: [UInt8], _ part: Range<Int>? = nil) -> [Reference] {
    var scanner = StyleScanner(bytes, part ?? bytes.indices)
    while !scanner.cursor.isAtEnd { scanner.step() }
    return scanner.references
  }

  private mutating func step() {
    let byte = cursor.byte
    switch byte {
    case UInt8(ascii: "/") where cursor.byte(1) == UInt8(ascii: "*"): comment()
    case UInt8(ascii: "\""), UInt8(ascii: "'"): string()
    case UInt8(ascii: "@"): atRule()
    case UInt8(ascii: "("), UInt8(ascii: "["):
      open.append(.other)
      cursor.at += 1
    case UInt8(ascii: ")"), UInt8(ascii: "]"):
      if let last = open.last, last != .block { open.removeLast() }
      cursor.at += 1
    case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: ";"):
      block(byte)
      cursor.at += 1
    default:
      if Self.isName(byte) { name() } else { cursor.at += 1 }
    }
  }

  private mutating func block(_ byte: UInt8) {
    declaration += 1
    import_ = .none
    // A declaration also ends what is still open inside it.
    while let last = open.last, last != .block { open.removeLast() }
    if byte == UInt8(ascii: "{") {
      open.append(.block)
      if isAfterFontFace { fontFaceDepth = open.count }
      isAfterFontFace = false
    } else if byte == UInt8(ascii: "}") {
      if open.count == fontFaceDepth { fontFaceDepth = nil }
      if !open.isEmpty { open.removeLast() }
    }
  }

  private mutating func comment() {
    cursor.at += 2
    if cursor.starts(with: "# sourcemappingurl=") || cursor.starts(with: "@ sourcemappingurl=") {
      cursor.at += 19
      let start = cursor.at
      cursor.skip { !TextBytes.isSpace($0) && $0 != UInt8(ascii: "*") }
      add(.sourceMap, Array(cursor.bytes[start..<cursor.at]), at: start)
    }
    cursor.at = cursor.seek(text: "*/") ? cursor.at + 2 : cursor.end
  }

  private mutating func atRule() {
    cursor.at += 1
    let start = cursor.at
    cursor.skip { Self.isName($0) }
    let length = cursor.at - start
    cursor.at = start
    if length == 6, cursor.starts(with: "import") { import_ = .expected }
    if length == 9, cursor.starts(with: "namespace") { import_ = .namespace }
    if length == 9, cursor.starts(with: "font-face") { isAfterFontFace = true }
    cursor.at = start + length
  }

  // MARK: Names and functions

  private static func isName(_ byte: UInt8) -> Bool {
    TextBytes.isLetter(byte) || TextBytes.isDigit(byte) || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: "_") || byte >= 0x80 || byte == UInt8(ascii: "\\")
  }

  private mutating func name() {
    let start = cursor.at
    while !cursor.isAtEnd, Self.isName(cursor.byte) {
      cursor.at += cursor.byte == UInt8(ascii: "\\") ? 2 : 1
    }
    cursor.at = min(cursor.at, cursor.end)
    guard cursor.byte == UInt8(ascii: "(") else { return }
    let length = cursor.at - start
    let after = cursor.at + 1
    cursor.at = start
    let isURL = length == 3 && cursor.starts(with: "url")
    let isSet =
      length == 9 && cursor.starts(with: "image-set")
      || length == 17 && cursor.starts(with: "-webkit-image-set")
    cursor.at = after
    if isURL { url() } else { open.append(isSet ? .imageSet : .other) }
  }

  /// Reads a string, or bytes up to `)`, after `url(`.
  private mutating func url() {
    cursor.skip { TextBytes.isSpace($0) }
    let start = cursor.at
    let value: [UInt8]
    if cursor.byte == UInt8(ascii: "\"") || cursor.byte == UInt8(ascii: "'") {
      guard let text = quoted() else { return }
      value = text
    } else {
      value = unquoted()
    }
    cursor.skip { TextBytes.isSpace($0) }
    if cursor.byte == UInt8(ascii: ")") {
      cursor.at += 1
    } else {
      // An invalid URL, or modifiers after the string.
      cursor.seek(UInt8(ascii: ")"))
    }
    take(value, at: start)
  }

  private mutating func unquoted() -> [UInt8] {
    var value: [UInt8] = []
    while !cursor.isAtEnd {
      let byte = cursor.byte
      if byte == UInt8(ascii: ")") || TextBytes.isSpace(byte) { break }
      consume(into: &value)
    }
    return value
  }

  /// Appends the next byte, or the character that its escape stands for.
  private mutating func consume(into value: inout [UInt8]) {
    if cursor.byte == UInt8(ascii: "\\") {
      escape(&value)
    } else {
      value.append(cursor.byte)
      cursor.at += 1
    }
  }

  /// "consume an escaped code point"
  private mutating func escape(_ value: inout [UInt8]) {
    cursor.at += 1
    guard !cursor.isAtEnd else { return }
    if TextBytes.hexValue(cursor.byte) == nil {
      if !TextBytes.isLineBreak(cursor.byte) { value.append(cursor.byte) }
      cursor.at += 1
      return
    }
    var code: UInt32 = 0
    var digits = 0
    while digits < 6, let digit = TextBytes.hexValue(cursor.byte), !cursor.isAtEnd {
      code = code << 4 | digit
      digits += 1
      cursor.at += 1
    }
    if TextBytes.isSpace(cursor.byte) { cursor.at += 1 }
    TextBytes.append(scalar: code, to: &value)
  }

  // MARK: Strings

  /// Reads a string; returns nil if a line break ends it, which makes it invalid.
  private mutating func quoted() -> [UInt8]? {
    let quote = cursor.byte
    cursor.at += 1
    var value: [UInt8] = []
    while !cursor.isAtEnd {
      let byte = cursor.byte
      if byte == quote {
        cursor.at += 1
        return value
      }
      if TextBytes.isLineBreak(byte) { return nil }
      consume(into: &value)
    }
    return value
  }

  private mutating func string() {
    let start = cursor.at
    guard let value = quoted() else { return }
    if import_ == .expected || open.last == .imageSet { take(value, at: start) }
  }

  private mutating func take(_ value: [UInt8], at start: Int) {
    switch import_ {
    case .expected:
      import_ = .none
      add(.styleImport, value, at: start)
    case .namespace: break
    case .none: add(.styleURL, value, at: start)
    }
  }

  private mutating func add(_ kind: Reference.Kind, _ value: [UInt8], at start: Int) {
    var reference = Reference(kind: kind, text: TextBytes.text(value), at: start)
    if kind == .styleURL {
      if fontFaceDepth != nil { reference.group = declaration }
      reference.isCertain = !isForOldBrowsers(value)
    }
    references.append(reference)
  }

  /// Whether the format is only for browsers that no phone has.
  private func isForOldBrowsers(_ value: [UInt8]) -> Bool {
    let path = value.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }.map(TextBytes.lowered)
    if path.suffix(4).elementsEqual(".eot".utf8) || path.suffix(4).elementsEqual(".htc".utf8) { return true }
    return fontFaceDepth != nil && path.suffix(4).elementsEqual(".svg".utf8)
  }
}
