import Manifests
import System
import Values

/// CI jobs that need no secret: those with an ID token of `issuer`, for a subject that matches, made for `audience`, may trade it for a
/// token that allows this.
package struct JobIdentity: Hashable, Sendable {
  /// The most characters of a name.
  package static let nameLimit = 64
  /// The most identities at a time.
  package static let limit = 1000

  /// The name, unique among identities that weren't removed.
  package let name: String
  /// The URL of whoever makes the ID tokens.
  package let issuer: String
  /// Whose they are.
  package let subject: SubjectPattern
  /// Whom they have to be made for.
  package let audience: String
  /// What the jobs may do; never `admin`.
  package let scope: TokenScope
  /// The only app; nil: every app.
  package var app: AppName?
  /// The only channel; nil: every channel.
  package var channel: ChannelName?
  /// The bundles that they may change; nil: every bundle.
  package var bundles: BundleGlob?
  /// The hosts whose URLs they may publish; nil: all.
  package var hosts: HostList?
  /// In milliseconds since 1970; given by the store.
  package internal(set) var createdAt: Int64 = 0
  /// When it was removed; nil if it wasn't.
  package internal(set) var removedAt: Int64?

  /// Creates an identity. An admin's rights would let a job make itself a token that lasts: it gets those of `publish`.
  package init(
    name: String, issuer: String, subject: SubjectPattern, audience: String, scope: TokenScope,
    app: AppName? = nil, channel: ChannelName? = nil, bundles: BundleGlob? = nil, hosts: HostList? = nil
  ) {
    self.name = name
    self.issuer = issuer
    self.subject = subject
    self.audience = audience
    self.scope = min(scope, .publish)
    self.app = app
    self.channel = channel
    self.bundles = bundles
    self.hosts = hosts
  }
}

/// An ID token that was verified, and is to be traded.
package struct TradedToken: Hashable, Sendable {
  /// Of what is signed of it, its header and claims: of an ES256 signature there are two that hold.
  package let jwt: SHA256
  /// The SHA-256 of the 32 random bytes of the new token's secret, made by the job.
  package let secretHash: SHA256
  /// The run, as its claims name it; nil: they don't.
  package let run: String?
  /// Its claim `sub`.
  package let subject: String
  /// Its claim `iss`.
  package let issuer: String
  /// When it expires, in milliseconds since 1970, by its claim `exp`.
  package let jwtExpiresAt: Int64
  /// When the new token is to expire, in milliseconds since 1970.
  package let expiresAt: Int64

  /// Creates what is known of an ID token.
  package init(
    jwt: SHA256, secretHash: SHA256, run: String?, subject: String, issuer: String, jwtExpiresAt: Int64,
    expiresAt: Int64
  ) {
    self.jwt = jwt
    self.secretHash = secretHash
    self.run = run
    self.subject = subject
    self.issuer = issuer
    self.jwtExpiresAt = jwtExpiresAt
    self.expiresAt = expiresAt
  }
}

extension Store {
  /// Adds an identity of CI jobs.
  /// - Returns: it, with the time.
  /// - Throws: `identityNameTaken`, `tooManyIdentities`.
  package func addIdentity(
    _ identity: JobIdentity, by actor: Actor, record: AnswerRecord<JobIdentity>? = nil
  ) throws(StoreError) -> JobIdentity {
    let now = clock()
    return try connections.transaction(keeping: record, now: now) { (db) throws(StoreError) in
      guard try db.identity(identity.name) == nil else { throw .identityNameTaken(identity.name) }
      guard try db.identityCount() < JobIdentity.limit else { throw .tooManyIdentities(JobIdentity.limit) }
      var added = identity
      (added.createdAt, added.removedAt, added.hosts) = (now, nil, identity.hosts?.limit)
      try db.insert(added)
      try db.audit(added.act("identity.add"), by: actor, now: now)
      return added
    }
  }

  /// All identities ever added, with those that were removed, oldest first.
  package func identities() throws(StoreError) -> [JobIdentity] {
    try connections.reading { (db) throws(StoreError) in
      try db.identities()
    }
  }

  /// Removes an identity, and revokes the tokens of its jobs.
  /// - Throws: `unknownIdentity`.
  package func removeIdentity(
    _ name: String, by actor: Actor, record: AnswerRecord<JobIdentity>? = nil
  ) throws(StoreError) -> JobIdentity {
    let now = clock()
    return try connections.transaction(keeping: record, now: now, goesFirst: true) {
      (db) throws(StoreError) in
      guard var removed = try db.identity(name) else { throw .unknownIdentity(name) }
      try db.run("UPDATE identity SET removed_at = ? WHERE name = ? AND removed_at IS NULL", now, name)
      removed.removedAt = now
      let jobs = try db.jobs(of: name)
      for job in jobs { try db.revoke(job, now: now) }
      try db.audit(removed.act("identity.remove", revoked: jobs.count), by: actor, now: now)
      return removed
    }
  }

  /// Trades an ID token for a token of 15 minutes or so. It is traded once; again with the same secret, whose answer was lost, gives the
  /// same token.
  /// - Parameters:
  ///   - claim: the ID token, whose signature, audience and times were verified.
  ///   - name: the identity for which it is traded.
  ///   - actor: the job, and where the request came from.
  /// - Throws: `unknownIdentity` if the identity was removed; `foreignIDToken` if the ID token isn't of it; `idTokenExpired`;
  ///   `idTokenReplayed` if it was traded with another secret; `tokenEnded` if the token that it was traded for was revoked.
  package func trade(_ claim: TradedToken, for name: String, by actor: Actor) throws(StoreError)
    -> AccessToken
  {
    try connections.transaction(keeping: nil, now: clock()) { (db) throws(StoreError) in
      let now = clock()
      // Kept for longer than any verifier would still take it, by whatever clock.
      let (end, isBeyond) = claim.jwtExpiresAt.addingReportingOverflow(TradeLimits.leeway)
      guard !isBeyond, end > now else { throw .idTokenExpired }
      guard let identity = try db.identity(name) else { throw .unknownIdentity(name) }
      guard identity.issuer == claim.issuer, identity.subject.matches(claim.subject) else {
        throw .foreignIDToken(name)
      }
      if let used = try db.usedIDToken(claim.jwt) {
        guard used.token.job == name, Secrets.equal(used.hash.bytes, claim.secretHash.bytes) else {
          throw .idTokenReplayed
        }
        guard used.token.revokedAt == nil else { throw .tokenEnded(used.token.name) }
        return used.token
      }
      let token = AccessToken(claim, identity, at: now)
      try db.insert(token, claim.secretHash)
      try db.run(
        "INSERT INTO used_id_token (sha256, token_id, expires_at) VALUES (?, ?, ?)", claim.jwt, token.id, end)
      try db.audit(token.trade, by: actor, now: now)
      return token
    }
  }
}

/// How long ID tokens are remembered.
enum TradeLimits {
  /// Milliseconds after its end for which a traded ID token is remembered: more than any leeway with which the end is checked.
  static let leeway: Int64 = 600_000
  /// Rows deleted at a time.
  static let step = 1000
}

extension Database {
  fileprivate func identities() throws(StoreError) -> [JobIdentity] {
    try all(
      """
      SELECT name, issuer, subject, audience, scope, app, channel, bundles, hosts, created_at, removed_at FROM identity
      ORDER BY created_at, id
      """, read: JobIdentity.init)
  }

  fileprivate func identity(_ name: String) throws(StoreError) -> JobIdentity? {
    try first(
      """
      SELECT name, issuer, subject, audience, scope, app, channel, bundles, hosts, created_at, removed_at FROM identity
      WHERE name = ? AND removed_at IS NULL
      """, name, read: JobIdentity.init)
  }

  fileprivate func identityCount() throws(StoreError) -> Int {
    try value(Int.self, "SELECT count(*) FROM identity WHERE removed_at IS NULL") ?? 0
  }

  fileprivate func insert(_ identity: JobIdentity) throws(StoreError) {
    try run(
      """
      INSERT INTO identity (name, issuer, subject, audience, scope, app, channel, bundles, hosts, created_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, identity.name, identity.issuer, identity.subject.text, identity.audience, identity.scope.rawValue,
      identity.app?.text, identity.channel?.text, identity.bundles?.text, Stored.text(of: identity.hosts),
      identity.createdAt)
  }

  /// The tokens of an identity's jobs that weren't revoked; also expired ones, so that what they scheduled ends.
  fileprivate func jobs(of identity: String) throws(StoreError) -> [AccessToken] {
    try tokens(
      all("SELECT id FROM token WHERE kind = 'job' AND identity = ? AND revoked_at IS NULL", identity) {
        $0.get(0, as: String.self)
      })
  }

  fileprivate func usedIDToken(_ jwt: SHA256) throws(StoreError) -> (token: AccessToken, hash: SHA256)? {
    guard let id = try value(String.self, "SELECT token_id FROM used_id_token WHERE sha256 = ?", jwt) else {
      return nil
    }
    return try token(id)
  }

  /// Forgets ID tokens that nobody takes any more.
  func forgetUsedIDTokens(now: Int64) throws(StoreError) {
    try run(
      """
      DELETE FROM used_id_token WHERE sha256 IN (
        SELECT sha256 FROM used_id_token WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
      """, now, TradeLimits.step)
  }
}

extension AccessToken {
  /// The token of a job.
  fileprivate init(_ claim: TradedToken, _ identity: JobIdentity, at now: Int64) {
    let named = claim.run.flatMap { $0.isEmpty ? nil : SignedInIdentity.detail($0) }
    let run = named.map { "run \($0)" } ?? String(claim.secretHash.hex.prefix(6))
    self.init(
      id: TokenText.newID(), name: Self.name("\(identity.name) \(run)"), scope: identity.scope,
      app: identity.app, channel: identity.channel, createdAt: now, lastUsedAt: nil, revokedAt: nil,
      bundles: identity.bundles, expiresAt: claim.expiresAt, hosts: identity.hosts, kind: .job,
      identity: SignedInIdentity(
        issuer: claim.issuer, subject: claim.subject, detail: named),
      job: identity.name)
  }

  /// The audit trail's record of the trade.
  fileprivate var trade: AuditEvent {
    AuditEvent(
      "identity.trade", app: app, channel: channel,
      parameters: [
        "identity": (job).map { .string($0) } ?? .null,
        "issuer": identity.map { .string($0.issuer) } ?? .null,
        "run": (identity?.detail).map { .string($0) } ?? .null,
        "subject": identity.map { .string($0.subject) } ?? .null,
      ],
      result: [
        "expiresAt": expiresAt.map { .string(Timestamp.text($0)) } ?? .null, "id": .string(id),
        "name": .string(name), "scope": .string(scope.rawValue),
      ])
  }
}

extension SignedInIdentity {
  /// The most Unicode scalars of a detail.
  private static let detailLimit = 256

  fileprivate static func detail(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.prefix(detailLimit)))
  }
}

extension JobIdentity {
  /// - Parameter row: the columns that `Database.identities` selects, in its order.
  fileprivate init(_ row: Statement) throws(StoreError) {
    guard let scope = TokenScope(rawValue: row.get(4)) else { throw .corruptRow(row.get(4)) }
    guard let subject = SubjectPattern(row.get(2)) else { throw .corruptRow(row.get(2)) }
    self.init(
      name: row.get(0), issuer: row.get(1), subject: subject, audience: row.get(3), scope: scope,
      app: try row.get(5, as: String?.self).map { (text) throws(StoreError) in try Stored.app(text) },
      channel: try row.get(6, as: String?.self).map { (text) throws(StoreError) in try Stored.channel(text) },
      bundles: try row.get(7, as: String?.self).map { (text) throws(StoreError) in try Stored.bundles(text) },
      hosts: try Stored.hosts(row.get(8)))
    (createdAt, removedAt) = (row.get(9), row.get(10))
  }

  /// The audit trail's record of its being added or removed.
  /// - Parameter revoked: how many tokens were revoked with it.
  fileprivate func act(_ name: String, revoked: Int? = nil) -> AuditEvent {
    var result = JSONObject()
    if let revoked { result["revoked"] = .integer(revoked) }
    return AuditEvent(
      name, app: app, channel: channel,
      parameters: [
        "audience": .string(audience), "bundles": bundles.map { .string($0.text) } ?? .null,
        "hosts": hosts.map { .strings($0.names) } ?? .null, "issuer": .string(issuer),
        "name": .string(self.name), "scope": .string(scope.rawValue), "subject": .string(subject.text),
      ], result: .object(result))
  }
}
