import Manifests
import System

/// `POST /identities`: a CI job that may trade its ID token.
package struct IdentityRequest: Codable, Sendable {
  /// 1 to 64 of `a-z 0-9 . - _`, a letter or digit first.
  package var name: String?
  /// The issuer identifier of the ID tokens: an https URL, or http on a loopback host.
  package var issuer: String?
  /// The `sub` of the ID tokens: exact, or with `*` for any characters but `:` and `/`.
  package var subject: String?
  /// What the ID tokens' `aud` has to contain.
  package var audience: String?
  /// `read`, `release` or `publish`.
  package var scope: String?
  /// What its tokens are limited to; nil means every app, every channel of the app, every bundle.
  package var app: String?
  package var channel: String?
  /// With `*` and `?` as wildcards, alternatives separated by commas.
  package var bundles: String?
  /// Hosts whose URLs may be published: names, or `*.` followed by one; nil means all.
  package var hosts: [String]?

  package init(name: String, issuer: String, subject: String, audience: String, scope: String) {
    self.name = name
    self.issuer = issuer
    self.subject = subject
    self.audience = audience
    self.scope = scope
  }
}

/// A CI job that may trade its ID token, as shown to admins. `POST /identities` and `DELETE /identities/{name}` answer with it.
package struct IdentityInfo: Codable, Hashable, Sendable {
  package let name: String
  package let issuer: String
  /// Exact, or with `*`.
  package let subject: String
  package let audience: String
  package let scope: String
  @OrNull package var app: AppName?
  @OrNull package var channel: ChannelName?
  @OrNull package var bundles: String?
  @OrNull package var hosts: [String]?
  @OrNull package var createdAt: Moment?
  /// Since when it trades nothing any more; nil if it is in use.
  @OrNull package var removedAt: Moment?

  package init(
    name: String, issuer: String, subject: String, audience: String, scope: String, app: AppName?,
    channel: ChannelName?, bundles: String?, hosts: [String]?, createdAt: Moment?, removedAt: Moment?
  ) {
    self.name = name
    self.issuer = issuer
    self.subject = subject
    self.audience = audience
    self.scope = scope
    self.app = app
    self.channel = channel
    self.bundles = bundles
    self.hosts = hosts
    self.createdAt = createdAt
    self.removedAt = removedAt
  }
}

/// `GET /identities`: all identities, removed ones included.
package struct IdentityList: Codable, Sendable {
  package let identities: [IdentityInfo]

  package init(identities: [IdentityInfo]) { self.identities = identities }
}

/// A place where someone is signed in.
package struct SessionInfo: Codable, Hashable, Sendable {
  /// The token's id.
  package let id: String
  /// `console` or `cli`.
  package let client: String
  /// The console's browser, such as `Firefox on Linux`; nil if it isn't known.
  @OrNull package var browser: String?
  @OrNull package var createdAt: Moment?
  @OrNull package var expiresAt: Moment?
  @OrNull package var lastUsedAt: Moment?
  /// Whether the request was sent with it.
  package let isCurrent: Bool

  package init(
    id: String, client: String, browser: String?, createdAt: Moment?, expiresAt: Moment?, lastUsedAt: Moment?,
    isCurrent: Bool
  ) {
    self.id = id
    self.client = client
    self.browser = browser
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.lastUsedAt = lastUsedAt
    self.isCurrent = isCurrent
  }
}

/// `GET /sessions`: where the caller is signed in now, oldest first.
package struct SessionList: Codable, Sendable {
  package let sessions: [SessionInfo]

  package init(sessions: [SessionInfo]) { self.sessions = sessions }
}
