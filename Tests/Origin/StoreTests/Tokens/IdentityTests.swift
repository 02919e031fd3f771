import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// CI jobs that trade the ID tokens of their runs.
@Suite struct IdentityTests {
  let scratch = Scratch()
  let now = Locked<Int64>(1_000_000_000)
  private static let issuer = "https://token.actions.githubusercontent.com"
  private static let subject = "repo:acme/shop:ref:refs/heads/main"

  private func open() throws -> Store {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    return try scratch.open(options)
  }

  private func pass(_ time: Int64) { now.withLock { $0 += time } }

  private func identity(_ name: String = "ci-shop", subject: String = Self.subject) throws -> JobIdentity {
    JobIdentity(
      name: name, issuer: Self.issuer, subject: try #require(SubjectPattern(subject)),
      audience: "https://xcache.acme.com", scope: .publish, app: try AppName("shop"),
      bundles: BundleGlob("main"), hosts: try HostList(["m.example.com"]))
  }

  private func claim(
    _ store: Store, jwt: UInt8 = 1, secret: UInt8 = 1, run: String? = "42", subject: String = Self.subject,
    issuer: String = Self.issuer, lasts: Int64 = 300_000
  ) -> TradedToken {
    TradedToken(
      jwt: SHA256.of([jwt]), secretHash: SHA256.of([secret]), run: run, subject: subject, issuer: issuer,
      jwtExpiresAt: store.now + lasts, expiresAt: store.now + 900_000)
  }

  private let job = Actor(name: "ci-shop", address: "192.0.2.7")

  @Test func jobGetsWhatItsIdentityAllows() throws {
    let store = try open()
    let added = try store.addIdentity(identity(), by: .local)
    #expect(added.createdAt == store.now && added.removedAt == nil)
    #expect(try store.identities() == [added])
    let secret = TokenSecret()
    let claim = TradedToken(
      jwt: SHA256.of([1]), secretHash: secret.hash, run: "42", subject: Self.subject, issuer: Self.issuer,
      jwtExpiresAt: store.now + 300_000, expiresAt: store.now + 900_000)
    let token = try store.trade(claim, for: "ci-shop", by: job)
    #expect(token.name == "ci-shop run 42" && token.kind == .job && token.authorKey == "job:ci-shop")
    let kept = try #require(try store.check(token: secret.text(id: token.id)))
    #expect(kept.grants == [Grant(.publish, app: added.app, bundles: added.bundles)])
    #expect(kept.hosts == added.hosts && kept.job == "ci-shop")
    #expect(
      kept.identity == SignedInIdentity(issuer: Self.issuer, subject: Self.subject, detail: "42"))
    pass(900_000)
    #expect(try store.check(token: secret.text(id: token.id)) == nil)
    #expect(try store.tokenInUse(id: token.id) != nil)
    let row = try #require(try store.auditLog(limit: 1).first)
    #expect(row.act == "identity.trade" && row.author == "ci-shop")
    for word in [Self.issuer, Self.subject, "42"] { #expect("\(row.parameters)".contains(word)) }
    #expect("\(row.result)".contains(token.id))
  }

  @Test func jobWithoutARunIsNamedByItsSecretsHash() throws {
    let store = try open()
    _ = try store.addIdentity(identity(), by: .local)
    let token = try store.trade(claim(store, run: nil), for: "ci-shop", by: job)
    #expect(token.name == "ci-shop \(SHA256.of([1]).hex.prefix(6))" && token.identity?.detail == nil)
    #expect(try store.trade(claim(store, jwt: 2, run: ""), for: "ci-shop", by: job).identity?.detail == nil)
  }

  @Test func idTokenIsTradedOnce() throws {
    let store = try open()
    _ = try store.addIdentity(identity(), by: .local)
    let first = claim(store)
    let token = try store.trade(first, for: "ci-shop", by: job)
    // The answer was lost.
    #expect(try store.trade(first, for: "ci-shop", by: job) == token)
    #expect(try store.tokens().filter { $0.kind == .job }.count == 1)
    func isReplayed(_ claim: TradedToken, for name: String = "ci-shop") {
      #expect {
        try store.trade(claim, for: name, by: job)
      } throws: {
        if case StoreError.idTokenReplayed = $0 { true } else { false }
      }
    }
    isReplayed(claim(store, secret: 2))
    // For another identity's rights, either.
    _ = try store.addIdentity(identity("ci-other"), by: .local)
    isReplayed(claim(store), for: "ci-other")
    // It may be taken for valid a little longer than it is, and is remembered for longer than that.
    pass(300_000 + TradeLimits.leeway - 1)
    try store.deleteEndedSessions()
    isReplayed(claim(store, secret: 2, lasts: -TradeLimits.leeway + 1))
    pass(1)
    try store.deleteEndedSessions()
    for secret: UInt8 in [1, 2] {
      #expect {
        try store.trade(claim(store, secret: secret, lasts: -TradeLimits.leeway), for: "ci-shop", by: job)
      } throws: {
        if case StoreError.idTokenExpired = $0 { true } else { false }
      }
    }
    #expect {
      try store.trade(
        TradedToken(
          jwt: SHA256.of([9]), secretHash: SHA256.of([9]), run: nil, subject: Self.subject,
          issuer: Self.issuer, jwtExpiresAt: .max, expiresAt: store.now), for: "ci-shop", by: job)
    } throws: {
      if case StoreError.idTokenExpired = $0 { true } else { false }
    }
  }

  /// Of many who send one ID token at once, each with a secret of its own, one gets a token.
  @Test func tradesAtOnce() throws {
    let store = try open()
    _ = try store.addIdentity(identity(), by: .local)
    let outcomes = Locked<[String]>([])
    var threads: [OSThread] = []
    for secret: UInt8 in 1...8 {
      let claim = claim(store, secret: secret)
      threads.append(
        try OSThread(name: "job") { [job] in
          do throws(StoreError) {
            _ = try store.trade(claim, for: "ci-shop", by: job)
            outcomes.withLock { $0.append("traded") }
          } catch {
            outcomes.withLock { outcomes in
              if case .idTokenReplayed = error {
                outcomes.append("replayed")
              } else {
                outcomes.append("\(error)")
              }
            }
          }
        })
    }
    for thread in threads { thread.join() }
    let counted = outcomes.withLock { $0.sorted() }
    #expect(counted == Array(repeating: "replayed", count: 7) + ["traded"])
  }

  @Test func idTokensOfOthersAreRefused() throws {
    let store = try open()
    _ = try store.addIdentity(identity(), by: .local)
    for foreign in [
      claim(store, subject: "repo:acme/shop:ref:refs/heads/other"),
      claim(store, issuer: "https://evil.example"),
    ] {
      #expect {
        try store.trade(foreign, for: "ci-shop", by: job)
      } throws: {
        if case StoreError.foreignIDToken("ci-shop") = $0 { true } else { false }
      }
    }
    #expect {
      try store.trade(claim(store), for: "nobody", by: job)
    } throws: {
      if case StoreError.unknownIdentity("nobody") = $0 { true } else { false }
    }
    #expect(try store.tokens().allSatisfy { $0.kind == .token })
  }

  @Test func removedIdentityEndsItsJobs() throws {
    let store = try open()
    for name in ["ci-shop", "ci-other"] { _ = try store.addIdentity(identity(name), by: .local) }
    let token = try store.trade(claim(store), for: "ci-shop", by: job)
    let other = try store.trade(claim(store, jwt: 2), for: "ci-other", by: job)
    pass(1000)
    let removed = try store.removeIdentity("ci-shop", by: .local)
    #expect(removed.removedAt == store.now)
    #expect(try store.tokenInUse(id: token.id) == nil)
    #expect(try store.tokenInUse(id: other.id) != nil)
    for _ in 1...2 {
      #expect {
        try store.trade(claim(store, jwt: 3), for: "ci-shop", by: job)
      } throws: {
        if case StoreError.unknownIdentity("ci-shop") = $0 { true } else { false }
      }
    }
    #expect(throws: StoreError.self) { try store.removeIdentity("ci-shop", by: .local) }
    // A new one of that name is another one. What was traded before stays so.
    _ = try store.addIdentity(identity(), by: .local)
    #expect {
      try store.trade(claim(store), for: "ci-shop", by: job)
    } throws: {
      if case StoreError.tokenEnded = $0 { true } else { false }
    }
    #expect(try store.identities().map(\.name).sorted() == ["ci-other", "ci-shop", "ci-shop"])
    #expect(try store.auditLog().filter { $0.act == "identity.remove" }.count == 1)
  }

  @Test func namesOfIdentitiesAreUnique() throws {
    let store = try open()
    _ = try store.addIdentity(identity(), by: .local)
    #expect {
      try store.addIdentity(identity(), by: .local)
    } throws: {
      if case StoreError.identityNameTaken("ci-shop") = $0 { true } else { false }
    }
  }

  @Test func jobIsNeverAdmin() throws {
    let store = try open()
    let wanted = JobIdentity(
      name: "root", issuer: Self.issuer, subject: try #require(SubjectPattern(Self.subject)),
      audience: "x", scope: .admin)
    _ = try store.addIdentity(wanted, by: .local)
    let token = try store.trade(claim(store), for: "root", by: job)
    #expect(token.scope == .publish && !token.isUnrestrictedAdmin)
  }

  @Test(
    arguments: [
      ("repo:acme/shop:ref:refs/heads/main", "repo:acme/shop:ref:refs/heads/main", true),
      ("repo:acme/shop:ref:refs/heads/main", "repo:acme/shop:ref:refs/heads/main2", false),
      ("repo:acme/shop:ref:refs/heads/*", "repo:acme/shop:ref:refs/heads/main", true),
      ("repo:acme/shop:ref:refs/heads/*", "repo:acme/shop:ref:refs/heads/a/b", false),
      ("repo:acme/shop:*", "repo:acme/shop:pull_request", true),
      ("repo:acme/shop:*", "repo:acme/shop:ref:refs/heads/main", false),
      ("repo:acme/*:ref:refs/heads/main", "repo:acme/shop:ref:refs/heads/main", true),
      ("repo:acme/*:ref:refs/heads/main", "repo:acme/a/b:ref:refs/heads/main", false),
      ("repo:acme/*:ref:refs/heads/main", "repo:acme/x:ref:refs/heads/evil:ref:refs/heads/main", false),
      ("repo:acme/s*p-*x:r", "repo:acme/sp-p-xx:r", true), ("repo:acme/?:r", "repo:acme/a:r", false),
      ("project_path:acme/shop:*", "project_path:acme/shop:", true), ("abcd*", "abcd", true),
      ("abcd*", "ABCD", false),
    ] as [(String, String, Bool)])
  func subjects(pattern: String, subject: String, matches: Bool) throws {
    #expect(try #require(SubjectPattern(pattern)).matches(subject) == matches)
  }

  @Test(arguments: ["", "*", "abc*", "a b", "abcd\n", String(repeating: "a", count: 1025)])
  func badPatterns(pattern: String) { #expect(SubjectPattern(pattern) == nil) }

  @Test func longSubjectsMatchNothing() throws {
    let pattern = try #require(SubjectPattern("abcd*"))
    #expect(pattern.matches("abcd" + String(repeating: "e", count: 1020)))
    #expect(!pattern.matches("abcd" + String(repeating: "e", count: 1021)))
  }
}
