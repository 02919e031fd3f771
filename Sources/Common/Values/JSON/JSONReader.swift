/// Reads JSON (RFC 8259) from front to back, strictly, one value at a time.
///
/// A large document is read member by member into the types that hold it, with no tree in between.
package struct JSONReader {
  /// The maximum nesting of arrays and objects; deeper text is refused, so that reading can't overflow the
  /// stack.
  package static let depthLimit = 64

  package let bytes: [UInt8]
  package var at = 0
  private var depth = 0
  /// The number of values that may still be built.
  private(set) var valuesLeft: Int

  /// - Parameters:
  ///   - bytes: the text.
  ///   - values: the most values to build of it: two bytes of text may become forty of memory.
  package init(_ bytes: [UInt8], values: Int = .max) {
    self.bytes = bytes
    valuesLeft = values
  }

  /// Checks that only white space is left.
  package mutating func end() throws(JSONError) {
    skipSpace()
    if at < bytes.count { throw .trailing(at: at) }
  }

  /// Reads the next value, of any kind.
  package mutating func value() throws(JSONError) -> JSONValue {
    let first = try peek()
    guard valuesLeft > 0 else { throw .tooMany(at: at) }
    valuesLeft -= 1
    switch first {
    case UInt8(ascii: "{"): return .object(JSONObject(sorted: try members()))
    case UInt8(ascii: "["): return .array(try array { (reader) throws(JSONError) in try reader.value() })
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try number())
    }
  }

  /// Reads the next value, of any kind, which may consist of `count` values at most.
  package mutating func value(atMost count: Int) throws(JSONError) -> JSONValue {
    let allowed = min(count, valuesLeft)
    let others = valuesLeft - allowed
    valuesLeft = allowed
    let value = try value()
    valuesLeft += others
    return value
  }

  private mutating func members() throws(JSONError) -> [JSONObject.Member] {
    try object { (key, reader) throws(JSONError) in
      JSONObject.Member(key: key, value: try reader.value())
    }.sortedByKey(\.key)
  }

  /// Reads the next value, an array, each element by `element`.
  package mutating func array<Element>(
    _ element: (inout JSONReader) throws(JSONError) -> Element
  ) throws(JSONError) -> [Element] {
    try open(UInt8(ascii: "["))
    var elements: [Element] = []
    if try close(UInt8(ascii: "]")) { return elements }
    repeat {
      elements.append(try element(&self))
    } while try more(UInt8(ascii: "]"))
    return elements
  }

  /// Reads the next value, an object, passing each key to `read`, which reads the value.
  package mutating func members(
    _ read: (String, inout JSONReader) throws(JSONError) -> Void
  ) throws(JSONError) {
    let keys = try object { (key, reader) throws(JSONError) in
      try read(key, &reader)
      return key
    }
    _ = try keys.sortedByKey { $0 }
  }

  /// Reads the next value, an object, each member by `member`, in the order written.
  ///
  /// Doesn't check for duplicate keys: callers do when they sort (`sortedByKey`).
  package mutating func object<Element>(
    _ member: (String, inout JSONReader) throws(JSONError) -> Element
  ) throws(JSONError) -> [Element] {
    try open(UInt8(ascii: "{"))
    var elements: [Element] = []
    if try close(UInt8(ascii: "}")) { return elements }
    repeat {
      let key = try string()
      try expect(UInt8(ascii: ":"))
      elements.append(try member(key, &self))
    } while try more(UInt8(ascii: "}"))
    return elements
  }
}

// MARK: - Tokens

extension JSONReader {
  mutating func skipSpace() {
    while at < bytes.count {
      switch bytes[at] {
      case 0x20, 0x09, 0x0A, 0x0D: at += 1
      default: return
      }
    }
  }

  /// Returns the first byte of the next token.
  package mutating func peek() throws(JSONError) -> UInt8 {
    skipSpace()
    guard at < bytes.count else { throw .ended }
    return bytes[at]
  }

  mutating func expect(_ byte: UInt8) throws(JSONError) {
    guard try peek() == byte else { throw .unexpected(at: at) }
    at += 1
  }

  mutating func open(_ bracket: UInt8) throws(JSONError) {
    try expect(bracket)
    depth += 1
    if depth > Self.depthLimit { throw .tooDeep(at: at - 1) }
  }

  mutating func close(_ bracket: UInt8) throws(JSONError) -> Bool {
    guard try peek() == bracket else { return false }
    at += 1
    depth -= 1
    return true
  }

  /// Whether another element follows: takes a comma, or the closing bracket.
  mutating func more(_ bracket: UInt8) throws(JSONError) -> Bool {
    if try close(bracket) { return false }
    try expect(UInt8(ascii: ","))
    return true
  }

  mutating func word(_ text: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
    for i in 0..<text.utf8CodeUnitCount {
      guard at < bytes.count else { throw .ended }
      guard bytes[at] == text.utf8Start[i] else { throw .unexpected(at: at) }
      at += 1
    }
    return value
  }

  private mutating func number() throws(JSONError) -> String {
    String(decoding: bytes[try digits()], as: UTF8.self)
  }

  /// Returns where the number is that comes next. RFC 8259, section 6: `-`, digits without leading zeros, a fraction, an
  /// exponent.
  mutating func digits() throws(JSONError) -> Range<Int> {
    let start = at
    _ = take(UInt8(ascii: "-"))
    let startsWithZero = at < bytes.count && bytes[at] == UInt8(ascii: "0")
    let digits = takeDigits()
    if digits == 0 {
      if at == start { throw at < bytes.count ? .unexpected(at: at) : .ended }
      throw .number(at: start)
    }
    if startsWithZero && digits > 1 { throw .number(at: start) }
    if take(UInt8(ascii: ".")), takeDigits() == 0 { throw .number(at: start) }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      if takeDigits() == 0 { throw .number(at: start) }
    }
    return start..<at
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard at < bytes.count, bytes[at] == byte else { return false }
    at += 1
    return true
  }

  private mutating func takeDigits() -> Int {
    let start = at
    while at < bytes.count, ASCII.isDigit(bytes[at]) { at += 1 }
    return at - start
  }
}
