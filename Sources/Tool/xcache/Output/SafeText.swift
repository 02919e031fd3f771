import System

/// Makes others' text safe for a terminal: a file name, a message or an argument must not move the cursor, hide lines or show
/// a token.
enum SafeText {
  /// Returns `text` with control characters and those that change the writing direction as `\u001B`. Line breaks and tabs stay, and
  /// the marks of `coloured` become terminal colours.
  static func escaped(_ text: String) -> String {
    guard text.utf8.contains(where: mayBeUnsafe) else { return text }
    var result = String.UnicodeScalarView()
    var rest = Array(text.unicodeScalars)[...]
    while let scalar = rest.first {
      if scalar == mark.first, rest.starts(with: mark) {
        rest = rest.dropFirst(mark.count)
        if let code = rest.popFirst() { result.append(contentsOf: "\u{1B}[\(code.value)m".unicodeScalars) }
        continue
      }
      rest.removeFirst()
      if isUnsafe(scalar) {
        result.append(contentsOf: escape(scalar).unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }

  /// Returns JSON with the same characters as `\u009B`. No value changes, since they occur only in strings.
  static func escaped(json bytes: [UInt8]) -> [UInt8] {
    guard bytes.contains(where: { $0 >= 0x7f && mayBeUnsafe($0) }) else { return bytes }
    var result = String.UnicodeScalarView()
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      if isUnsafe(scalar) {
        result.append(contentsOf: escape(scalar).unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    return Array(String(result).utf8)
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  // MARK: - Colours

  /// Returns `text` in a colour, which takes effect in `escaped`.
  static func coloured(_ text: String, _ colour: Terminal.Colour) -> String {
    code(colour.rawValue) + text + code(0)
  }

  private static func code(_ number: Int) -> String {
    var scalars = String.UnicodeScalarView(mark)
    scalars.append(Unicode.Scalar(UInt8(number)))
    return String(scalars)
  }

  /// The mark before a colour's number. It is random, so that others' text can't contain it and change colours.
  private static let mark: [Unicode.Scalar] = Array(
    "\u{7F}\(UInt64.random(in: .min ... .max))\u{7F}".unicodeScalars)

  /// Whether a UTF-8 byte is a control character or starts a C1 control (C2) or a directional mark (E2, D8).
  private static func mayBeUnsafe(_ byte: UInt8) -> Bool {
    byte < 0x20 && byte != 0x0a && byte != 0x09 || byte == 0x7f || byte == 0xc2 || byte == 0xe2
      || byte == 0xd8
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == "\n" || scalar == "\t" { return false }
    return switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: scalar.properties.isBidiControl
    }
  }

  // MARK: - Tokens

  /// Returns `text` with tokens replaced by `xcache_1a2b3c4d5e6f_…`.
  static func withoutTokens(_ text: String) -> String {
    let bytes = Array(text.utf8)
    guard TokenMask.first(in: bytes) != nil else { return text }
    return String(decoding: TokenMask.masked(bytes), as: UTF8.self)
  }

  /// Returns the ID of the first token in a text, the part that may be shown, or nil if there is none.
  static func tokenID(in text: String) -> String? { TokenMask.first(in: Array(text.utf8))?.id }
}
