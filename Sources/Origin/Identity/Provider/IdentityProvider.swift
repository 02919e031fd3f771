import HTTP
import HTTPClient
import System
import Values

/// One issuer of ID tokens: what it publishes about itself, its keys, and the calls of a sign-in. Any thread may call it; a
/// call may block for as long as its requests to the provider take, 10 s each.
package final class IdentityProvider: Sendable {
  /// What we are registered as at a provider where people sign in.
  package struct Client: Sendable {
    /// `client_id`.
    package let id: String
    /// `client_secret`; nil for a public client.
    let secret: String?

    package init(id: String, secret: String?) {
      self.id = id
      self.secret = secret
    }
  }

  /// Who it is.
  package let issuer: IssuerURL
  let client: Client?
  let transport: IdentityTransport
  let clock: @Sendable () -> Int64

  /// - Parameters:
  ///   - issuer: who it is.
  ///   - client: nil where nobody signs in, as for the issuers of jobs' tokens.
  ///   - transport: how it is asked.
  ///   - clock: milliseconds since 1970.
  package init(
    _ issuer: IssuerURL, client: Client? = nil, transport: IdentityTransport = .http(),
    clock: @escaping @Sendable () -> Int64 = Clock.unixMilliseconds
  ) {
    self.issuer = issuer
    self.client = client
    self.transport = transport
    self.clock = clock
  }

  /// Returns the URL at which the browser signs in (OpenID Connect Core §3.1.2.1).
  /// - Parameters:
  ///   - redirectURI: where the answer goes.
  ///   - scopes: separated by spaces, `openid` among them.
  ///   - secrets: those of this sign-in.
  ///   - prompt: `none` to be signed in only without a question; nil: as the provider likes.
  /// - Throws: `providerDown`, `providerAnswer`, `busy`.
  package func authorizationURL(
    redirectURI: String, scopes: String, secrets: SignInSecrets, prompt: String? = nil
  ) throws(IdentityError) -> String {
    fatalError("declared")
  }

  /// Redeems the code of an answer, and verifies the ID token that it gives (OpenID Connect Core §3.1.3).
  ///
  /// A code is redeemed once: the request is never sent again.
  /// - Parameters:
  ///   - code: from the answer to the browser, whose state was compared.
  ///   - answerIssuer: `iss` of that answer (RFC 9207); nil if it had none.
  ///   - redirectURI: the same as in the authorization request.
  ///   - secrets: those of this sign-in.
  ///   - needed: claims that userinfo is asked for if the ID token lacks one of them and the provider has userinfo.
  package func signIn(
    code: String, answerIssuer: String?, redirectURI: String, secrets: SignInSecrets, needed: Set<String>
  ) throws(IdentityError) -> Claims {
    fatalError("declared")
  }

  /// Verifies a token by the issuer's keys, and its claims by rules, whose issuer must be this one.
  ///
  /// The keys are kept for an hour; if none has made the signature, they are fetched anew, at most once in 30 s. While the
  /// provider doesn't answer, those it had are used for 24 h.
  package func verify(_ token: JSONWebToken, by rules: IDTokenRules) throws(IdentityError) -> Claims {
    fatalError("declared")
  }
}

/// The issuers of jobs' tokens, each with its keys.
package final class IdentityProviders: Sendable {
  /// The most issuers whose keys are kept.
  package static let limit = 64

  let transport: IdentityTransport
  let clock: @Sendable () -> Int64

  package init(
    transport: IdentityTransport = .http(), clock: @escaping @Sendable () -> Int64 = Clock.unixMilliseconds
  ) {
    self.transport = transport
    self.clock = clock
  }

  /// Returns the provider of the issuer that a token claims to have.
  /// - Parameters:
  ///   - token: as it was received.
  ///   - trusted: the issuers of the admin's identities. No other one is ever asked for anything.
  /// - Throws: `untrustedIssuer`, `claim("iss")`, `url`.
  package func provider(for token: JSONWebToken, among trusted: some Sequence<String>) throws(IdentityError)
    -> IdentityProvider
  {
    fatalError("declared")
  }
}
