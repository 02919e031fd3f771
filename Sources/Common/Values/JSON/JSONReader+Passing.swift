extension JSONReader {
  /// Passes over the next value without judging it: strings may have any bytes, and nesting any depth. Only quotes, brackets and
  /// what is between them must end.
  package mutating func pass() throws(JSONError) {
    var depth = 0
    repeat {
      switch try peek() {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        at += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        // There is no value before it.
        if depth < 0 { throw .unexpected(at: at) }
        at += 1
      case UInt8(ascii: "\""): _ = try passString()
      default: at += 1
      }
    } while depth > 0 || !isAtEnd
  }

  /// Passes over the next value, an object, handing each key to `read`, which passes over the value. A key that isn't text is
  /// empty.
  package mutating func passMembers(
    _ read: (String, inout JSONReader) throws(JSONError) -> Void
  ) throws(JSONError) {
    try expect(UInt8(ascii: "{"))
    if try peek() == UInt8(ascii: "}") { return at += 1 }
    while true {
      let key = try passString()
      try expect(UInt8(ascii: ":"))
      try read(text(of: key) ?? "", &self)
      guard try peek() == UInt8(ascii: ",") else { return try expect(UInt8(ascii: "}")) }
      at += 1
    }
  }

  /// Passes over the next value, a string.
  /// - Returns: where it is, with its quotes.
  package mutating func passString() throws(JSONError) -> Range<Int> {
    try expect(UInt8(ascii: "\""))
    let start = at - 1
    while at < bytes.count {
      switch bytes[at] {
      case UInt8(ascii: "\""):
        at += 1
        return start..<at
      case UInt8(ascii: "\\"): at += 2
      default: at += 1
      }
    }
    throw .ended
  }

  /// Returns the text of a string that was passed over; nil if it isn't one, or is longer than any that counts.
  package func text(of range: Range<Int>) -> String? {
    guard range.count <= 256 else { return nil }
    var reader = JSONReader(Array(bytes[range]))
    return try? reader.string()
  }

  /// Whether what comes next ends a value.
  private var isAtEnd: Bool {
    var reader = self
    reader.skipSpace()
    guard reader.at < bytes.count else { return true }
    return switch bytes[reader.at] {
    case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"): true
    default: false
    }
  }
}
