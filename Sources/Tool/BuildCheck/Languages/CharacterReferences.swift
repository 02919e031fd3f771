/// Decodes character references in attribute values (HTML standard, section 13.2.5.72).
package enum CharacterReferences {
  /// Returns the text with its references decoded, or nil if it has an unknown named one, so that it isn't mistaken for a
  /// different text.
  package static func decode(_ bytes: ArraySlice<UInt8>) -> String? {
    guard bytes.contains(UInt8(ascii: "&")) else { return TextBytes.text(bytes) }
    var out: [UInt8] = []
    var rest = bytes
    while let byte = rest.first {
      if byte != UInt8(ascii: "&") {
        out.append(byte)
        rest = rest.dropFirst()
      } else if rest.dropFirst().first == UInt8(ascii: "#") {
        numeric(&rest, &out)
      } else if !named(&rest, &out) {
        return nil
      }
    }
    return TextBytes.text(out)
  }

  private static func numeric(_ rest: inout ArraySlice<UInt8>, _ out: inout [UInt8]) {
    var digits = rest.dropFirst(2)
    let isHex = digits.first.map(TextBytes.lowered) == UInt8(ascii: "x")
    if isHex { digits = digits.dropFirst() }
    let text = digits.prefix { isHex ? TextBytes.hexValue($0) != nil : TextBytes.isDigit($0) }
    guard !text.isEmpty else {
      out.append(UInt8(ascii: "&"))
      rest = rest.dropFirst()
      return
    }
    var value: UInt32 = 0
    for digit in text { value = min(0x110000, value * (isHex ? 16 : 10) + (TextBytes.hexValue(digit) ?? 0)) }
    TextBytes.append(scalar: value, to: &out)
    rest = bytes(after: text, in: rest)
  }

  private static func bytes(after text: ArraySlice<UInt8>, in rest: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let after = rest[text.endIndex...]
    return after.first == UInt8(ascii: ";") ? after.dropFirst() : after
  }

  private static func named(_ rest: inout ArraySlice<UInt8>, _ out: inout [UInt8]) -> Bool {
    let name = rest.dropFirst().prefix { TextBytes.isLetter($0) || TextBytes.isDigit($0) }
    let after = rest[name.endIndex...].first
    let text = TextBytes.text(name)
    if after == UInt8(ascii: ";") {
      guard let value = known[text] else { return false }
      out.append(contentsOf: value.utf8)
      rest = rest[(name.endIndex + 1)...]
    } else if after != UInt8(ascii: "="), let value = legacy[text] {
      // "for historical reasons" these need no semicolon; in an attribute, though, only if no `=` follows.
      out.append(contentsOf: value.utf8)
      rest = rest[name.endIndex...]
    } else {
      out.append(UInt8(ascii: "&"))
      rest = rest.dropFirst()
    }
    return true
  }

  private static let legacy = [
    "amp": "&", "AMP": "&", "lt": "<", "LT": "<", "gt": ">", "GT": ">", "quot": "\"", "QUOT": "\"",
    "nbsp": "\u{A0}",
  ]

  /// The references that URLs may contain.
  private static let known = legacy.merging([
    "apos": "'", "sol": "/", "bsol": "\\", "period": ".", "colon": ":", "quest": "?", "num": "#",
    "equals": "=", "percnt": "%", "lowbar": "_", "hyphen": "\u{2010}", "dash": "\u{2010}", "comma": ",",
    "commat": "@", "plus": "+", "lpar": "(", "rpar": ")", "excl": "!", "dollar": "$", "ast": "*",
    "semi": ";", "Tab": "\t", "NewLine": "\n", "lsqb": "[", "rsqb": "]", "lcub": "{", "rcub": "}",
    "lbrack": "[", "rbrack": "]", "grave": "`", "verbar": "|", "vert": "|",
  ]) { first, _ in first }
}
