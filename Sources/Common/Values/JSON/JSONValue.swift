/// A JSON value: numbers as written, keys sorted by their UTF-8 bytes.
package enum JSONValue: Sendable {
  case null
  case bool(Bool)
  /// Digits as written, e.g. `1.50e3`.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  /// Parses a JSON text (RFC 8259) in UTF-8, strictly: no duplicate keys, no lone surrogates, at most
  /// `JSONReader.depthLimit` levels. The caller must limit its size.
  package static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
    var reader = JSONReader(bytes)
    let value = try reader.value()
    try reader.end()
    return value
  }

  /// Parses one of many texts, which together may have `left` values; subtracts its own.
  package static func parse(_ bytes: [UInt8], atMost count: Int, of left: inout Int) throws(JSONError)
    -> JSONValue
  {
    var reader = JSONReader(bytes, values: left)
    let value = try reader.value(atMost: count)
    try reader.end()
    left = reader.valuesLeft
    return value
  }

  /// The value as canonical bytes.
  package var canonical: [UInt8] {
    var out: [UInt8] = []
    CanonicalJSON.append(self, to: &out)
    return out
  }

  /// Returns a whole number.
  package static func integer(_ number: some BinaryInteger) -> JSONValue { .number(String(number)) }

  /// Returns an array of strings.
  package static func strings(_ texts: some Sequence<String>) -> JSONValue {
    .array(texts.map { .string($0) })
  }
}

extension JSONValue {
  /// The value of a boolean; nil for anything else.
  package var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The text of a string; nil for anything else.
  package var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The elements of an array; nil for anything else.
  package var array: [JSONValue]? {
    if case .array(let values) = self { values } else { nil }
  }

  /// The members of an object; nil for anything else.
  package var object: JSONObject? {
    if case .object(let object) = self { object } else { nil }
  }

  /// The number, if it is written as an integer without fraction, exponent or `-0`, and lies between −2^53 and
  /// 2^53: "interoperable in the sense that implementations will agree exactly" (RFC 8259 §6).
  package var integer: Int64? {
    guard case .number(let text) = self, let number = Int64(text), number.magnitude <= Decimal.limit,
      String(number) == text
    else { return nil }
    return number
  }

  /// Whether it is null.
  package var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// The member of an object; nil if this isn't an object or lacks it.
  package subscript(key: String) -> JSONValue? { object?[key] }
}

extension JSONValue: Hashable {
  package static func == (a: JSONValue, b: JSONValue) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let x), .bool(let y)): x == y
    case (.number(let x), .number(let y)): x == y
    case (.string(let x), .string(let y)): UTF8Order.areEqual(x, y)
    case (.array(let x), .array(let y)): x == y
    case (.object(let x), .object(let y)): x == y
    default: false
    }
  }

  package func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .number(let text), .string(let text): hasher.combine(text)
    case .array(let values): hasher.combine(values)
    case .object(let object): hasher.combine(object)
    }
  }
}

extension JSONValue {
  /// Returns the member, a number of bytes below 2^53.
  package func size(_ key: String) throws(JSONError) -> Int64 {
    guard let size = self[key]?.integer, size >= 0 else { throw .member(key) }
    return size
  }

  /// Returns the member, a string.
  package func string(_ key: String) throws(JSONError) -> String {
    guard let text = self[key]?.string else { throw .member(key) }
    return text
  }
}

// No `ExpressibleByNilLiteral`: with it `json["key"] == nil` would ask whether the member is `null`.
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral text: String) { self = .string(text) }
  package init(integerLiteral number: Int64) { self = .integer(number) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(arrayLiteral values: JSONValue...) { self = .array(values) }

  /// Takes members in any order; a duplicate key is a bug and traps.
  package init(dictionaryLiteral members: (String, JSONValue)...) {
    self = .object(JSONObject(members.map { JSONObject.Member(key: $0.0, value: $0.1) }))
  }
}
