import Values

/// Why a person or a job isn't let in, or why a provider can't be asked.
///
/// No case has a token, a code, a verifier or a client secret.
package enum IdentityError: Error, Hashable, Sendable {
  // MARK: The token

  /// Thrown when the text isn't a signed token in the compact form (RFC 7515 §3.1); with what is wrong.
  case malformed(String)
  /// Thrown when a token is longer than `JSONWebToken.limit` bytes.
  case tooLong
  /// Thrown when the header's `alg` isn't accepted: `none`, those with a shared secret, and others that no key here has.
  case algorithm(String)
  /// Thrown when the header's `alg` doesn't belong to the kind of key that its `kid` names.
  case algorithmOfKey(String)
  /// Thrown when the header demands extensions (`crit`, RFC 7515 §4.1.11).
  case critical
  /// Thrown when the header's `typ` says that it is another kind of token, such as an access token.
  case tokenType(String)
  /// Thrown when the issuer has no key of this `kid`; nil: none that fits a token without one.
  case unknownKey(String?)
  /// Thrown when no key of the issuer made the signature.
  case signature
  /// Thrown when `iss` isn't the issuer that was expected; nil: there is none.
  case issuer(expected: String, actual: String?)
  /// Thrown when no identity has the token's issuer.
  case untrustedIssuer(String)
  /// Thrown when `aud` doesn't have any of those expected.
  case audience(expected: [String], actual: [String])
  /// Thrown when the token was issued to another client (`azp`); nil: several may use it, and it doesn't say which it was for.
  case authorizedParty(String?)
  /// Thrown when the token has expired; with the moment, in milliseconds since 1970.
  case expired(at: Int64)
  /// Thrown when `nbf` or `iat` is in the future; with it, in milliseconds since 1970.
  case notYet(at: Int64)
  /// Thrown when the token was issued too long ago; with the moment, in milliseconds since 1970.
  case tooOld(issuedAt: Int64)
  /// Thrown when the token is valid for longer than is accepted; with its end, in milliseconds since 1970.
  case tooLongLived(until: Int64)
  /// Thrown when `nonce` isn't that of the sign-in.
  case nonce
  /// Thrown when a claim is missing or isn't in its form.
  case claim(String)

  // MARK: The sign-in

  /// Thrown when the answer to the browser has the issuer of another provider, or none (`iss`, RFC 9207).
  case answerIssuer
  /// Thrown when the provider refused the code or the client; `error` is its code (RFC 6749 §5.2).
  case refused(error: String, description: String?)
  /// Thrown when what userinfo answers is about somebody else.
  case otherSubject

  // MARK: The provider

  /// Thrown when a URL isn't one of a provider; with what is wrong.
  case url(String, problem: String)
  /// Thrown when the provider doesn't answer, or with an error; with the host, and why.
  case providerDown(host: String, reason: String)
  /// Thrown when the provider's answer can't be used; with the URL's host and path, and why.
  case providerAnswer(String, problem: String)
  /// Thrown when as many calls to the provider are under way as may be.
  case busy
}

extension IdentityError {
  /// The error as a word, for the API, metrics and the audit log.
  package var code: String {
    switch self {
    case .malformed: "malformed-token"
    case .tooLong: "too-long"
    case .algorithm, .algorithmOfKey: "alg"
    case .critical: "crit"
    case .tokenType: "token-type"
    case .unknownKey: "unknown-key"
    case .signature: "signature"
    case .issuer: "issuer"
    case .untrustedIssuer: "untrusted-issuer"
    case .audience: "wrong-audience"
    case .authorizedParty: "wrong-client"
    case .expired: "expired"
    case .notYet: "not-yet"
    case .tooOld: "too-old"
    case .tooLongLived: "too-long-lived"
    case .nonce: "nonce"
    case .claim: "claim"
    case .answerIssuer: "answer-issuer"
    case .refused: "refused"
    case .otherSubject: "other-subject"
    case .url: "provider-url"
    case .providerDown: "provider-down"
    case .providerAnswer: "provider-answer"
    case .busy: "busy"
    }
  }

  /// Whether the provider, or the way to it, is the cause, so that the same may succeed later.
  package var isOfProvider: Bool {
    switch self {
    case .providerDown, .providerAnswer, .busy, .url: true
    default: false
    }
  }
}
