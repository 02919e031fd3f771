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
  /// - Throws: `malformed`.
  package init(_ bytes: [UInt8]) throws(IdentityError) { fatalError("declared") }

  /// Makes sure that one of the keys made a token's signature.
  /// - Throws: `unknownKey`, `algorithmOfKey`, `signature`.
  package func verify(_ token: JSONWebToken) throws(IdentityError) { fatalError("declared") }
}
