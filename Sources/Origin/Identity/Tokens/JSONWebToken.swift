import System
import Values

/// A signed token as it was received: a JWS in the compact form (RFC 7515 §3.1) whose payload is an object of claims (RFC 7519).
///
/// Nothing of its payload is to be believed, or can be read, before `IdentityProvider.verify` or `IDTokenRules.verify` returns
/// its `Claims`; the issuer alone tells whose keys to try.
package struct JSONWebToken: Sendable {
  /// The most bytes of a token.
  package static let limit = 16 << 10

  /// The signatures that are accepted. Which of them is tried is decided by the key's kind; the header has to agree.
  package enum Algorithm: String, Hashable, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 §3.3).
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256 (RFC 7518 §3.4).
    case es256 = "ES256"
    /// Ed25519 (RFC 8037 §3.1); `Ed25519` in RFC 9864.
    case edDSA = "EdDSA"
  }

  /// What the header says of the signature.
  package let algorithm: Algorithm
  /// The key that the header names; nil if it names none.
  package let keyID: String?
  /// What was signed: header and payload as they were received.
  let signed: [UInt8]
  /// The signature's bytes.
  let signature: [UInt8]
  /// The payload: not to be believed yet.
  let payload: JSONValue

  /// The issuer that the token claims to have, so that its keys can be found; nil if there is none.
  package var claimedIssuer: String? { payload["iss"]?.string }

  /// Identifies what was signed: to refuse that a token is used twice. It doesn't cover the signature, since anyone can make
  /// another valid one of an ECDSA signature (s and n − s), which would make the same claims look like another token.
  package var digest: SHA256 { SHA256.of(signed) }
}

extension JSONWebToken {
  /// Reads a token.
  /// - Throws: `tooLong`, `malformed`, `algorithm`, `critical`, `tokenType`.
  package init(_ text: String) throws(IdentityError) { fatalError("declared") }
}
