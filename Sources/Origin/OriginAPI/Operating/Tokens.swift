import Manifests
import System

/// `POST /tokens`: a token to create.
package struct TokenRequest: Codable, Sendable {
  /// The owner's name, 1 to 128 bytes.
  package var name: String?
  /// `read`, `release`, `publish` or `admin`.
  package var scope: String?
  /// What it is limited to; nil means every app, every channel of the app, every bundle.
  package var app: String?
  package var channel: String?
  /// With `*` and `?` as wildcards.
  package var bundles: String?
  /// Hosts whose URLs may be published: names, or `*.` followed by one; nil means all.
  package var hosts: [String]?
  /// Seconds until it expires; nil means never.
  package var expiresIn: Int64?
  /// The SHA-256 of a secret made by the client, in hexadecimal; nil if the origin is to make the secret.
  package var secretHash: String?

  package init(name: String, scope: String) {
    self.name = name
    self.scope = scope
  }
}

/// A token that was created.
package struct TokenAnswer: Codable, Sendable {
  package let id: String
  /// The secret, if the origin made it: it is never shown again.
  package var token: String?

  package init(id: String, token: String? = nil) {
    self.id = id
    self.token = token
  }
}

/// A right, and what it is limited to.
package struct GrantInfo: Codable, Hashable, Sendable {
  /// `read`, `release`, `publish` or `admin`.
  package let scope: String
  /// Nil means every app, every channel of the app, every bundle.
  @OrNull package var app: AppName?
  @OrNull package var channel: ChannelName?
  /// With `*` and `?` as wildcards, alternatives separated by commas.
  @OrNull package var bundles: String?

  package init(scope: String, app: AppName?, channel: ChannelName?, bundles: String?) {
    self.scope = scope
    self.app = app
    self.channel = channel
    self.bundles = bundles
  }
}

/// A token as shown to admins, and to its holder (`GET /token`): everything but its secret.
package struct TokenInfo: Codable, Hashable, Sendable {
  package let id: String
  /// Of a session: the person, as the provider names them; of a job: its identity and its run.
  package let name: String
  /// `token`: made by an admin; `session`: of a person who signed in; `job`: traded for a CI job's ID token. Nil from an origin that
  /// has tokens only.
  @OrNull package var kind: String?
  /// Who vouched for the person or the job, and for whom: the ID token's `iss` and `sub`. Nil for a token.
  @OrNull package var issuer: String?
  @OrNull package var subject: String?
  /// Of a session: `console` or `cli`; of a job: its run.
  @OrNull package var detail: String?
  /// All that it may do; nil from an origin that has no sessions. `scope`, `app`, `channel` and `bundles` are those of the first.
  @OrNull package var grants: [GrantInfo]?
  package let scope: String
  /// What it is limited to.
  @OrNull package var app: AppName?
  @OrNull package var channel: ChannelName?
  @OrNull package var bundles: String?
  @OrNull package var hosts: [String]?
  @OrNull package var createdAt: Moment?
  @OrNull package var expiresAt: Moment?
  @OrNull package var lastUsedAt: Moment?
  @OrNull package var revokedAt: Moment?

  package init(
    id: String, name: String, scope: String, app: AppName?, channel: ChannelName?, bundles: String?,
    hosts: [String]?, createdAt: Moment?, expiresAt: Moment?, lastUsedAt: Moment?, revokedAt: Moment?,
    kind: String? = nil, issuer: String? = nil, subject: String? = nil, detail: String? = nil,
    grants: [GrantInfo]? = nil
  ) {
    self.id = id
    self.kind = kind
    self.issuer = issuer
    self.subject = subject
    self.detail = detail
    self.grants = grants
    self.name = name
    self.scope = scope
    self.app = app
    self.channel = channel
    self.bundles = bundles
    self.hosts = hosts
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.lastUsedAt = lastUsedAt
    self.revokedAt = revokedAt
  }
}

/// `GET /tokens`: all tokens ever created, and the sessions and jobs that are in use; `?kind=` names one kind, then ended ones too.
package struct TokenList: Codable, Sendable {
  package let tokens: [TokenInfo]

  package init(tokens: [TokenInfo]) { self.tokens = tokens }
}
