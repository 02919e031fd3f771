import System
import Values

@testable import Identity

/// An issuer that signs whatever it is asked to.
struct TestIssuer: Sendable {
  static let name = "https://id.acme.com"
  static let client = "console"
  /// 2026-11-30T12:00:00Z, in milliseconds since 1970.
  static let now: Int64 = 1_796_040_000_000
  static var second: Int64 { now / 1000 }

  var key = TestKey.p256Key
  var keyID: String? = "k1"

  /// The claims of a token that is accepted.
  static var claims: JSONObject {
    JSONObject([
      JSONObject.Member(key: "iss", value: .string(name)), JSONObject.Member(key: "sub", value: "u-17"),
      JSONObject.Member(key: "aud", value: .string(client)), JSONObject.Member(key: "nonce", value: "n-1"),
      JSONObject.Member(key: "iat", value: .integer(second - 5)),
      JSONObject.Member(key: "exp", value: .integer(second + 300)),
    ])
  }

  /// The claims with some others; null removes one.
  static func claims(_ others: [String: JSONValue]) -> JSONObject {
    var claims = claims
    for (name, value) in others { claims[name] = value.isNull ? nil : value }
    return claims
  }

  var header: JSONObject {
    var header = JSONObject()
    header["alg"] = .string(key.algorithm)
    header["typ"] = "JWT"
    header["kid"] = keyID.map(JSONValue.string)
    return header
  }

  func token(_ others: [String: JSONValue] = [:], header changes: [String: JSONValue] = [:]) -> String {
    var header = header
    for (name, value) in changes { header[name] = value.isNull ? nil : value }
    return token(
      header: JSONValue.object(header).canonical, payload: JSONValue.object(Self.claims(others)).canonical)
  }

  /// A token of any texts.
  func token(header: [UInt8], payload: [UInt8]) -> String {
    let signed = Base64URL.encode(header) + "." + Base64URL.encode(payload)
    return signed + "." + Base64URL.encode(key.sign(Array(signed.utf8)))
  }

  func keys() throws -> KeySet { try Self.keys([key.jwk(keyID)]) }

  static func keys(_ keys: [JSONValue]) throws -> KeySet { try KeySet(bytes(keys)) }

  static func bytes(_ keys: [JSONValue]) -> [UInt8] { JSONValue.object(["keys": .array(keys)]).canonical }

  static func rules() throws -> IDTokenRules {
    IDTokenRules(issuer: try IssuerURL(name), recipient: .client(client), nonce: "n-1")
  }
}

extension JSONValue {
  /// An object of members in any order.
  static func object(_ members: [String: JSONValue]) -> JSONValue {
    .object(JSONObject(members.map { JSONObject.Member(key: $0.key, value: $0.value) }))
  }
}
