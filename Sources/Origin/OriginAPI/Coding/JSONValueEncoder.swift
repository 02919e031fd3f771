import Values

extension JSONValue {
  /// Encodes a value through its `Codable` members; the API sends the canonical bytes.
  package init(encoding value: some Encodable) {
    let node = JSONNode()
    do {
      try node.encode(value)
    } catch {
      // Every member of the API's types can be represented in JSON.
      fatalError("\(type(of: value)) can't be written as JSON: \(error)")
    }
    self = node.json
  }
}

/// A node of the document that is being written; set once.
private final class JSONNode {
  private enum Content {
    case value(JSONValue)
    case object([(key: String, node: JSONNode)])
    case array([JSONNode])
  }

  private var content = Content.value(.null)

  var json: JSONValue {
    switch content {
    case .value(let value): value
    case .object(let members): .object(JSONObject(members.map { .init(key: $0.key, value: $0.node.json) }))
    case .array(let nodes): .array(nodes.map(\.json))
    }
  }

  var count: Int { if case .array(let nodes) = content { nodes.count } else { 0 } }

  func set(_ value: JSONValue) { content = .value(value) }

  func encode(_ value: some Encodable) throws {
    // A part that is JSON already, such as a manifest's entry, is kept as it is.
    if let json = value as? JSONValue {
      set(json)
    } else {
      try value.encode(to: JSONValueEncoder(node: self))
    }
  }

  func beginObject() { if case .object = content {} else { content = .object([]) } }

  func beginArray() { if case .array = content {} else { content = .array([]) } }

  func member(_ key: String) -> JSONNode {
    let node = JSONNode()
    if case .object(var members) = content {
      content = .value(.null)
      members.append((key, node))
      content = .object(members)
    }
    return node
  }

  func element() -> JSONNode {
    let node = JSONNode()
    if case .array(var nodes) = content {
      content = .value(.null)
      nodes.append(node)
      content = .array(nodes)
    }
    return node
  }
}

struct JSONValueEncoder: Encoder {
  fileprivate let node: JSONNode
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    node.beginObject()
    return KeyedEncodingContainer(Keyed(node: node))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.beginArray()
    return Unkeyed(node: node)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { Single(node: node) }
}

extension JSONValueEncoder {
  private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: JSONNode
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) { node.member(key.stringValue).set(.null) }
    func encode(_ value: some Encodable, forKey key: Key) throws {
      try node.member(key.stringValue).encode(value)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key)
      -> KeyedEncodingContainer<Nested>
    {
      JSONValueEncoder(node: node.member(key.stringValue)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      JSONValueEncoder(node: node.member(key.stringValue)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { JSONValueEncoder(node: node.member("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { JSONValueEncoder(node: node.member(key.stringValue)) }
  }

  private struct Unkeyed: UnkeyedEncodingContainer {
    let node: JSONNode
    var codingPath: [any CodingKey] { [] }
    var count: Int { node.count }

    func encodeNil() { node.element().set(.null) }
    func encode(_ value: some Encodable) throws { try node.element().encode(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
      JSONValueEncoder(node: node.element()).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
      JSONValueEncoder(node: node.element()).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { JSONValueEncoder(node: node.element()) }
  }

  private struct Single: SingleValueEncodingContainer {
    let node: JSONNode
    var codingPath: [any CodingKey] { [] }

    func encodeNil() { node.set(.null) }
    func encode(_ value: Bool) { node.set(.bool(value)) }
    func encode(_ value: String) { node.set(.string(value)) }
    func encode(_ value: Double) { node.set(.number(String(value))) }
    func encode(_ value: Float) { node.set(.number(String(value))) }
    func encode(_ value: Int) { node.set(.integer(value)) }
    func encode(_ value: Int8) { node.set(.integer(value)) }
    func encode(_ value: Int16) { node.set(.integer(value)) }
    func encode(_ value: Int32) { node.set(.integer(value)) }
    func encode(_ value: Int64) { node.set(.integer(value)) }
    func encode(_ value: UInt) { node.set(.integer(value)) }
    func encode(_ value: UInt8) { node.set(.integer(value)) }
    func encode(_ value: UInt16) { node.set(.integer(value)) }
    func encode(_ value: UInt32) { node.set(.integer(value)) }
    func encode(_ value: UInt64) { node.set(.integer(value)) }
    func encode(_ value: some Encodable) throws { try node.encode(value) }
  }
}
