import Manifests
import System
import Values

// People who signed in. A session is a token with an end, whose grants are worked out anew whenever its holder signs in.
extension Store {
  /// Creates the session of a person who has signed in.
  /// - Parameters:
  ///   - name: the person's name; cut off where it is longer than a token's.
  ///   - hash: the SHA-256 of the 32 random bytes of the session's secret.
  ///   - grants: what the person may do, 1 to `Grant.limit`.
  ///   - identity: who it is, as the provider says.
  ///   - expiresAt: in milliseconds since 1970.
  ///   - actor: the person, and where the request came from.
  /// - Throws: `noGrants`, `tooManyGrants`.
  package func createSession(
    name: String, hash: SHA256, grants: [Grant], identity: SignedInIdentity, expiresAt: Int64,
    by actor: Actor
  ) throws(StoreError) -> AccessToken {
    var known: Set<Grant> = []
    let grants = grants.filter { known.insert($0).inserted }
    guard let first = grants.first else { throw .noGrants }
    guard grants.count <= Grant.limit else { throw .tooManyGrants(grants.count, limit: Grant.limit) }
    return try connections.transaction(keeping: nil, now: clock()) { (db) throws(StoreError) in
      let now = clock()
      let token = AccessToken(
        id: TokenText.newID(), name: AccessToken.name(name), scope: first.scope, app: first.app,
        channel: first.channel, createdAt: now, lastUsedAt: nil, revokedAt: nil, bundles: first.bundles,
        expiresAt: expiresAt, hosts: nil, kind: .session, identity: identity, more: Array(grants.dropFirst()))
      try db.insert(token, hash)
      try db.audit(token.signIn, by: actor, now: now)
      return token
    }
  }

  /// Creates a session of a token: for the console, which then needn't keep the token's text. It may do what the token may, its acts are
  /// the token's, and it ends with it. A token has some sessions at most: one more ends the oldest. A page may begin one each time that it
  /// is opened, so of many on a day the audit trail has a row an hour, and there is a limit.
  /// - Parameters:
  ///   - token: a token that an admin made.
  ///   - hash: the SHA-256 of the 32 random bytes of the session's secret.
  ///   - detail: where it is used, such as `console`.
  ///   - lifetime: milliseconds after which it ends, unless the token ends before.
  ///   - actor: the token, and where the request came from.
  /// - Throws: `tokenEnded` if the token was revoked or has expired; `tooManyActs`.
  package func createSession(
    of token: AccessToken, hash: SHA256, detail: String, lifetime: Int64, by actor: Actor
  ) throws(StoreError) -> AccessToken {
    try connections.transaction(keeping: nil, now: clock()) { (db) throws(StoreError) in
      let now = clock()
      guard let kept = try db.token(token.id)?.token, kept.kind == .token, isInUse(kept) else {
        throw .tokenEnded(token.name)
      }
      let others = try db.sessions(begunWith: kept, inUseAt: now)
      for session in others.dropLast(SessionLimits.ofToken - 1) { try db.end(session, by: actor, now: now) }
      let session = AccessToken(
        id: TokenText.newID(), name: kept.name, scope: kept.scope, app: kept.app, channel: kept.channel,
        createdAt: now, lastUsedAt: nil, revokedAt: nil, bundles: kept.bundles,
        expiresAt: min(now + lifetime, kept.expiresAt ?? .max), hosts: kept.hosts, kind: .session,
        identity: SignedInIdentity(
          issuer: SignedInIdentity.ownIssuer, subject: "token:\(kept.id)", detail: detail))
      try db.insert(session, hash)
      try db.audit(
        repeated: session.signIn, by: .token(kept, address: actor.address), isLimited: true, now: now)
      return session
    }
  }

  /// Ends a session now. Acts that it scheduled are carried out all the same, which they wouldn't be if it were revoked.
  /// Ending one that is over changes nothing.
  package func endSession(_ token: AccessToken, by actor: Actor) throws(StoreError) {
    try connections.transaction(keeping: nil, now: clock(), goesFirst: true) { (db) throws(StoreError) in
      let now = clock()
      guard let kept = try db.token(token.id)?.token, kept.kind == .session, isInUse(kept) else { return }
      try db.end(kept, by: actor, now: now)
    }
  }

  /// The sessions in use of the person whose session `token` is, oldest first; none for other tokens.
  package func sessions(of token: AccessToken) throws(StoreError) -> [AccessToken] {
    guard token.kind == .session, let identity = token.identity else { return [] }
    let all = try connections.reading { (db) throws(StoreError) in
      try db.sessions(of: identity.issuer, identity.subject)
    }
    return all.filter(isInUse)
  }

  /// Deletes sessions and jobs that ended long ago, unless something refers to them, and ID tokens that nobody takes any more.
  /// Some at a time, so that releases needn't wait.
  /// - Returns: how many tokens were deleted.
  @discardableResult
  package func deleteEndedSessions() throws(StoreError) -> Int {
    let now = clock()
    return try connections.writing { (db) throws(StoreError) in
      try db.write { () throws(StoreError) in
        try db.forgetUsedIDTokens(now: now)
        let ids = try db.endedSessions(before: now - SessionLimits.kept)
        for id in ids { try db.deleteToken(id, now: now) }
        return ids.count
      }
    }
  }
}

/// How long what is left of sessions and jobs is kept.
enum SessionLimits {
  /// Milliseconds after its end for which a session or a job is listed: 30 days.
  static let kept: Int64 = 30 * 86_400_000
  /// The sessions of one token in use at once.
  static let ofToken = 50
  /// Rows deleted at a time.
  static let step = 500
}

extension Database {
  /// The sessions of a person that weren't revoked, oldest first.
  fileprivate func sessions(of issuer: String, _ subject: String) throws(StoreError) -> [AccessToken] {
    try tokens(
      all(
        """
        SELECT id FROM token WHERE issuer = ? AND subject = ? AND kind = 'session' AND revoked_at IS NULL
        ORDER BY created_at, id
        """, issuer, subject
      ) { $0.get(0, as: String.self) })
  }

  /// The sessions that weren't revoked of all people of a name, oldest first: also those from when one had another name.
  func sessions(named name: String) throws(StoreError) -> [AccessToken] {
    try tokens(
      all(
        """
        SELECT id FROM token AS t
        WHERE kind = 'session' AND revoked_at IS NULL AND EXISTS (
          SELECT 1 FROM token AS n
          WHERE n.kind = 'session' AND n.name = ? AND n.issuer = t.issuer AND n.subject = t.subject)
        ORDER BY created_at, id
        """, name
      ) { $0.get(0, as: String.self) })
  }

  /// The sessions in use that were begun with a token, oldest first. Those that are over may be thousands.
  func sessions(begunWith token: AccessToken, inUseAt now: Int64) throws(StoreError) -> [AccessToken] {
    guard token.kind == .token else { return [] }
    return try tokens(
      all(
        """
        SELECT id FROM token
        WHERE issuer = ? AND subject = ? AND kind = 'session' AND revoked_at IS NULL AND expires_at > ?
        ORDER BY created_at, id
        """, SignedInIdentity.ownIssuer, "token:\(token.id)", now
      ) { $0.get(0, as: String.self) })
  }

  /// Revokes the sessions that were begun with a token and are over: what one of them asked for may still be carried out.
  func revokeOver(begunWith token: AccessToken, now: Int64) throws(StoreError) {
    guard token.kind == .token else { return }
    try run(
      """
      UPDATE token SET revoked_at = ?3 WHERE issuer = ?1 AND subject = ?2 AND kind = 'session' AND revoked_at IS NULL
      """, SignedInIdentity.ownIssuer, "token:\(token.id)", now)
  }

  fileprivate func end(_ session: AccessToken, by actor: Actor, now: Int64) throws(StoreError) {
    try run("UPDATE token SET expires_at = ? WHERE id = ?", now, session.id)
    try deleteLeases(of: session.id)
    try auditCounted(of: session.id, now: now)
    let event = AuditEvent(
      "session.end", parameters: ["id": .string(session.id), "name": .string(session.name)])
    if session.sourceToken == nil {
      try audit(event, by: actor, now: now)
    } else {
      try audit(repeated: event, by: .token(session, address: actor.address), isLimited: false, now: now)
    }
  }

  /// Ends all sessions and jobs, in a copy of the database that nobody reads.
  func endSessions(now: Int64) throws(StoreError) {
    try run("UPDATE token SET expires_at = ?1 WHERE kind <> 'token' AND expires_at > ?1", now)
  }

  /// The oldest sessions and jobs that ended before a time and to which nothing refers.
  fileprivate func endedSessions(before time: Int64) throws(StoreError) -> [String] {
    try all(
      """
      SELECT id FROM token AS t
      WHERE kind <> 'token' AND expires_at < ?1 AND coalesce(revoked_at, 0) < ?1
        AND NOT EXISTS (SELECT 1 FROM request_key WHERE token_id = t.id)
        AND NOT EXISTS (SELECT 1 FROM used_id_token WHERE token_id = t.id)
        AND NOT EXISTS (SELECT 1 FROM scheduled_act WHERE token_id = t.id)
        AND NOT EXISTS (SELECT 1 FROM approval WHERE token_id = t.id)
        AND NOT EXISTS (SELECT 1 FROM mirror WHERE owner = t.id)
        AND NOT EXISTS (SELECT 1 FROM lease WHERE owner = t.id)
      ORDER BY expires_at LIMIT ?2
      """, time, SessionLimits.step
    ) { $0.get(0, as: String.self) }
  }

  fileprivate func deleteToken(_ id: String, now: Int64) throws(StoreError) {
    try auditCounted(of: id, now: now)
    try run("DELETE FROM act_count WHERE owner = ?", id)
    try run("DELETE FROM token WHERE id = ?", id)
  }
}

extension AccessToken {
  /// The most Unicode scalars of a token's name.
  static let nameLimit = 128

  /// The name of a session or a job: not longer than a token's.
  static func name(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.prefix(nameLimit)))
  }

  /// The audit trail's record of its holder's having signed in.
  fileprivate var signIn: AuditEvent {
    AuditEvent(
      "session.create",
      parameters: [
        "expiresAt": expiresAt.map { .string(Timestamp.text($0)) } ?? .null,
        "grants": .array(grants.map(\.json)), "issuer": identity.map { .string($0.issuer) } ?? .null,
        "name": .string(name), "sort": (identity?.detail).map { .string($0) } ?? .null,
        "subject": identity.map { .string($0.subject) } ?? .null,
      ], result: ["id": .string(id)])
  }
}
