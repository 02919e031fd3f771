import Values

extension JSONValue {
  /// Decodes the document as a value; members that the type doesn't know are ignored.
  ///
  /// - Throws: `JSONError.member` with the path of what is missing or invalid, e.g. `bundles[2].name`.
  package func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws(JSONError) -> Value {
    do {
      return try JSONValueDecoder(json: self, path: []).read(type)
    } catch let error as JSONError {
      throw error
    } catch let error as DecodingError {
      throw .member(JSONValueDecoder.text(error.path))
    } catch {
      throw .member("")
    }
  }
}

/// A member that a document's type doesn't know.
package struct UnknownMember: Error {
  package let name: String
  package init(name: String) { self.name = name }
}

/// A part of requests whose type must know every member, as that of the request must. Answers may have members of newer origins.
package protocol RequestPart: Decodable {}

extension JSONValue {
  /// Decodes the document as a value whose type must know every top-level member, and those of its `RequestPart`s.
  ///
  /// - Throws: also `UnknownMember`.
  package func decodeKnown<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    do {
      return try JSONValueDecoder(json: self, path: [], rejectsUnknown: true).read(type)
    } catch let error as DecodingError {
      throw JSONError.member(JSONValueDecoder.text(error.path))
    }
  }
}

extension DecodingError {
  fileprivate var path: [any CodingKey] {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      context.codingPath
    case .keyNotFound(let key, let context): context.codingPath + [key]
    @unknown default: []
    }
  }
}

/// An element's place in an array, as a coding key.
private struct Index: CodingKey {
  let index: Int
  var stringValue: String { "\(index)" }
  var intValue: Int? { index }
  init(_ index: Int) { self.index = index }
  init?(intValue: Int) { index = intValue }
  init?(stringValue: String) { nil }
}

private struct JSONValueDecoder: Decoder {
  let json: JSONValue
  let path: [any CodingKey]
  /// Whether the type must know every member of this value.
  var rejectsUnknown = false
  var codingPath: [any CodingKey] { path }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
    // A part that stays JSON, such as a manifest's entry.
    if type == JSONValue.self, let value = json as? Value { return value }
    return try Value(from: self)
  }

  /// - Throws: `JSONError` with the path, if `part` is nil.
  func require<Part>(_ part: Part?) throws -> Part {
    guard let part else { throw JSONError.member(Self.text(path)) }
    return part
  }

  static func text(_ path: [any CodingKey]) -> String {
    path.reduce("") { text, key in
      if let index = key.intValue { return "\(text)[\(index)]" }
      return text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)"
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    let object = try require(json.object)
    if rejectsUnknown, let other = object.members.first(where: { Key(stringValue: $0.key) == nil }) {
      throw UnknownMember(name: other.key)
    }
    return KeyedDecodingContainer(Keyed(object: object, path: path, rejectsUnknown: rejectsUnknown))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    Unkeyed(values: try require(json.array), path: path)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { Single(decoder: self) }
}

extension JSONValueDecoder {
  private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: JSONObject
    let path: [any CodingKey]
    let rejectsUnknown: Bool
    var codingPath: [any CodingKey] { path }
    var allKeys: [Key] { object.members.compactMap { Key(stringValue: $0.key) } }

    private func decoder(_ key: any CodingKey) throws -> JSONValueDecoder {
      guard let json = object[key.stringValue] else { throw JSONError.member(text(path + [key])) }
      return JSONValueDecoder(json: json, path: path + [key])
    }

    func contains(_ key: Key) -> Bool { object[key.stringValue] != nil }
    func decodeNil(forKey key: Key) -> Bool { object[key.stringValue]?.isNull ?? true }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      var decoder = try decoder(key)
      decoder.rejectsUnknown = rejectsUnknown && type is any RequestPart.Type
      return try decoder.read(type)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws
      -> KeyedDecodingContainer<Nested>
    {
      try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      try decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { JSONValueDecoder(json: .object(object), path: path) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
  }

  private struct Unkeyed: UnkeyedDecodingContainer {
    let values: [JSONValue]
    let path: [any CodingKey]
    var currentIndex = 0
    var codingPath: [any CodingKey] { path }
    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex == values.count }

    private mutating func next() throws -> JSONValueDecoder {
      let path = path + [Index(currentIndex)]
      guard !isAtEnd else { throw JSONError.member(text(path)) }
      defer { currentIndex += 1 }
      return JSONValueDecoder(json: values[currentIndex], path: path)
    }

    mutating func decodeNil() -> Bool {
      guard !isAtEnd, values[currentIndex].isNull else { return false }
      currentIndex += 1
      return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().read(type) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws
      -> KeyedDecodingContainer<Nested>
    {
      try next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
      try next().unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { try next() }
  }

  /// Integers follow `JSONValue.integer`: whole, and below 2^53.
  private struct Single: SingleValueDecodingContainer {
    let decoder: JSONValueDecoder
    var codingPath: [any CodingKey] { decoder.path }

    func decodeNil() -> Bool { decoder.json.isNull }
    func decode(_ type: Bool.Type) throws -> Bool { try decoder.require(decoder.json.bool) }
    func decode(_ type: String.Type) throws -> String { try decoder.require(decoder.json.string) }
    func decode(_ type: Double.Type) throws -> Double {
      guard case .number(let text) = decoder.json, let number = Double(text), number.isFinite else {
        return try decoder.require(nil)
      }
      return number
    }
    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.read(type) }

    private func integer<Number: FixedWidthInteger>() throws -> Number {
      try decoder.require(decoder.json.integer.flatMap { Number(exactly: $0) })
    }
  }
}

private func text(_ path: [any CodingKey]) -> String { JSONValueDecoder.text(path) }
