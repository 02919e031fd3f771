import CSQLite
import Manifests
import System
import Values

extension Store {
  /// Creates a token. Its text is returned only here and never stored.
  /// - Throws: `tokenNameTaken` if a token of that name is in use.
  package func createToken(
    name: String, scope: TokenScope, app: AppName? = nil, channel: ChannelName? = nil,
    bundles: BundleGlob? = nil, hosts: HostList? = nil, expiresAt: Int64? = nil, by actor: Actor = .local,
    record: AnswerRecord<AccessToken>? = nil
  ) throws(StoreError) -> (token: AccessToken, text: String) {
    let secret = TokenSecret()
    let token = try createToken(
      name: name, hash: secret.hash, scope: scope, app: app, channel: channel, bundles: bundles,
      hosts: hosts, expiresAt: expiresAt, by: actor, record: record)
    return (token, secret.text(id: token.id))
  }

  /// Creates a token whose secret only its holder knows.
  ///
  /// `hash` is the SHA-256 of the secret's 32 random bytes; `record` keeps the answer for retries.
  /// - Throws: `tokenNameTaken` if a token of that name is in use.
  package func createToken(
    name: String, hash: SHA256, scope: TokenScope, app: AppName? = nil, channel: ChannelName? = nil,
    bundles: BundleGlob? = nil, hosts: HostList? = nil, expiresAt: Int64? = nil, by actor: Actor = .local,
    record: AnswerRecord<AccessToken>? = nil
  ) throws(StoreError) -> AccessToken {
    let now = clock()
    return try connections.transaction(keeping: record, now: now) { (db) throws(StoreError) in
      guard try db.token(named: name) == nil else { throw .tokenNameTaken(name) }
      let token = AccessToken(
        id: TokenText.newID(), name: name, scope: scope, app: app, channel: channel, createdAt: now,
        lastUsedAt: nil, revokedAt: nil, bundles: bundles, expiresAt: expiresAt, hosts: hosts?.limit)
      try db.insert(token, hash)
      try db.audit(token.act, by: actor, now: now)
      return token
    }
  }

  /// All tokens ever created, including revoked ones, and the sessions and jobs that are still listed; oldest first.
  package func tokens() throws(StoreError) -> [AccessToken] {
    try connections.reading { (db) throws(StoreError) in
      try db.tokens()
    }
  }

  /// Revokes a token, a session or a job by its id; by a name a token or, if none in use has it, all sessions of the people of that name,
  /// also those that are over: what they scheduled isn't carried out any more either. With a token, the sessions that were begun with it.
  /// - Returns: what was revoked; the newest of several sessions.
  /// - Throws: `unknownToken` if nothing that could be revoked has that id or name.
  package func revokeToken(
    _ idOrName: String, by actor: Actor = .local, record: AnswerRecord<AccessToken>? = nil
  ) throws(StoreError) -> AccessToken {
    let now = clock()
    return try connections.transaction(keeping: record, now: now, goesFirst: true) {
      (db) throws(StoreError) in
      let tokens = try db.revocable(idOrName)
      guard let last = tokens.last else { throw .unknownToken(idOrName) }
      for token in tokens {
        for session in try db.sessions(begunWith: token, inUseAt: now) {
          try db.revoke(session, now: now)
          try db.audit(session.revocation, by: actor, now: now)
        }
        try db.revokeOver(begunWith: token, now: now)
        try db.revoke(token, now: now)
        try db.audit(token.revocation, by: actor, now: now)
      }
      return last
    }
  }

  /// The token in use that `text` is; nil if there is none. Takes the same time wherever a wrong secret differs.
  package func check(token text: String) throws(StoreError) -> AccessToken? {
    guard let given = TokenText(text) else { return nil }
    let kept = try connections.reading { (db) throws(StoreError) in try db.token(given.id) }
    guard let kept, Secrets.equal(kept.hash.bytes, given.hash.bytes), isInUse(kept.token) else { return nil }
    try noteUse(kept.token)
    return kept.token
  }

  /// Checks again that a token is in use, before what was asked for with it is done. What it allows never changes.
  /// - Throws: `tokenEnded` if it was revoked or, unless it is a session or a job, has expired: a job lasts for minutes, and pushing the
  ///   files of a release, or what it scheduled, may take longer.
  package func checkInUse(_ token: AccessToken) throws(StoreError) {
    let kept = try connections.reading { (db) throws(StoreError) in try db.token(token.id)?.token }
    guard let kept, kept.carriesOutSchedules(at: clock()) else { throw .tokenEnded(token.name) }
  }

  /// Checks that a token can be used at this moment: a session that has ended allows nothing new, though what it scheduled goes on.
  /// - Throws: `tokenEnded` if it was revoked, was ended, or has expired.
  package func checkUsable(_ token: AccessToken) throws(StoreError) {
    let kept = try connections.reading { (db) throws(StoreError) in try db.token(token.id)?.token }
    guard let kept, isInUse(kept) else { throw .tokenEnded(token.name) }
  }

  func isInUse(_ token: AccessToken) -> Bool {
    token.revokedAt == nil && token.expiresAt.map { $0 > clock() } ?? true
  }

  /// Records that a token is used, at most once a minute, because a publish sends its token thousands of times. It
  /// skips this while a release commits, so that no request waits for that.
  private func noteUse(_ token: AccessToken) throws(StoreError) {
    if connections.isWriting { return }
    let now = clock()
    let isDue = tokenUses.withLock { uses in
      guard now - (uses[token.id] ?? token.lastUsedAt ?? .min / 2) >= 60_000 else { return false }
      uses[token.id] = now
      return true
    }
    guard isDue else { return }
    do {
      try connections.writing { (db) throws(StoreError) in
        // None, if the token's row is gone.
        try db.run(
          """
          INSERT INTO token_use (token_id, last_used_at) SELECT id, ? FROM token WHERE id = ?
          ON CONFLICT (token_id) DO UPDATE SET last_used_at = excluded.last_used_at
          """, now, token.id)
      }
    } catch .diskFull {
      // A full disk must not lock out those who come to free space; the use is recorded a minute later.
    }
  }

  /// Writes the first admin token to the data folder if no token exists yet.
  static func makeFirstToken(_ connections: Connections, _ folder: DataFolder, now: Int64) throws(StoreError)
    -> Bool
  {
    try connections.writing { (db) throws(StoreError) in
      guard try db.value(Int64.self, "SELECT EXISTS (SELECT 1 FROM token)") == 0 else { return false }
      let (secret, id) = (TokenSecret(), TokenText.newID())
      // The file first: a token that nobody was told would lock out the owner.
      try StoreError.disk { () throws(SystemError) in
        try DurableFile.write(Array((secret.text(id: id) + "\n").utf8), to: folder.adminToken, mode: 0o600)
      }
      return try db.write { () throws(StoreError) in
        let token = AccessToken(
          id: id, name: "admin", scope: .admin, app: nil, channel: nil, createdAt: now, lastUsedAt: nil,
          revokedAt: nil, bundles: nil, expiresAt: nil, hosts: nil)
        try db.insert(token, secret.hash)
        try db.audit(token.act, by: .local, now: now)
        return true
      }
    }
  }
}

extension Database {
  func insert(_ token: AccessToken, _ hash: SHA256) throws(StoreError) {
    try run(
      """
      INSERT INTO token
        (id, name, hash, scope, app, channel, created_at, bundles, expires_at, hosts, kind, issuer, subject, detail,
         identity, grants)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, token.id, token.name, hash, token.scope.rawValue, token.app?.text, token.channel?.text,
      token.createdAt, token.bundles?.text, token.expiresAt, Stored.text(of: token.hosts),
      token.kind.rawValue, token.identity?.issuer, token.identity?.subject, token.identity?.detail, token.job,
      Grant.text(of: token.more))
  }

  /// All tokens, oldest first.
  fileprivate func tokens() throws(StoreError) -> [AccessToken] {
    try all(
      """
      SELECT id, name, scope, app, channel, created_at, last_used_at, revoked_at, bundles, expires_at, hosts, kind,
        issuer, subject, detail, identity, grants
      FROM token LEFT JOIN token_use ON token_id = id ORDER BY created_at, id
      """, read: AccessToken.init)
  }

  /// The tokens with these ids.
  func tokens(_ ids: [String]) throws(StoreError) -> [AccessToken] {
    var tokens: [AccessToken] = []
    for id in ids { if let token = try token(id)?.token { tokens.append(token) } }
    return tokens
  }

  func token(_ id: String) throws(StoreError) -> (token: AccessToken, hash: SHA256)? {
    try first(
      """
      SELECT id, name, scope, app, channel, created_at, last_used_at, revoked_at, bundles, expires_at, hosts, kind,
        issuer, subject, detail, identity, grants, hash
      FROM token LEFT JOIN token_use ON token_id = id WHERE id = ?
      """, id
    ) { (row) throws(StoreError) in (try AccessToken(row), row.get(17)) }
  }

  fileprivate func token(named name: String) throws(StoreError) -> AccessToken? {
    let id = try value(
      String.self, "SELECT id FROM token WHERE name = ? AND revoked_at IS NULL AND kind = 'token'", name)
    guard let id else { return nil }
    return try token(id)?.token
  }

  /// What is revoked by an id or a name, oldest first.
  fileprivate func revocable(_ idOrName: String) throws(StoreError) -> [AccessToken] {
    if let token = try token(idOrName)?.token, token.revokedAt == nil { return [token] }
    if let token = try token(named: idOrName) { return [token] }
    return try sessions(named: idOrName)
  }

  /// Revokes a token, and ends what it holds.
  func revoke(_ token: AccessToken, now: Int64) throws(StoreError) {
    try run("UPDATE token SET revoked_at = ? WHERE id = ?", now, token.id)
    try deleteLeases(of: token.id)
    try auditCounted(of: token.id, now: now)
  }
}

extension AccessToken {
  /// The audit trail's record of its creation: everything but the secret.
  fileprivate var act: AuditEvent {
    AuditEvent(
      "token.create", app: app, channel: channel,
      parameters: [
        "bundles": bundles.map { .string($0.text) } ?? .null,
        "expiresAt": expiresAt.map { .string(Timestamp.text($0)) } ?? .null,
        "hosts": hosts.map { .strings($0.names) } ?? .null, "name": .string(name),
        "scope": .string(scope.rawValue),
      ], result: ["id": .string(id)])
  }

  /// The audit trail's record of its being revoked.
  fileprivate var revocation: AuditEvent {
    AuditEvent(
      "token.revoke", app: app, channel: channel,
      parameters: ["id": .string(id), "name": .string(name)],
      result: [
        "bundles": bundles.map { .string($0.text) } ?? .null,
        "expiresAt": expiresAt.map { .string(Timestamp.text($0)) } ?? .null,
        "scope": .string(scope.rawValue),
      ])
  }

  /// - Parameter row: the columns that `Database.tokens` selects, in its order.
  init(_ row: Statement) throws(StoreError) {
    guard let scope = TokenScope(rawValue: row.get(2)) else { throw .corruptRow(row.get(2)) }
    guard let kind = Kind(rawValue: row.get(11)) else { throw .corruptRow(row.get(11)) }
    var identity: SignedInIdentity?
    if let issuer = row.get(12, as: String?.self), let subject = row.get(13, as: String?.self) {
      identity = SignedInIdentity(issuer: issuer, subject: subject, detail: row.get(14))
    }
    self.init(
      id: row.get(0), name: row.get(1), scope: scope,
      app: try row.get(3, as: String?.self).map { (text) throws(StoreError) in try Stored.app(text) },
      channel: try row.get(4, as: String?.self).map { (text) throws(StoreError) in try Stored.channel(text) },
      createdAt: row.get(5), lastUsedAt: row.get(6), revokedAt: row.get(7),
      bundles: try row.get(8, as: String?.self).map { (text) throws(StoreError) in try Stored.bundles(text) },
      expiresAt: row.get(9), hosts: try Stored.hosts(row.get(10)), kind: kind, identity: identity,
      job: row.get(15), more: try Stored.grants(row.get(16)))
  }
}
