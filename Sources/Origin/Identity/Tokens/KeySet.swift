import System
import Values

/// The keys by which an issuer signs: a JWK set (RFC 7517 §5).
package struct KeySet: Sendable {
  /// The most bytes of a set.
  package static let limit = 256 << 10
  /// The most keys of a set.
  package static let keyLimit = 100

  /// A key that can be used here.
  struct Key: Sendable {
    let id: String?
    let algorithm: JSONWebToken.Algorithm
    let key: SignatureKey
  }

  let keys: [Key]

  /// The number of keys that can be used.
  package var count: Int { keys.count }
}

extension KeySet {
  /// Reads a set. Keys of other kinds, for other purposes, and those too weak are left out.
  /// - Parameters:
  ///   - bytes: a JSON text.
  ///   - place: where it is from, for messages.
  /// - Throws: `providerAnswer`.
  package init(_ bytes: [UInt8], from place: String = "the key set") throws(IdentityError) {
    guard bytes.count <= Self.limit else {
      throw .providerAnswer(place, problem: "a key set is longer than \(Self.limit) bytes")
    }
    guard let keys = try? JSONValue.parse(bytes)["keys"]?.array else {
      throw .providerAnswer(place, problem: "it isn't a key set: a JSON object with an array \"keys\"")
    }
    guard keys.count <= Self.keyLimit else {
      throw .providerAnswer(place, problem: "a key set has \(keys.count) keys, more than \(Self.keyLimit)")
    }
    self.keys = keys.compactMap(Self.key)
  }

  private static func key(_ json: JSONValue) -> Key? {
    // A key whose private half is published proves nothing.
    guard json["d"] == nil, isForSignatures(json) else { return nil }
    let id = json["kid"]?.string
    guard id != nil || json["kid"] == nil, let (algorithm, names, key) = material(json) else { return nil }
    // RFC 7517 §4.4: what the key is intended for.
    if let intended = json["alg"] {
      guard let name = intended.string, names.contains(name) else { return nil }
    }
    return Key(id: id, algorithm: algorithm, key: key)
  }

  /// RFC 7517 §4.2, §4.3.
  private static func isForSignatures(_ json: JSONValue) -> Bool {
    if let use = json["use"], use.string != "sig" { return false }
    guard let operations = json["key_ops"] else { return true }
    return operations.array?.contains { $0.string == "verify" } ?? false
  }

  /// The key and the algorithm that its kind has here (RFC 7518 §6, RFC 8037 §2), with the names of that.
  private static func material(_ json: JSONValue) -> (JSONWebToken.Algorithm, Set<String>, SignatureKey)? {
    func bytes(_ name: String) -> [UInt8]? { json[name]?.string.flatMap { Base64URL.decode($0.utf8) } }
    switch (json["kty"]?.string, json["crv"]?.string) {
    case ("RSA"?, _):
      guard let n = bytes("n"), let e = bytes("e") else { return nil }
      return SignatureKey(modulus: n, exponent: e).map { (.rs256, ["RS256"], $0) }
    case ("EC"?, "P-256"?):
      guard let x = bytes("x"), let y = bytes("y") else { return nil }
      return SignatureKey(x: x, y: y).map { (.es256, ["ES256"], $0) }
    case ("OKP"?, "Ed25519"?):
      guard let x = bytes("x") else { return nil }
      return SignatureKey(ed25519: x).map { (.edDSA, ["EdDSA", "Ed25519"], $0) }
    default:
      return nil
    }
  }

  /// Makes sure that one of the keys made a token's signature: one of those that its `kid` names, and of the kind that its `alg`
  /// is of. Keys without a `kid` are tried for tokens whose `kid` no key has, and all for tokens without one.
  /// - Throws: `unknownKey`, `algorithmOfKey`, `signature`.
  package func verify(_ token: JSONWebToken) throws(IdentityError) {
    var candidates = keys
    if let id = token.keyID {
      let named = keys.filter { $0.id.map { UTF8Order.areEqual($0, id) } ?? false }
      guard named.isEmpty || named.contains(where: { $0.algorithm == token.algorithm }) else {
        throw .algorithmOfKey(token.algorithm.rawValue)
      }
      candidates = named.isEmpty ? keys.filter { $0.id == nil } : named
    }
    candidates.removeAll { $0.algorithm != token.algorithm }
    guard !candidates.isEmpty else { throw .unknownKey(token.keyID) }
    guard candidates.contains(where: { $0.key.verifies(token.signature, of: token.signed) }) else {
      throw .signature
    }
  }
}
