import Manifests
import System
import Values

// Readers of members of signed documents. Each throws `member` with the name of the one that is missing or invalid.
extension JSONValue {
  /// Returns the member, read by `read`.
  func required<Value>(_ key: String, _ read: (JSONValue) -> Value?) throws(TrustFormError) -> Value {
    guard let value = self[key].flatMap(read) else { throw .member(key) }
    return value
  }

  /// Returns the member, read by `read`; nil if there is none.
  func optional<Value>(_ key: String, _ read: (JSONValue) -> Value?) throws(TrustFormError) -> Value? {
    self[key] == nil ? nil : try required(key, read)
  }

  /// Returns the member, a list that `read` makes of each element's text: ordered by the elements' bytes, each once.
  func list<Value>(
    _ key: String, _ counts: ClosedRange<Int>, _ read: (String) -> Value?
  ) throws(TrustFormError) -> [Value] {
    guard let texts = self[key]?.array?.map(\.string), counts.contains(texts.count) else {
      throw .member(key)
    }
    var values: [Value] = []
    var last: String?
    for text in texts {
      guard let text, last.map({ UTF8Order.precedes($0, text) }) ?? true, let value = read(text) else {
        throw .member(key)
      }
      values.append(value)
      last = text
    }
    return values
  }

  func app() throws(TrustFormError) -> AppName {
    try required("app") { $0.string.flatMap { try? AppName($0) } }
  }

  func environment() throws(TrustFormError) -> TrustEnvironment? {
    try optional("environment") { $0.string.flatMap { TrustEnvironment($0) } }
  }

  func digest(_ key: String) throws(TrustFormError) -> SHA256 {
    try required(key) { $0.string.flatMap { SHA256(hex: $0) } }
  }

  func serial(_ key: String) throws(TrustFormError) -> Serial? {
    try optional(key) { $0.integer.flatMap { Serial($0) } }
  }

  /// A document's version; 0, that of a document that doesn't exist, if the member is missing.
  func counter(_ key: String) throws(TrustFormError) -> Int64 {
    try optional(key) { $0.string.flatMap { Decimal.parse($0.utf8) } } ?? 0
  }
}

extension JSONObject {
  /// Sets the member unless the value is nil.
  mutating func set(_ key: String, _ value: JSONValue?) {
    if let value { self[key] = value }
  }
}

/// The serial of a statement and the lowest one that it leaves allowed, which can't be above it.
struct SerialAndFloor {
  let serial: Serial
  let floor: Serial

  init(json: JSONValue) throws(TrustFormError) {
    guard let serial = try json.serial("serial") else { throw .member("serial") }
    let floor = try json.serial("floor") ?? .zero
    guard floor <= serial else { throw .member("floor") }
    self.serial = serial
    self.floor = floor
  }
}
