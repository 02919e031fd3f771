/// Writes JSON in canonical form: compact, keys sorted by UTF-8 bytes, numbers as written, and only `"`, `\`
/// and U+0000–001F escaped, each in its shortest form. Equal content has equal bytes.
package enum CanonicalJSON {
  /// Appends a value's canonical form to `out`.
  package static func append(_ value: JSONValue, to out: inout [UInt8]) {
    switch value {
    case .null: append(raw: "null", to: &out)
    case .bool(let isTrue): append(raw: isTrue ? "true" : "false", to: &out)
    case .number(let text): out.append(contentsOf: text.utf8)
    case .string(let text): append(string: text, to: &out)
    case .array(let values): append(array: values, to: &out)
    case .object(let object): append(object: object, to: &out)
    }
  }

  private static func append(array values: [JSONValue], to out: inout [UInt8]) {
    out.append(UInt8(ascii: "["))
    for (i, value) in values.enumerated() {
      if i > 0 { out.append(UInt8(ascii: ",")) }
      append(value, to: &out)
    }
    out.append(UInt8(ascii: "]"))
  }

  private static func append(object: JSONObject, to out: inout [UInt8]) {
    out.append(UInt8(ascii: "{"))
    for (i, member) in object.members.enumerated() {
      if i > 0 { out.append(UInt8(ascii: ",")) }
      append(string: member.key, to: &out)
      out.append(UInt8(ascii: ":"))
      append(member.value, to: &out)
    }
    out.append(UInt8(ascii: "}"))
  }

  /// Appends a string with its quotes.
  package static func append(string text: String, to out: inout [UInt8]) {
    out.append(UInt8(ascii: "\""))
    if needsEscapes(text) {
      for byte in text.utf8 { append(escaping: byte, to: &out) }
    } else {
      out.append(contentsOf: text.utf8)
    }
    out.append(UInt8(ascii: "\""))
  }

  private static func needsEscapes(_ text: String) -> Bool {
    let bytes = text.utf8Bytes
    for i in bytes.indices where isEscaped(bytes[i]) { return true }
    return false
  }

  @inline(__always) private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private static func append(escaping byte: UInt8, to out: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "\""): append(raw: "\\\"", to: &out)
    case UInt8(ascii: "\\"): append(raw: "\\\\", to: &out)
    case 0x08: append(raw: "\\b", to: &out)
    case 0x09: append(raw: "\\t", to: &out)
    case 0x0A: append(raw: "\\n", to: &out)
    case 0x0C: append(raw: "\\f", to: &out)
    case 0x0D: append(raw: "\\r", to: &out)
    case 0..<0x20:
      append(raw: "\\u00", to: &out)
      out.append(ASCII.lowerHexDigit(byte >> 4))
      out.append(ASCII.lowerHexDigit(byte & 15))
    default: out.append(byte)
    }
  }

  /// Appends text that is already JSON.
  @inline(__always) package static func append(raw text: StaticString, to out: inout [UInt8]) {
    out.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Appends a number's decimal digits to `out`.
  package static func append(integer number: Int64, to out: inout [UInt8]) {
    out.append(contentsOf: String(number).utf8)
  }
}

/// Writes a canonical JSON object, member by member in the order of the keys.
package struct ObjectWriter {
  private var bytes: [UInt8]
  private var last: String?
  package private(set) var count = 0

  package init(reserving capacity: Int = 0) {
    bytes = []
    bytes.reserveCapacity(capacity)
    bytes.append(UInt8(ascii: "{"))
  }

  private init(after key: String) {
    bytes = []
    last = key
  }

  /// Appends a member, whose value `value` writes. A key that doesn't sort after the previous one is a bug and
  /// traps.
  package mutating func append(key: String, _ value: (inout [UInt8]) -> Void) {
    if let last {
      if !UTF8Order.precedes(last, key) { fatalError("\(key) doesn't come after \(last)") }
      bytes.append(UInt8(ascii: ","))
    }
    last = key
    count += 1
    CanonicalJSON.append(string: key, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    value(&bytes)
  }

  package mutating func append(key: String, string: String) {
    append(key: key) { CanonicalJSON.append(string: string, to: &$0) }
  }

  package mutating func append(key: String, raw: [UInt8]) {
    append(key: key) { $0.append(contentsOf: raw) }
  }

  package consuming func finish() -> [UInt8] {
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }

  /// Splits the object at the value of a further member, `key`: the bytes before the value, and a writer for
  /// what follows it.
  package consuming func split(at key: String) -> (head: [UInt8], tail: ObjectWriter) {
    append(key: key) { _ in }
    return (bytes, ObjectWriter(after: key))
  }
}
