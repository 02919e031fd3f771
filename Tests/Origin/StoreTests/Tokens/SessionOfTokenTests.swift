import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// Sessions that were begun with a token: they are the token's in all that counts.
@Suite struct SessionOfTokenTests {
  private let scratch = Scratch()
  private let now = Locked<Int64>(1_000_000_000)
  private static let hour: Int64 = 3_600_000

  private func open() throws -> Store {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    return try scratch.open(options)
  }

  private func begin(_ store: Store, _ token: AccessToken) throws -> (session: AccessToken, text: String) {
    let secret = TokenSecret()
    let session = try store.createSession(
      of: token, hash: secret.hash, detail: "console", lifetime: 12 * Self.hour,
      by: Actor(name: token.name, address: "192.0.2.1"))
    return (session, secret.text(id: session.id))
  }

  @Test func mayWhatTheTokenMay() throws {
    let store = try open()
    let glob = try #require(BundleGlob("main*"))
    let token = try store.createToken(
      name: "ci", scope: .publish, app: AppName("shop"), channel: .online, bundles: glob,
      hosts: HostList(["m.example.com"]))
    let (session, text) = try begin(store, token.token)
    let kept = try #require(try store.check(token: text))
    #expect(kept.kind == .session && kept.grants == token.token.grants && kept.hosts == token.token.hosts)
    #expect(
      kept.name == "ci" && kept.authorKey == token.token.authorKey && kept.sourceToken == token.token.id)
    #expect(!kept.isUnlimited && session.id != token.token.id)
    #expect(try store.sessions(of: kept).map(\.id) == [session.id])
    // No provider's session is anybody's token.
    let person = try store.createSession(
      name: "Ana", hash: SHA256.of([1]), grants: [Grant(.read)],
      identity: SignedInIdentity(issuer: "https://xcache", subject: "token:\(token.token.id)"),
      expiresAt: 2_000_000_000_000, by: .local)
    #expect(person.sourceToken == nil && person.authorKey != token.token.authorKey)
  }

  @Test func endsWithTheToken() throws {
    let store = try open()
    let short = try store.createToken(
      name: "short", scope: .read, expiresAt: now.withLock { $0 } + Self.hour
    ).token
    #expect(try begin(store, short).session.expiresAt == short.expiresAt)
    let token = try store.createToken(name: "long", scope: .read).token
    let (session, text) = try begin(store, token)
    #expect(session.expiresAt == now.withLock { $0 } + 12 * Self.hour)
    #expect(try store.revokeToken("long").id == token.id)
    #expect(try store.check(token: text) == nil && store.tokenInUse(id: session.id) == nil)
    #expect(throws: StoreError.self) { _ = try begin(store, token) }
    now.withLock { $0 += Self.hour }
    #expect(throws: StoreError.self) { _ = try begin(store, short) }
    let rest = try store.tokens().filter { $0.kind == .session && $0.name == "long" }
    #expect(rest.count == 1 && rest.allSatisfy { $0.revokedAt != nil })
  }

  /// A mirror that the token registered may be forgotten in its session, and one that the session registered is the token's.
  @Test func mirrorsAreTheTokens() throws {
    let store = try open()
    let token = try store.createToken(name: "mirror", scope: .read).token
    let other = try store.createToken(name: "other", scope: .read).token
    let session = Holder.token(try begin(store, token).session, address: "192.0.2.1")
    let stranger = Holder.token(try begin(store, other).session, address: "192.0.2.1")
    try store.register(mirror: "s3://one", [], by: .token(token, address: "192.0.2.1"))
    try store.register(mirror: "s3://two", [], by: session)
    #expect(try store.mirrors(for: session).map(\.isForgettable) == [true, true])
    #expect(try store.mirrors(for: session).map(\.owner) == [token.id, token.id])
    #expect(try store.mirrors(for: stranger).map(\.isForgettable) == [false, false])
    #expect(throws: StoreError.self) { try store.forget(mirror: "s3://one", by: stranger) }
    try store.forget(mirror: "s3://one", by: session)
    #expect(try store.mirrors().map(\.name) == ["s3://two"])
  }

  /// Revoking one session leaves the token and its others.
  @Test func oneSessionIsRevokedAlone() throws {
    let store = try open()
    let (token, tokenText) = try store.createToken(name: "ci", scope: .read)
    let (one, two) = (try begin(store, token), try begin(store, token))
    #expect(try store.revokeToken(one.session.id).id == one.session.id)
    #expect(try store.check(token: one.text) == nil)
    #expect(try store.check(token: two.text) != nil && store.check(token: tokenText) != nil)
  }

  @Test func oneMoreThanTheLimitEndsTheOldest() throws {
    let store = try open()
    let token = try store.createToken(name: "ci", scope: .read).token
    var texts: [String] = []
    for _ in 0...SessionLimits.ofToken {
      texts.append(try begin(store, token).text)
      now.withLock { $0 += 1000 }
    }
    #expect(try store.check(token: texts[0]) == nil)
    #expect(try store.check(token: texts[1]) != nil && store.check(token: texts[texts.count - 1]) != nil)
    #expect(try store.auditLog(limit: 200).count { $0.act == "session.end" } == 1)
  }

  /// Whoever may only read must not fill the audit trail, nor make each further session slower.
  @Test func manySessionsAreFewRowsAndEndSomeDay() throws {
    let store = try open()
    let token = try store.createToken(name: "ci", scope: .read).token
    for _ in 0..<ActTally.daily { _ = try begin(store, token) }
    do {
      _ = try begin(store, token)
      Issue.record("there is no limit")
    } catch let error as StoreError {
      guard case .tooManyActs("session.create", _) = error else { throw error }
    }
    let rows = try store.auditLog(limit: 500)
    #expect(rows.count { $0.act == "session.create" } == ActTally.withRow)
    #expect(rows.count { $0.act == "session.end" } == ActTally.withRow)
    let inUse = try store.tokens().filter { $0.kind == .session && store.isInUse($0) }
    #expect(inUse.count == SessionLimits.ofToken)
    // With the token all are revoked, and those that were over are no acts of their own.
    _ = try store.revokeToken("ci")
    #expect(try store.tokens().allSatisfy { $0.kind == .token || $0.revokedAt != nil })
    #expect(try store.auditLog(limit: 500).count { $0.act == "token.revoke" } == 1 + SessionLimits.ofToken)
    let other = try store.createToken(name: "other", scope: .read).token
    _ = try begin(store, other)
  }

  @Test func sessionsBeginNone() throws {
    let store = try open()
    let token = try store.createToken(name: "ci", scope: .read).token
    let session = try begin(store, token).session
    #expect(throws: StoreError.self) { _ = try begin(store, session) }
  }
}
