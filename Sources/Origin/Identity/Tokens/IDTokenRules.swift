import System
import Values

/// What an ID token has to be, to be believed (OpenID Connect Core §3.1.3.7, RFC 8725).
package struct IDTokenRules: Sendable {
  /// Whom the token must be for.
  package enum Recipient: Hashable, Sendable {
    /// A client at the provider, which asked for the token: `aud` has it, and `azp` doesn't name another one.
    case client(String)
    /// A service for which a job asked for a token: `aud` has one of these texts. Which of them, `Claims.audiences` says.
    case audience([String])
  }

  /// The issuer; `iss` must be the same bytes.
  package var issuer: IssuerURL
  /// Whom the token must be for.
  package var recipient: Recipient
  /// The nonce of the sign-in; nil where there was none, as for jobs.
  package var nonce: String?
  /// How far both clocks may be apart, in milliseconds.
  package var leeway: Int64 = 60_000
  /// How long ago the token may have been made, in milliseconds; nil: any time.
  package var maxAge: Int64?
  /// How far its end may be away, in milliseconds; nil: any time.
  package var maxLife: Int64?

  package init(
    issuer: IssuerURL, recipient: Recipient, nonce: String? = nil, maxAge: Int64? = nil, maxLife: Int64? = nil
  ) {
    self.issuer = issuer
    self.recipient = recipient
    self.nonce = nonce
    self.maxAge = maxAge
    self.maxLife = maxLife
  }

  /// Verifies a token's signature, and then its claims.
  /// - Parameter now: milliseconds since 1970.
  package func verify(_ token: JSONWebToken, with keys: KeySet, at now: Int64) throws(IdentityError) -> Claims
  {
    try keys.verify(token)
    return try claims(of: token, at: now)
  }
}

extension IDTokenRules {
  func claims(of token: JSONWebToken, at now: Int64) throws(IdentityError) -> Claims {
    fatalError("declared")
  }
}
