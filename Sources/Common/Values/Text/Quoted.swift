/// Text from outside, as messages show it.
package enum Quoted {
  /// Returns the text in quotes, without control characters, cut to 200 characters.
  package static func text(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars.prefix(200) {
      quoted.unicodeScalars.append(scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar)
    }
    return quoted + (text.unicodeScalars.count > 200 ? "…\"" : "\"")
  }

  /// Returns a character in quotes, or its code point if it isn't visible.
  package static func character(_ scalar: Unicode.Scalar) -> String {
    if scalar == " " { return "a space" }
    if scalar.value > 0x20 && scalar.value != 0x7F && !(0x80...0x9F).contains(scalar.value) {
      return "\"\(scalar)\""
    }
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: 4 - min(4, digits.count)) + digits
  }
}
