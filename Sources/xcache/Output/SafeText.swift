/// What others wrote, made fit for a terminal: whoever chose a file's name, a message or an argument moves no cursor, hides no
/// line, and sees no token repeated.
enum SafeText {
  /// `text` with control characters, and those that turn the direction of writing, as `\u001B`. Line breaks and tabs stay, and
  /// the few sequences by which this program colours words.
  static func escaped(_ text: String) -> String {
    guard text.utf8.contains(where: mayBeUnsafe) else { return text }
    var result = String.UnicodeScalarView()
    let scalars = Array(text.unicodeScalars)
    var index = 0
    while index < scalars.count {
      if let length = colourLength(scalars[index...]) {
        result.append(contentsOf: scalars[index..<index + length])
        index += length
        continue
      }
      let scalar = scalars[index]
      if isUnsafe(scalar) {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        let zeros = String(repeating: "0", count: max(0, 4 - digits.count))
        result.append(contentsOf: "\\u\(zeros)\(digits)".unicodeScalars)
      } else {
        result.append(scalar)
      }
      index += 1
    }
    return String(result)
  }

  /// Of the bytes of UTF-8: controls, and what C1 controls (C2), marks of direction (E2, D8) begin with.
  private static func mayBeUnsafe(_ byte: UInt8) -> Bool {
    byte < 0x20 && byte != 0x0a && byte != 0x09 || byte == 0x7f || byte == 0xc2 || byte == 0xe2
      || byte == 0xd8
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == "\n" || scalar == "\t" { return false }
    return scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
  }

  /// How many scalars a sequence of ours has that stands at the beginning: `ESC [ 31 m`.
  private static func colourLength(_ scalars: ArraySlice<Unicode.Scalar>) -> Int? {
    guard scalars.first == "\u{1B}" else { return nil }
    return colours.first { scalars.starts(with: $0) }?.count
  }

  private static let colours: [[Unicode.Scalar]] =
    ([0] + Terminal.Colour.allCases.map(\.rawValue)).map { Array("\u{1B}[\($0)m".unicodeScalars) }

  // MARK: - Tokens

  /// `text` with `xcache_1a2b3c4d5e6f_…` in place of tokens.
  static func withoutTokens(_ text: String) -> String {
    guard text.utf8.count > tokenStart.count, let first = token(in: text) else { return text }
    return text[..<first.lowerBound] + "xcache_\(text[first].dropFirst(tokenStart.count).prefix(idCount))_…"
      + withoutTokens(String(text[first.upperBound...]))
  }

  /// The id of the first token in a text: what may be told of it; nil where there is none.
  static func tokenID(in text: String) -> String? {
    token(in: text).map { String(text[$0].dropFirst(tokenStart.count).prefix(idCount)) }
  }

  private static let tokenStart = "xcache_"
  private static let idCount = 12
  /// Of the secret; fewer characters, left of one that was cut, open nothing.
  private static let leastSecret = 16

  /// Where what looks like a token stands: `xcache_`, 12 hexadecimal digits, `_` and the secret in base64url.
  private static func token(in text: String) -> Range<String.Index>? {
    let bytes = Array(text.utf8)
    let start = Array(tokenStart.utf8)
    var from = 0
    while from + start.count + idCount + 1 + leastSecret <= bytes.count {
      defer { from += 1 }
      guard bytes[from] == start[0], bytes[from...].starts(with: start) else { continue }
      let id = bytes[(from + start.count)...].prefix(idCount)
      var end = from + start.count + idCount
      guard id.allSatisfy(isHex), bytes[end] == UInt8(ascii: "_") else { continue }
      end += 1
      let secret = bytes[end...].prefix(while: isBase64URL)
      guard secret.count >= leastSecret else { continue }
      let lower = text.utf8.index(text.startIndex, offsetBy: from)
      return lower..<text.utf8.index(text.startIndex, offsetBy: secret.endIndex)
    }
    return nil
  }

  private static func isHex(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) || (0x41...0x46).contains(byte)
  }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
      || byte == 0x2d
      || byte == 0x5f
  }
}
