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
  package init(_ text: String) throws(IdentityError) {
    guard text.utf8.count <= Self.limit else { throw .tooLong }
    let bytes = Array(text.utf8)
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    // RFC 7516 §9: "a JWE … five".
    guard parts.count != 5 else { throw .malformed("it is encrypted; only signed tokens are read") }
    guard parts.count == 3 else { throw .malformed("it doesn't have three parts with dots between them") }
    let header = try Self.object(parts[0], "header")
    // Whoever doesn't know an extension that has to be understood must refuse the token; we know none.
    guard header["crit"] == nil else { throw .critical }
    algorithm = try Self.algorithm(of: header)
    try Self.checkType(of: header)
    keyID = try Self.keyID(of: header)
    payload = .object(try Self.object(parts[1], "payload"))
    guard let signature = Base64URL.decode(parts[2]), !signature.isEmpty else {
      throw .malformed("its signature isn't in base64url without padding")
    }
    self.signature = signature
    signed = Array(bytes[..<parts[1].endIndex])
  }

  private static func object(_ part: ArraySlice<UInt8>, _ name: String) throws(IdentityError) -> JSONObject {
    guard let bytes = Base64URL.decode(part) else {
      throw .malformed("its \(name) isn't in base64url without padding")
    }
    // RFC 7515 §4: "the Header Parameter names … MUST be unique"; so are claims' (RFC 7519 §4). The reader refuses duplicates.
    guard let object = try? JSONValue.parse(bytes).object else {
      throw .malformed("its \(name) isn't a JSON object with each member once")
    }
    return object
  }

  private static func algorithm(of header: JSONObject) throws(IdentityError) -> Algorithm {
    guard let name = header["alg"]?.string else { throw .malformed("its header has no alg") }
    if name == "Ed25519" { return .edDSA }
    guard let algorithm = Algorithm(rawValue: name) else { throw .algorithm(name) }
    return algorithm
  }

  /// RFC 8725 §3.11: what is typed as another kind of token isn't an ID token, such as `at+jwt` (RFC 9068) and `logout+jwt`.
  private static func checkType(of header: JSONObject) throws(IdentityError) {
    guard let type = header["typ"] else { return }
    guard let name = type.string else { throw .malformed("its typ isn't a string") }
    guard ["jwt", "application/jwt", "jose"].contains(name.lowercased()) else { throw .tokenType(name) }
  }

  private static func keyID(of header: JSONObject) throws(IdentityError) -> String? {
    guard let id = header["kid"] else { return nil }
    guard let text = id.string else { throw .malformed("its kid isn't a string") }
    return text
  }
}
