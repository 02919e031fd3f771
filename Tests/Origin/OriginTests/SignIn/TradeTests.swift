import HTTP
import Identity
import Store
import System
import Testing
import Values

@testable import Origin

/// A CI job's ID token for a token of 15 minutes, and the identities that allow it.
@Suite struct TradeTests {
  private let provider = TestProvider()
  private static let audience = "https://xcache.example.com"
  private static let secret = [UInt8](repeating: 7, count: 32)

  private func origin(_ subjects: [String] = ["repo:acme/shop:ref:refs/heads/main"]) throws -> TestOrigin {
    let origin = try TestOrigin.signingIn(provider)
    for (place, subject) in subjects.enumerated() {
      #expect(try origin.api("POST", "identities", Self.identity("ci-\(place)", subject)).status == 201)
    }
    return origin
  }

  private static func identity(_ name: String, _ subject: String) -> JSONValue {
    [
      "app": "shop", "audience": .string(audience), "bundles": "main", "issuer": .string(TestProvider.issuer),
      "name": .string(name), "scope": "publish", "subject": .string(subject),
    ]
  }

  private static let claims: JSONValue = [
    "aud": .string(audience), "run_id": "4711", "sub": "repo:acme/shop:ref:refs/heads/main",
  ]

  private func trade(
    _ idToken: String, _ origin: TestOrigin, secret: [UInt8] = TradeTests.secret, as identity: String? = nil
  ) throws -> TestOrigin.Reply {
    var body: JSONValue = [
      "secretHash": .string(SHA256.of(secret).hex), "token": .string(idToken),
    ]
    if let identity { body = (["identity": .string(identity)] as JSONValue).merging(body) }
    return try origin.ask("POST", "/auth/trade", ["Content-Type: application/json"], body: body.canonical)
  }

  @Test func trades() throws {
    let origin = try origin()
    let reply = try trade(provider.idToken(Self.claims), origin)
    #expect(reply.status == 201 && reply.json["name"] == "ci-0 run 4711")
    #expect(
      reply.json["scope"] == "publish" && reply.json["app"] == "shop" && reply.json["bundles"] == "main")
    let text = "xcache_\(reply.json["id"]?.string ?? "")_\(Base64URL.encode(Self.secret))"
    let info = try origin.api("GET", "token", token: text).json
    #expect(info["kind"] == "job" && info["subject"] == "repo:acme/shop:ref:refs/heads/main")
    #expect(info["detail"] == "4711")
    #expect(try origin.ask("GET", "/metrics").text.contains("xcache_trades_total{outcome=\"ok\"} 1"))
  }

  @Test func anIDTokenIsTradedOnce() throws {
    let origin = try origin()
    let idToken = provider.idToken(Self.claims)
    let first = try trade(idToken, origin)
    // The answer was lost.
    #expect(try trade(idToken, origin).json == first.json)
    let stolen = try trade(idToken, origin, secret: [UInt8](repeating: 8, count: 32))
    #expect(stolen.status == 409 && stolen.json["code"] == "token-replayed")
  }

  @Test func refusals() throws {
    let origin = try origin()
    func code(_ changes: JSONValue, algorithm: String = "EdDSA") throws -> JSONValue? {
      try trade(provider.idToken(changes.merging(Self.claims), algorithm: algorithm), origin).json["code"]
    }
    #expect(try code(["aud": "https://other.example.com"]) == "wrong-audience")
    #expect(try code(["sub": "repo:acme/shop:ref:refs/heads/dev"]) == "no-identity")
    #expect(try code(["exp": 1000]) == "expired")
    #expect(try code(["iss": "https://evil.example.com"]) == "untrusted-issuer")
    #expect(try code([:], algorithm: "none") == "alg")
    #expect(try code([:], algorithm: "HS256") == "alg")
    var forged = Array(provider.idToken(Self.claims))
    forged[forged.count - 10] = forged[forged.count - 10] == "A" ? "B" : "A"
    #expect(try trade(String(forged), origin).json["code"] == "signature")
    #expect(try trade("a.b", origin).json["code"] == "malformed-token")
    #expect(try trade(String(repeating: "a", count: 20_000), origin).json["code"] == "too-long")
    // No issuer but those of identities is asked for anything.
    #expect(provider.state.withLock { $0.asked.allSatisfy { $0.hasPrefix(TestProvider.issuer) } })
    #expect(try origin.store.tokens().allSatisfy { $0.kind == .token })
  }

  @Test func failuresAreSlowedDownAndSuccessesArent() throws {
    let origin = try origin()
    for _ in 0..<12 { _ = try trade("a.b", origin) }
    #expect(try trade("a.b", origin).status == 429)
    #expect(try trade(provider.idToken(Self.claims), origin).status == 201)
  }

  @Test func aJobMayHaveSeveralIdentities() throws {
    let origin = try origin(["repo:acme/shop:ref:refs/heads/main", "repo:acme/shop:ref:refs/heads/*"])
    let idToken = provider.idToken(Self.claims)
    let several = try trade(idToken, origin)
    #expect(several.status == 409 && several.json["identities"] == ["ci-0", "ci-1"])
    #expect(try trade(idToken, origin, as: "other").json["code"] == "no-identity")
    #expect(try trade(idToken, origin, as: "ci-1").json["name"] == "ci-1 run 4711")
  }

  @Test func aProviderThatIsDownIsntTheJobsFault() throws {
    let origin = try origin()
    provider.state.withLock { $0.isDown = true }
    for _ in 0..<15 {
      let reply = try trade(provider.idToken(Self.claims), origin)
      #expect(reply.status == 503 && reply.field("Retry-After") != nil)
    }
  }

  @Test func aRemovedIdentityTradesNothing() throws {
    let origin = try origin()
    let idToken = provider.idToken(Self.claims)
    let id = try trade(idToken, origin).json["id"]?.string ?? ""
    #expect(try origin.api("DELETE", "identities/ci-0").json["name"] == "ci-0")
    let text = "xcache_\(id)_\(Base64URL.encode(Self.secret))"
    #expect(try origin.api("GET", "token", token: text).status == 401)
    #expect(try trade(provider.idToken(Self.claims), origin).json["code"] == "untrusted-issuer")
    let list = try origin.api("GET", "identities").json["identities"]?.array ?? []
    #expect(list.count == 1 && list[0]["removedAt"] != .null)
    #expect(try origin.api("DELETE", "identities/ci-0").status == 404)
  }

  @Test(
    arguments: [
      ["name": "CI"], ["name": ""], ["name": "-a"], ["issuer": "http://id.acme.com"], ["issuer": "x"],
      ["subject": "re*"], ["subject": ""], ["audience": ""], ["scope": "admin"], ["scope": "root"],
      ["bundles": "a b"], ["channel": "beta", "app": .null], ["other": 1],
    ] as [JSONValue])
  func wrongIdentities(_ changes: JSONValue) throws {
    let origin = try TestOrigin.signingIn(provider)
    let body = changes.merging(Self.identity("ci", "repo:acme/shop"))
    #expect(try origin.api("POST", "identities", body).status == 400, "\(changes)")
    #expect(try origin.store.identities().isEmpty)
  }

  /// At services where anybody has jobs, a wildcard in the owner's place would let strangers in.
  @Test(arguments: [
    ("repo:*/*:ref:refs/heads/main", 400), ("repo:*/shop:ref:refs/heads/main", 400),
    ("repo:acme*/shop:ref:refs/heads/main", 400), ("repo*:acme/shop:x", 400),
    ("repo:acme/*:ref:refs/heads/main", 201), ("repo:acme/shop:*", 201),
  ])
  func sharedIssuersNeedAnOwner(_ subject: String, _ status: Int) throws {
    let origin = try TestOrigin.signingIn(provider)
    for issuer in ["https://token.actions.githubusercontent.com", "https://gitlab.com"] {
      let body = (["issuer": .string(issuer)] as JSONValue).merging(Self.identity("ci", subject))
      #expect(try origin.api("POST", "identities", body).status == status, "\(subject)")
      _ = try origin.api("DELETE", "identities/ci")
    }
    // A service of one's own may have any.
    #expect(try origin.api("POST", "identities", Self.identity("own", subject)).status == 201)
  }

  @Test func identitiesAreForUnrestrictedAdmins() throws {
    let origin = try origin()
    let text =
      "xcache_\(try trade(provider.idToken(Self.claims), origin).json["id"]?.string ?? "")"
      + "_\(Base64URL.encode(Self.secret))"
    #expect(try origin.api("GET", "identities", token: text).status == 403)
    #expect(
      try origin.api("POST", "identities", Self.identity("x", "repo:acme/x"), token: text).status == 403)
    #expect(try origin.api("DELETE", "identities/ci-0", token: text).status == 403)
  }
}

extension JSONValue {
  /// The members of both; those of this one first.
  fileprivate func merging(_ other: JSONValue) -> JSONValue {
    var object = other.object ?? JSONObject()
    for member in self.object?.members ?? [] { object[member.key] = member.value }
    return .object(object)
  }
}
