import Manifests

/// `POST /tokens`: a token that is to be made.
package struct TokenRequest: Codable, Sendable {
  /// Whose it is, 1 to 128 bytes.
  package var name: String?
  /// `read`, `publish` or `admin`.
  package var scope: String?
  /// What it is limited to; nil: every app, every channel of the app, every bundle.
  package var app: String?
  package var channel: String?
  /// With `*` and `?` as wildcards.
  package var bundles: String?
  /// Hosts whose URLs may be published: names, or `*.` and one; nil: all.
  package var hosts: [String]?
  /// Seconds until it ends; nil: it doesn't.
  package var expiresIn: Int64?
  /// sha256 of the secret that the client made, in hexadecimal digits; nil: the origin makes it.
  package var secretHash: String?

  package init(name: String, scope: String) {
    self.name = name
    self.scope = scope
  }
}

/// A token that was made.
package struct TokenAnswer: Codable, Sendable {
  package let id: String
  /// Where the origin made the secret: the only time that it is told.
  package var token: String?

  package init(id: String, token: String? = nil) {
    self.id = id
    self.token = token
  }
}

/// A token as admins see it: all but its secret.
package struct TokenInfo: Codable, Hashable, Sendable {
  package let id: String
  package let name: String
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
    hosts: [String]?, createdAt: Moment?, expiresAt: Moment?, lastUsedAt: Moment?, revokedAt: Moment?
  ) {
    self.id = id
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

/// `GET /tokens`: all that were ever made.
package struct TokenList: Codable, Sendable {
  package let tokens: [TokenInfo]

  package init(tokens: [TokenInfo]) { self.tokens = tokens }
}

extension OriginClient {
  /// All tokens that were ever made.
  package func tokens() throws(OriginError) -> OriginAnswer<TokenList> { try get("tokens") }

  /// Makes a token; its secret is the caller's.
  package func createToken(_ request: TokenRequest) throws(OriginError) -> OriginAnswer<TokenAnswer> {
    try send(OriginCall("POST", "tokens", request))
  }

  /// - Parameter name: the token's, or its id.
  package func revokeToken(_ name: String) throws(OriginError) -> OriginAnswer<TokenInfo> {
    try send(OriginCall("DELETE", "tokens/\(OriginCall.escaped(name))"))
  }
}
