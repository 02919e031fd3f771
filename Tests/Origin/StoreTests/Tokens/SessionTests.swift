import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// People who signed in: what their sessions are worth, and for how long.
@Suite struct SessionTests {
  let scratch = Scratch()
  let now = Locked<Int64>(1_000_000_000)
  private static let hour: Int64 = 3_600_000
  private static let day: Int64 = 24 * hour

  private func open() throws -> Store {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    return try scratch.open(options)
  }

  private func pass(_ time: Int64) { now.withLock { $0 += time } }

  private func signIn(
    _ store: Store, _ subject: String = "7", name: String = "Ana", issuer: String = "https://id.acme.com"
  ) throws -> (token: AccessToken, text: String) {
    let secret = TokenSecret()
    let token = try store.createSession(
      name: name, hash: secret.hash, grants: [Grant(.publish)],
      identity: SignedInIdentity(issuer: issuer, subject: subject, detail: "console"),
      expiresAt: store.now + 12 * Self.hour, by: Actor(name: name, address: "192.0.2.1"))
    return (token, secret.text(id: token.id))
  }

  @Test func sessionLastsUntilItsEnd() throws {
    let store = try open()
    let (token, text) = try signIn(store)
    pass(12 * Self.hour - 1)
    #expect(try store.check(token: text)?.id == token.id)
    pass(1)
    #expect(try store.check(token: text) == nil)
  }

  /// Whoever signs out, or whose session runs out, still has scheduled what they did; whoever is thrown out hasn't.
  @Test func endedAndRevokedSessions() throws {
    let store = try open()
    let (token, text) = try signIn(store)
    try store.endSession(token, by: .local)
    #expect(try store.check(token: text) == nil)
    #expect(try store.tokenInUse(id: token.id)?.id == token.id)
    #expect(throws: Never.self) { try store.checkInUse(token) }
    // Again: nothing happens.
    let acts = try store.auditLog().count
    try store.endSession(token, by: .local)
    #expect(try store.auditLog().count == acts)
    pass(Self.day)
    #expect(try store.tokenInUse(id: token.id) != nil)
    #expect(try store.revokeToken(token.id).id == token.id)
    #expect(try store.tokenInUse(id: token.id) == nil)
    #expect {
      try store.checkInUse(token)
    } throws: {
      if case StoreError.tokenEnded("Ana") = $0 { true } else { false }
    }
  }

  /// Of a token that an admin made, nothing outlives the end.
  @Test func expiredTokenSchedulesNothing() throws {
    let store = try open()
    let token = try store.createToken(name: "ci", scope: .publish, expiresAt: store.now + 1000).token
    #expect(try store.tokenInUse(id: token.id) != nil)
    pass(1000)
    #expect(try store.tokenInUse(id: token.id) == nil)
    #expect(throws: StoreError.self) { try store.checkInUse(token) }
    try store.endSession(token, by: .local)
    #expect(try store.tokens().first { $0.id == token.id }?.expiresAt == token.expiresAt)
  }

  @Test func nameRevokesAllSessionsOfAPerson() throws {
    let store = try open()
    let old = try signIn(store, name: "Ana Old").token
    pass(1)
    let first = try signIn(store)
    pass(1)
    let (second, other) = (try signIn(store), try signIn(store, "8", name: "Bob"))
    let elsewhere = try signIn(store, "7", name: "Bob", issuer: "https://other.example")
    #expect(try store.sessions(of: first.token).map(\.id) == [old.id, first.token.id, second.token.id])
    #expect(try store.revokeToken("Ana").id == second.token.id)
    for text in [first.text, second.text] { #expect(try store.check(token: text) == nil) }
    #expect(try store.tokenInUse(id: old.id) == nil)
    // The same subject of another provider is another person.
    for text in [other.text, elsewhere.text] { #expect(try store.check(token: text) != nil) }
    #expect {
      try store.revokeToken("Ana")
    } throws: {
      if case StoreError.unknownToken("Ana") = $0 { true } else { false }
    }
    // Both have this name.
    _ = try store.revokeToken("Bob")
    for text in [other.text, elsewhere.text] { #expect(try store.check(token: text) == nil) }
    #expect(try store.auditLog().filter { $0.act == "token.revoke" }.count == 5)
  }

  /// A session can neither take the name of a token, nor be revoked in its stead.
  @Test func namesOfSessionsArentThoseOfTokens() throws {
    let store = try open()
    let (session, text) = try signIn(store, name: "ci")
    let ci = try store.createToken(name: "ci", scope: .read)
    _ = try signIn(store, name: "ci")
    #expect(throws: StoreError.self) { try store.createToken(name: "ci", scope: .read) }
    #expect(try store.revokeToken("ci").id == ci.token.id)
    #expect(try store.check(token: text)?.id == session.id)
    _ = try store.revokeToken("ci")
    #expect(try store.check(token: text) == nil)
  }

  @Test func longNamesAreCutOff() throws {
    let store = try open()
    let token = try signIn(store, name: String(repeating: "é", count: 500)).token
    #expect(token.name == String(repeating: "é", count: 128))
    #expect(try store.tokens().contains { $0.name == token.name })
  }

  @Test func ownSessionsAreThoseInUse() throws {
    let store = try open()
    let (first, second) = (try signIn(store).token, try signIn(store).token)
    _ = try signIn(store, "8")
    try store.endSession(first, by: .local)
    #expect(try store.sessions(of: second).map(\.id) == [second.id])
    let token = try store.createToken(name: "ci", scope: .admin).token
    #expect(try store.sessions(of: token).isEmpty)
  }

  @Test func oldSessionsAreDeletedUnlessSomethingRefersToThem() throws {
    let store = try open()
    let (plain, held) = (try signIn(store).token, try signIn(store, "8").token)
    let token = try store.createToken(name: "ci", scope: .read, expiresAt: store.now + 1000).token
    try store.connections.writing { (db) throws(StoreError) in
      try db.run(
        "INSERT INTO mirror (name, at, owner) VALUES ('m', 1, ?)", held.id)
    }
    pass(12 * Self.hour + SessionLimits.kept)
    #expect(try store.deleteEndedSessions() == 0)
    pass(1)
    #expect(try store.deleteEndedSessions() == 1)
    #expect(Set(try store.tokens().map(\.id)).isSuperset(of: [held.id, token.id]))
    #expect(try !store.tokens().contains { $0.id == plain.id })
    // One that was revoked late is listed for as long.
    let revoked = try signIn(store, "9").token
    pass(SessionLimits.kept)
    _ = try store.revokeToken(revoked.id)
    pass(Self.day)
    #expect(try store.deleteEndedSessions() == 0)
    pass(SessionLimits.kept)
    #expect(try store.deleteEndedSessions() == 1)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test func trailHasSignInsAndNoSecrets() throws {
    let store = try open()
    let (token, text) = try signIn(store)
    try store.endSession(token, by: Actor(name: "Ana", address: "192.0.2.1"))
    let rows = try store.auditLog(limit: 2)
    #expect(rows.map(\.act) == ["session.end", "session.create"] && rows.allSatisfy { $0.author == "Ana" })
    let created = "\(rows[1].parameters)"
    for word in ["https://id.acme.com", "console", "publish"] { #expect(created.contains(word)) }
    #expect(!created.contains(String(text.suffix(20))))
  }

  /// What was revoked since the backup must not come back with it.
  @Test func restoreEndsSessions() throws {
    let restored: Store
    let (session, token): ((token: AccessToken, text: String), (token: AccessToken, text: String))
    do {
      now.withLock { $0 = Clock.unixMilliseconds() }
      let store = try open()
      session = try signIn(store)
      token = try store.createToken(name: "ci", scope: .read)
      _ = try store.backUp(to: scratch.path + "/backup")
      _ = try store.revokeToken("Ana")
      _ = try Restore.restore(backup: scratch.path + "/backup", to: scratch.path + "/restored")
      restored = try Store(path: scratch.path + "/restored")
    }
    #expect(try restored.check(token: session.text) == nil)
    #expect(try restored.check(token: token.text)?.id == token.token.id)
  }
}
