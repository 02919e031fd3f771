import HTTP
import Identity
import Store
import System
import Testing
import Values

@testable import Origin

/// A command line is signed in by someone at the console: with a code that people compare, or through a redirect to 127.0.0.1.
@Suite struct DeviceSignInTests {
  private let provider = TestProvider()

  private func post(_ path: String, _ body: JSONValue, _ origin: TestOrigin) throws -> TestOrigin.Reply {
    try origin.ask("POST", path, ["Content-Type: application/json"], body: body.canonical)
  }

  private static let verifier = String(repeating: "v", count: 43)
  private static let loopback: JSONValue = [
    "challenge": .string(SignInSecrets.challenge(of: verifier)), "port": 50_000,
    "state": "0123456789abcdef",
  ]

  @Test func aPersonAllowsIt() throws {
    let origin = try TestOrigin.signingIn(provider)
    let browser = try origin.signedIn(provider)
    let begun = try post("/auth/device", [:], origin).json
    let code = try #require(begun["userCode"]?.string)
    let device: JSONValue = ["deviceCode": begun["deviceCode"] ?? .null]
    #expect(begun["verifyURL"]?.string == "https://xcache.example.com/console/#/signin/\(code)")
    #expect(begun["interval"] == 5 && begun["expiresIn"] == 600)
    #expect(try post("/auth/token", device, origin).json["code"] == "authorization-pending")
    #expect(try post("/auth/token", device, origin).json["code"] == "slow-down")

    let shown = try browser.call("GET", "signins/\(code.lowercased())", nil, origin)
    #expect(shown.json["kind"] == "device" && shown.json["userCode"] == .string(code))
    for _ in 0..<2 {
      let decided = try browser.call("POST", "signins/\(code)", ["allow": true], origin)
      #expect(decided.status == 200 && decided.json == ["redirect": .null])
    }
    #expect(try browser.call("POST", "signins/\(code)", ["allow": false], origin).status == 404)
    let given = try post("/auth/token", device, origin)
    #expect(given.status == 200 && given.json["name"] == "ana@acme.com" && given.json["scope"] == "release")
    let token = given.json["token"]?.string ?? ""
    let info = try origin.api("GET", "token", token: token).json
    #expect(info["kind"] == "session" && info["detail"] == "cli" && info["app"] == "shop")
    #expect(info["expiresAt"] == (try browser.call("GET", "token", nil, origin).json["expiresAt"]))
    // It doesn't beget others.
    let another = try post("/auth/device", [:], origin).json["userCode"]?.string ?? ""
    #expect(try origin.api("POST", "signins/\(another)", ["allow": true], token: token).status == 403)
    // Once only.
    let again = try post("/auth/token", device, origin)
    #expect(again.status == 400 && again.json["code"] == "expired-token")
  }

  @Test func aPersonSaysNo() throws {
    let origin = try TestOrigin.signingIn(provider)
    let browser = try origin.signedIn(provider)
    let begun = try post("/auth/device", [:], origin).json
    let code = begun["userCode"]?.string ?? ""
    #expect(try browser.call("POST", "signins/\(code)", ["allow": false], origin).status == 200)
    let device: JSONValue = ["deviceCode": begun["deviceCode"] ?? .null]
    #expect(try post("/auth/token", device, origin).json["code"] == "access-denied")
    #expect(try post("/auth/token", device, origin).json["code"] == "expired-token")
  }

  @Test func onlyPeopleDecide() throws {
    let origin = try TestOrigin.signingIn(provider)
    let code = try post("/auth/device", [:], origin).json["userCode"]?.string ?? ""
    #expect(try origin.api("GET", "signins/\(code)").status == 403)
    #expect(try origin.api("POST", "signins/\(code)", ["allow": true]).status == 403)
    let browser = try origin.signedIn(provider)
    #expect(try browser.call("GET", "signins/\(code)", nil, origin).status == 200)
    #expect(try browser.call("GET", "signins/BBBB-BBBB", nil, origin).status == 404)
    #expect(try browser.call("GET", "signins/x", nil, origin).status == 400)
    #expect(try browser.call("POST", "signins/\(code)", [:], origin).status == 400)
  }

  /// Revoked, or ended by the person, between the decision and the command line's question.
  @Test(arguments: [true, false]) func anEndedSessionGivesNothing(_ isRevoked: Bool) throws {
    let origin = try TestOrigin.signingIn(provider)
    let browser = try origin.signedIn(provider)
    let begun = try post("/auth/device", [:], origin).json
    let code = begun["userCode"]?.string ?? ""
    _ = try browser.call("POST", "signins/\(code)", ["allow": true], origin)
    if isRevoked {
      #expect(try origin.api("DELETE", "tokens/ana@acme.com").status == 200)
    } else {
      let out = try origin.ask("POST", "/auth/logout", [browser.cookie, "Xcache-Console: 1"])
      #expect(out.status == 204)
    }
    let refused = try post("/auth/token", ["deviceCode": begun["deviceCode"] ?? .null], origin)
    #expect(refused.status == 400 && refused.json["code"] == "access-denied")
    let now = origin.store.now
    let live = try origin.store.tokens().filter { token in
      token.kind == .session && token.revokedAt == nil && token.expiresAt.map { $0 > now } ?? true
    }
    #expect(live.isEmpty)
  }

  // MARK: - 127.0.0.1

  @Test func theBrowserComesBackToTheCommandLine() throws {
    let origin = try TestOrigin.signingIn(provider)
    let browser = try origin.signedIn(provider)
    let begun = try post("/auth/device", Self.loopback, origin).json
    #expect(begun["deviceCode"] == .null)
    let code = begun["userCode"]?.string ?? ""
    #expect(try browser.call("GET", "signins/\(code)", nil, origin).json["kind"] == "loopback")
    let decided = try browser.call("POST", "signins/\(code)", ["allow": true], origin).json
    #expect(decided == (try browser.call("POST", "signins/\(code)", ["allow": true], origin).json))
    let redirect = decided["redirect"]?.string ?? ""
    #expect(redirect.hasPrefix("http://127.0.0.1:50000/?code="))
    let query = TestProvider.query(redirect)
    #expect(query["state"] == "0123456789abcdef")
    let secret = JSONValue.string(query["code"] ?? "")
    // The code isn't a device code: whoever has only that gets nothing.
    #expect(try post("/auth/token", ["deviceCode": secret], origin).json["code"] == "expired-token")
    let given = try post("/auth/token", ["code": secret, "verifier": .string(Self.verifier)], origin)
    #expect(given.status == 200)
    #expect(
      try post("/auth/token", ["code": secret, "verifier": .string(Self.verifier)], origin).json["code"]
        == "expired-token")
  }

  @Test func anotherVerifierEndsTheCode() throws {
    let origin = try TestOrigin.signingIn(provider)
    let browser = try origin.signedIn(provider)
    let code = try post("/auth/device", Self.loopback, origin).json["userCode"]?.string ?? ""
    let decided = try browser.call("POST", "signins/\(code)", ["allow": true], origin).json
    let secret = JSONValue.string(TestProvider.query(decided["redirect"]?.string ?? "")["code"] ?? "")
    for verifier in [String(repeating: "w", count: 43), Self.verifier] {
      let reply = try post("/auth/token", ["code": secret, "verifier": .string(verifier)], origin)
      #expect(reply.status == 400 && reply.json["code"] == "expired-token")
    }
  }

  @Test func noTakesTheBrowserBack() throws {
    let origin = try TestOrigin.signingIn(provider)
    let browser = try origin.signedIn(provider)
    let code = try post("/auth/device", Self.loopback, origin).json["userCode"]?.string ?? ""
    let decided = try browser.call("POST", "signins/\(code)", ["allow": false], origin).json
    #expect(
      decided["redirect"] == "http://127.0.0.1:50000/?error=access_denied&state=0123456789abcdef")
  }

  @Test(
    arguments: [
      ["port": 50_000], ["challenge": "x", "port": 1, "state": "0123456789abcdef"],
      ["port": 0, "challenge": .string(SignInSecrets.challenge(of: verifier)), "state": "0123456789abcdef"],
      [
        "port": 65_536, "challenge": .string(SignInSecrets.challenge(of: verifier)),
        "state": "0123456789abcdef",
      ],
      ["port": 1, "challenge": .string(SignInSecrets.challenge(of: verifier)), "state": "short"],
      [
        "port": 1, "challenge": .string(SignInSecrets.challenge(of: verifier)),
        "state": "0123456789abcde&x=1",
      ],
    ] as [JSONValue])
  func wrongLoopbacks(_ body: JSONValue) throws {
    #expect(try post("/auth/device", body, try TestOrigin.signingIn(provider)).status == 400)
  }

  @Test func wrongCodesAreSlowedDown() throws {
    let origin = try TestOrigin.signingIn(provider)
    for _ in 0..<10 {
      #expect(try post("/auth/token", ["deviceCode": "x"], origin).json["code"] == "expired-token")
    }
    _ = try post("/auth/token", ["deviceCode": "x"], origin)
    let slowed = try post("/auth/token", ["deviceCode": "x"], origin)
    #expect(slowed.status == 429 && slowed.field("Retry-After") != nil)
  }
}

/// The table by itself, with a clock of the test.
@Suite struct PendingSignInsTests {
  /// Any token: the table only tells them apart.
  private let session: AccessToken

  init() throws { session = try #require(try TestOrigin().store.tokens().first) }

  @Test func theyAreForgotten() throws {
    var table = PendingSignIns()
    let code = try table.add("secret", nil, from: .unknown, at: 0, now: 1000)
    #expect(table.entry(code, now: 600_999) != nil)
    #expect(table.entry(code, now: 601_000) == nil)
    #expect(table.decide(code, allow: true, by: session, now: 601_000) == nil)
    guard case .unknown = table.poll("secret", now: 601_000) else {
      Issue.record("a forgotten one was answered")
      return
    }
  }

  @Test func limits() throws {
    var table = PendingSignIns()
    for place in 0..<PendingSignIns.most {
      let address = IPAddress("10.0.\(place / 20).1") ?? .unknown
      _ = try table.add("s\(place)", nil, from: address, at: 0, now: 0)
    }
    #expect(throws: PendingSignIns.Refusal.tooMany) {
      try table.add("one more", nil, from: .unknown, at: 0, now: 0)
    }
    #expect(throws: Never.self) { try table.add("later", nil, from: .unknown, at: 0, now: 600_000) }
    var other = PendingSignIns()
    for place in 0..<PendingSignIns.mostOfAddress {
      _ = try other.add("s\(place)", nil, from: .loopback, at: 0, now: 0)
    }
    #expect(throws: PendingSignIns.Refusal.tooManyOfAddress) {
      try other.add("x", nil, from: .loopback, at: 0, now: 0)
    }
  }

  @Test func theIntervalGrows() throws {
    var table = PendingSignIns()
    _ = try table.add("secret", nil, from: .unknown, at: 0, now: 0)
    func poll(_ now: Int64) -> Bool {
      if case .pending = table.poll("secret", now: now) { return true }
      return false
    }
    #expect(poll(0))
    #expect(poll(4_800))
    #expect(!poll(6_000))
    // Ten seconds from then on.
    #expect(!poll(12_000))
    #expect(poll(27_000))
  }

  @Test func codes() {
    #expect(UserCode.read("bcdf ghjk") == "BCDF-GHJK" && UserCode.read("BCDF-GHJK") == "BCDF-GHJK")
    for text in ["", "BCDFGHJ", "BCDFGHJKL", "ABCDEFGH", "BCDF-GHJ1", String(repeating: "B", count: 100)] {
      #expect(UserCode.read(text) == nil, "\(text)")
    }
    let codes = Set((0..<100).map { _ in UserCode.random() })
    #expect(codes.count == 100 && codes.allSatisfy { UserCode.read($0) == $0 })
  }
}
