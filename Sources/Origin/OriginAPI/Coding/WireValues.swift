import Manifests
import System
import Values

/// A value that the API's JSON represents as a string in a format of its own.
package protocol StringCodable: Codable {
  /// Nil if `text` isn't in the format.
  init?(wire text: String)
  var wireText: String { get }
}

extension StringCodable {
  package init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let value = Self(wire: text) else {
      throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
    }
    self = value
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wireText)
  }
}

extension ManifestVersion: StringCodable {
  package init?(wire text: String) { self.init(text: text) }
  package var wireText: String { text }
}

extension SHA256: StringCodable {
  package init?(wire text: String) { self.init(hex: text) }
  package var wireText: String { hex }
}

extension MD5: StringCodable {
  package init?(wire text: String) { self.init(hex: text) }
  package var wireText: String { hex }
}

extension AppName: StringCodable {
  package init?(wire text: String) {
    guard let name = try? AppName(text) else { return nil }
    self = name
  }
  package var wireText: String { text }
}

extension ChannelName: StringCodable {
  package init?(wire text: String) {
    guard let name = try? ChannelName(text) else { return nil }
    self = name
  }
  package var wireText: String { text }
}

extension BundleName: StringCodable {
  package init?(wire text: String) {
    guard let name = try? BundleName(text) else { return nil }
    self = name
  }
  package var wireText: String { text }
}

extension BaseURL: StringCodable {
  package init?(wire text: String) {
    guard let url = try? BaseURL(text) else { return nil }
    self = url
  }
  package var wireText: String { text }
}

extension ContentType: StringCodable {
  package init?(wire text: String) { self.init(text) }
  package var wireText: String { text }
}

/// What has a form in JSON of its own, which entries have as well.
package protocol JSONCodable: Codable {
  init(wire json: JSONValue) throws
  var json: JSONValue { get }
}

extension JSONCodable {
  package init(from decoder: any Decoder) throws {
    try self.init(wire: decoder.singleValueContainer().decode(JSONValue.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(json)
  }
}

extension ResourceContent: JSONCodable {
  package init(wire json: JSONValue) throws { try self.init(json: json) }
}

extension EntryHeaders: JSONCodable {
  package init(wire json: JSONValue) throws { try self.init(known: json) }
}

extension PageFallbacks: JSONCodable {
  package init(wire json: JSONValue) throws { try self.init(json: json) }
}

/// RFC 3339, UTC, to the millisecond: `2026-11-20T15:17:27.000Z`.
extension Moment: StringCodable {
  package init?(wire text: String) {
    guard let milliseconds = Timestamp.parse(text) else { return nil }
    self.init(milliseconds: milliseconds)
  }

  package var wireText: String { Timestamp.text(milliseconds) }
}

// This module's encoder keeps such a part as it is. Any other one, such as that which names a test's arguments, would ask the value again
// without end, so it gets the text.
extension JSONValue: Codable {
  package init(from decoder: any Decoder) throws {
    self = try decoder.singleValueContainer().decode(JSONValue.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    guard encoder is JSONValueEncoder else {
      return try container.encode(String(decoding: canonical, as: UTF8.self))
    }
    try container.encode(self)
  }
}

/// A member that is always written, as `null` if it has no value, so that clients can count on the key. It may be absent
/// when read.
@propertyWrapper
package struct OrNull<Wrapped: Codable>: Codable {
  package var wrappedValue: Wrapped?

  package init(wrappedValue: Wrapped?) { self.wrappedValue = wrappedValue }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try container.decode(Wrapped.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
  }
}

extension OrNull: Sendable where Wrapped: Sendable {}
extension OrNull: Equatable where Wrapped: Equatable {}
extension OrNull: Hashable where Wrapped: Hashable {}

extension KeyedDecodingContainer {
  /// Called by a derived `init(from:)` for an `@OrNull` member.
  package func decode<Wrapped>(_ type: OrNull<Wrapped>.Type, forKey key: Key) throws -> OrNull<Wrapped> {
    try decodeIfPresent(type, forKey: key) ?? OrNull(wrappedValue: nil)
  }
}
