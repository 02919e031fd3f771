/// The candidates of a `srcset` attribute.
enum SourceSet {
  /// Each URL and the byte at which it begins ("parse a srcset attribute", HTML standard, section 4.8.4.3.10).
  static func urls(_ bytes: [UInt8]) -> [(url: String, at: Int)] {
    var urls: [(url: String, at: Int)] = []
    var cursor = TextCursor(bytes, bytes.indices)
    while true {
      cursor.skip { TextBytes.isSpace($0) || $0 == UInt8(ascii: ",") }
      if cursor.isAtEnd { return urls }
      let start = cursor.at
      cursor.skip { !TextBytes.isSpace($0) }
      var end = cursor.at
      while end > start, bytes[end - 1] == UInt8(ascii: ",") { end -= 1 }
      urls.append((TextBytes.text(bytes[start..<end]), start))
      if end == cursor.at { descriptors(&cursor) }
    }
  }

  /// Goes behind the comma that ends the descriptors; those in parentheses don't.
  private static func descriptors(_ cursor: inout TextCursor) {
    var isInParentheses = false
    while !cursor.isAtEnd {
      let byte = cursor.byte
      cursor.at += 1
      if byte == UInt8(ascii: "(") { isInParentheses = true }
      if byte == UInt8(ascii: ")") { isInParentheses = false }
      if byte == UInt8(ascii: ","), !isInParentheses { return }
    }
  }
}
