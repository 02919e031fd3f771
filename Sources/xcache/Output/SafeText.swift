import System

/// What others wrote, made fit for a terminal: whoever chose a file's name, a message or an argument moves no cursor, hides no
/// line, and sees no token repeated.
enum SafeText {
  /// `text` with control characters, and those that turn the direction of writing, as `\u001B`. Line breaks and tabs stay,
  /// and what `coloured` wrote becomes the terminal's colours.
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

  /// JSON with the same characters as `\u009B`, which changes no value: all of them are in its strings.
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

  /// `text` in a colour, once `escaped` has written it.
  static func coloured(_ text: String, _ colour: Terminal.Colour) -> String {
    code(colour.rawValue) + text + code(0)
  }

  private static func code(_ number: Int) -> String {
    var scalars = String.UnicodeScalarView(mark)
    scalars.append(Unicode.Scalar(UInt8(number)))
    return String(scalars)
  }

  /// What a colour's number follows until it is written. Nobody else can know it, so others' text colours nothing.
  private static let mark: [Unicode.Scalar] = Array(
    "\u{7F}\(UInt64.random(in: .min ... .max))\u{7F}".unicodeScalars)

  /// Of the bytes of UTF-8: controls, and what C1 controls (C2), marks of direction (E2, D8) begin with.
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

  /// `text` with `xcache_1a2b3c4d5e6f_…` in place of tokens.
  static func withoutTokens(_ text: String) -> String {
    let bytes = Array(text.utf8)
    guard TokenMask.first(in: bytes) != nil else { return text }
    return String(decoding: TokenMask.masked(bytes), as: UTF8.self)
  }

  /// The id of the first token in a text: what may be told of it; nil where there is none.
  static func tokenID(in text: String) -> String? { TokenMask.first(in: Array(text.utf8))?.id }
}
