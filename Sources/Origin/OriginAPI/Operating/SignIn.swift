import Manifests
import System

/// `GET /auth/`: how people sign in here, for clients that have no token yet.
package struct SignInConfiguration: Codable, Sendable {
  /// The OpenID Connect provider; nil if people sign in with tokens only.
  @OrNull package var sso: Provider?

  /// An OpenID Connect provider.
  package struct Provider: Codable, Hashable, Sendable {
    /// Its issuer identifier: an https URL.
    package let issuer: String
    /// The host of that URL, for people to read.
    package let host: String

    package init(issuer: String, host: String) {
      self.issuer = issuer
      self.host = host
    }
  }

  package init(sso: Provider?) { self.sso = sso }
}

/// `POST /auth/device`: a command line that wants to be signed in by whoever is signed in to the console (RFC 8628 §3.1). Without
/// members: it polls `POST /auth/token`. With all three: the console's browser comes back to it (RFC 8252 §7.3).
package struct DeviceSignInRequest: Codable, Sendable {
  /// The port that it listens on at 127.0.0.1, 1 to 65535.
  package var port: Int?
  /// The SHA-256 of its verifier in base64url, 43 characters (RFC 7636 §4.2, S256).
  package var challenge: String?
  /// What comes back with the code, 16 to 128 of `A-Z a-z 0-9 - . _ ~`: it tells its own redirect from another's.
  package var state: String?

  package init(port: Int? = nil, challenge: String? = nil, state: String? = nil) {
    self.port = port
    self.challenge = challenge
    self.state = state
  }
}

/// A sign-in of a command line that waits for a person's decision.
package struct DeviceSignInAnswer: Codable, Sendable {
  /// The secret to poll with; nil if the browser comes back with a code.
  @OrNull package var deviceCode: String?
  /// What the person compares: 8 consonants, `BCDF-GHJK`.
  package let userCode: String
  /// The console's page that asks the person; it has the user code.
  package let verifyURL: String
  /// Seconds between two polls, at least.
  package let interval: Int
  /// Seconds until it is forgotten.
  package let expiresIn: Int

  package init(deviceCode: String?, userCode: String, verifyURL: String, interval: Int, expiresIn: Int) {
    self.deviceCode = deviceCode
    self.userCode = userCode
    self.verifyURL = verifyURL
    self.interval = interval
    self.expiresIn = expiresIn
  }
}

/// `POST /auth/token`: asks for the token of a sign-in, by `deviceCode`, or by `code` and `verifier`.
///
/// Until then it is refused with 400 and one of the codes `authorization-pending`, `slow-down` (the interval is 5 s longer from
/// then on, RFC 8628 §3.5), `access-denied`, `expired-token` (also: unknown, or answered before), `invalid-verifier`.
package struct SignInTokenRequest: Codable, Sendable {
  package var deviceCode: String?
  /// From the redirect to 127.0.0.1.
  package var code: String?
  /// The text whose SHA-256 was the challenge, 43 to 128 characters (RFC 7636 §4.1).
  package var verifier: String?

  package init(deviceCode: String) { self.deviceCode = deviceCode }

  package init(code: String, verifier: String) {
    self.code = code
    self.verifier = verifier
  }
}

/// The token of a session, given once.
package struct SignInTokenAnswer: Codable, Sendable {
  package let token: String
  /// The person, as the provider names them.
  package let name: String
  /// The highest scope of its grants.
  package let scope: String
  /// When one has to sign in again.
  package let expiresAt: Moment

  package init(token: String, name: String, scope: String, expiresAt: Moment) {
    self.token = token
    self.name = name
    self.scope = scope
    self.expiresAt = expiresAt
  }
}

/// `GET /signins/{userCode}`: a command line that wants to be signed in, for the person who decides.
package struct PendingSignIn: Codable, Sendable {
  package let userCode: String
  /// The address that asked; empty if it isn't known.
  package let address: String
  /// When it asked.
  package let at: Moment
  /// `device`: it polls, maybe from another machine; `loopback`: it waits at 127.0.0.1 of the machine that the browser runs on.
  package let kind: String

  package init(userCode: String, address: String, at: Moment, kind: String) {
    self.userCode = userCode
    self.address = address
    self.at = at
    self.kind = kind
  }
}

/// `POST /signins/{userCode}`: the person's decision.
package struct SignInDecision: Codable, Sendable {
  package var allow: Bool?

  package init(allow: Bool) { self.allow = allow }
}

/// What the browser does after the decision.
package struct SignInDecisionAnswer: Codable, Sendable {
  /// Where it goes: `http://127.0.0.1:PORT/?code=…&state=…`, or with `error=access_denied` in place of the code; nil if the command
  /// line polls.
  @OrNull package var redirect: String?

  package init(redirect: String?) { self.redirect = redirect }
}

/// `POST /auth/session`, with a token in `Authorization: Bearer` and `Xcache-Console: 1`, without a body: a session of the token for the
/// console. The answer is the session as `TokenInfo`, and sets the cookie. Refused with 409 and the code `insecure` where the cookie
/// would go over plain http.

/// `POST /auth/trade`: a job's ID token for a token of 15 minutes.
package struct TradeRequest: Codable, Sendable {
  /// The ID token: a JWT, at most 16 KB.
  package var token: String?
  /// The SHA-256 of a secret of 32 random bytes made by the client, in hexadecimal. The same ID token with the same hash gives the
  /// same answer again; with another one it is refused with 409, code `token-replayed`.
  package var secretHash: String?
  /// The identity to act as; nil if just one matches.
  package var identity: String?

  package init(token: String, secretHash: String, identity: String? = nil) {
    self.token = token
    self.secretHash = secretHash
    self.identity = identity
  }
}

/// The token that a job got. Its text is `xcache_<id>_<secret in base64url>`, which only the client can make.
package struct TradeAnswer: Codable, Sendable {
  package let id: String
  /// The identity and the job's run.
  package let name: String
  package let scope: String
  package let expiresAt: Moment
  /// What it is limited to.
  @OrNull package var app: AppName?
  @OrNull package var channel: ChannelName?
  @OrNull package var bundles: String?

  package init(
    id: String, name: String, scope: String, expiresAt: Moment, app: AppName?, channel: ChannelName?,
    bundles: String?
  ) {
    self.id = id
    self.name = name
    self.scope = scope
    self.expiresAt = expiresAt
    self.app = app
    self.channel = channel
    self.bundles = bundles
  }
}
