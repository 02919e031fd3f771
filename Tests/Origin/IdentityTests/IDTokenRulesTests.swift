import System
import Testing
import Values

@testable import Identity

/// What an ID token has to say.
@Suite struct IDTokenRulesTests {
  private func claims(
    _ others: [String: JSONValue], _ change: (inout IDTokenRules) -> Void = { _ in }
  ) throws -> Claims {
    let issuer = TestIssuer()
    var rules = try TestIssuer.rules()
    change(&rules)
    return try rules.verify(
      try JSONWebToken(issuer.token(others)), with: try issuer.keys(), at: TestIssuer.now)
  }

  private static let second = TestIssuer.second

  @Test(
    arguments: [
      .string("https://id.acme.com/"), "https://ID.acme.com", "http://id.acme.com",
      "https://id.acme.com.evil.example",
      "https://id.acme.com#", "", 1, [.string(TestIssuer.name)],
    ] as [JSONValue])
  func `the issuer is the same to the byte`(issuer: JSONValue) {
    #expect(throws: IdentityError.issuer(expected: TestIssuer.name, actual: issuer.string)) {
      try claims(["iss": issuer])
    }
  }

  @Test func `an issuer is needed, and one with a slash is another`() throws {
    #expect(throws: IdentityError.issuer(expected: TestIssuer.name, actual: nil)) {
      try claims(["iss": .null])
    }
    let slashed = try IssuerURL(TestIssuer.name + "/")
    #expect(throws: IdentityError.issuer(expected: slashed.text, actual: TestIssuer.name)) {
      try claims([:]) { $0.issuer = slashed }
    }
    #expect(try claims(["iss": .string(slashed.text)]) { $0.issuer = slashed }.issuer == slashed.text)
  }

  @Test func `a client's token is for that client`() throws {
    #expect(try claims(["aud": ["console"]]).audiences == ["console"])
    #expect(try claims(["azp": "console"]).audiences == ["console"])
    #expect(try claims(["aud": ["other", "console"], "azp": "console"]).audiences == ["other", "console"])
    #expect(throws: IdentityError.audience(expected: ["console"], actual: ["other"])) {
      try claims(["aud": "other"])
    }
    #expect(throws: IdentityError.audience(expected: ["console"], actual: ["Console"])) {
      try claims(["aud": "Console"])
    }
    #expect(throws: IdentityError.audience(expected: ["console"], actual: ["consol", "console2"])) {
      try claims(["aud": ["consol", "console2"], "azp": "console"])
    }
    #expect(throws: IdentityError.authorizedParty("other")) { try claims(["azp": "other"]) }
    #expect(throws: IdentityError.authorizedParty(nil)) { try claims(["aud": ["other", "console"]]) }
    #expect(throws: IdentityError.authorizedParty("other")) {
      try claims(["aud": ["other", "console"], "azp": "other"])
    }
    #expect(throws: IdentityError.claim("azp")) { try claims(["azp": ["console"]]) }
  }

  @Test(arguments: [.null, [], 1, ["console", 1], .object(["console": true]), [["console"]]] as [JSONValue])
  func `an audience is a string, or an array of strings`(audience: JSONValue) {
    #expect(throws: IdentityError.claim("aud")) { try claims(["aud": audience]) }
  }

  @Test func `a job's token is for one of the audiences of identities`() throws {
    let accepted = IDTokenRules.Recipient.audience(["https://x.acme.com", "https://y.acme.com"])
    let read = try claims(["aud": "https://y.acme.com", "azp": "whoever", "nonce": .null]) {
      $0.recipient = accepted
      $0.nonce = nil
    }
    #expect(read.audiences == ["https://y.acme.com"])
    #expect(
      throws: IdentityError.audience(
        expected: ["https://x.acme.com", "https://y.acme.com"], actual: ["console"])
    ) { try claims([:]) { $0.recipient = accepted } }
    #expect(throws: IdentityError.audience(expected: [], actual: ["console"])) {
      try claims([:]) { $0.recipient = .audience([]) }
    }
  }

  @Test(
    arguments: [.null, "", 17, ["u-17"], "a\u{0}b", "a\nb", .string(String(repeating: "s", count: 1025))]
      as [JSONValue])
  func `there is a subject`(subject: JSONValue) {
    #expect(throws: IdentityError.claim("sub")) { try claims(["sub": subject]) }
  }

  @Test(arguments: [.null, "", "n-2", "N-1", "n-1 ", ["n-1"], 1] as [JSONValue])
  func `the nonce is that of the sign-in`(nonce: JSONValue) {
    #expect(throws: IdentityError.nonce) { try claims(["nonce": nonce]) }
  }

  @Test(
    arguments: ["exp", "iat", "nbf"],
    [
      .number("1e308"), .number("1e400"), -1, .number("-1e3"), .string("\(second + 300)"), true, [],
      .object([:]),
      .number("99999999999999999999"), .number("9007199254740993000000000000000000"),
    ] as [JSONValue])
  func `times are numbers of seconds`(name: String, value: JSONValue) {
    #expect(throws: IdentityError.claim(name)) { try claims([name: value]) }
  }

  @Test func `an end and a beginning are needed`() {
    #expect(throws: IdentityError.claim("exp")) { try claims(["exp": .null]) }
    #expect(throws: IdentityError.claim("iat")) { try claims(["iat": .null]) }
  }

  @Test func `fractions and exponents are read as they are`() throws {
    #expect(try claims(["exp": .number("\(Self.second + 10).75")]).expiresAt == TestIssuer.now + 10_750)
    #expect(try claims(["exp": .number("1.9e9")]).expiresAt == 1_900_000_000_000)
    #expect(throws: IdentityError.expired(at: 0)) { try claims(["exp": .number("-0")]) }
  }

  @Test func `clocks may be a minute apart`() throws {
    #expect(try claims(["exp": .integer(Self.second - 59)]).subject == "u-17")
    #expect(throws: IdentityError.expired(at: TestIssuer.now - 60_000)) {
      try claims(["exp": .integer(Self.second - 60)])
    }
    for name in ["iat", "nbf"] {
      #expect(try claims([name: .integer(Self.second + 60)]).subject == "u-17")
      #expect(throws: IdentityError.notYet(at: TestIssuer.now + 61_000)) {
        try claims([name: .integer(Self.second + 61)])
      }
    }
  }

  @Test func `age and life are limited where that is wanted`() throws {
    let old: [String: JSONValue] = ["iat": .integer(Self.second - 4000)]
    #expect(try claims(old).subject == "u-17")
    #expect(throws: IdentityError.tooOld(issuedAt: TestIssuer.now - 4_000_000)) {
      try claims(old) { $0.maxAge = 3_600_000 }
    }
    let long: [String: JSONValue] = ["exp": .integer(Self.second + 4000)]
    #expect(try claims(long).subject == "u-17")
    #expect(throws: IdentityError.tooLongLived(until: TestIssuer.now + 4_000_000)) {
      try claims(long) { $0.maxLife = 3_600_000 }
    }
  }

  @Test func `the signature is looked at before any claim`() throws {
    let stranger = TestIssuer(key: .p256(P256PrivateKey()))
    let token = try JSONWebToken(stranger.token(["iss": "https://evil.example", "exp": 1]))
    #expect(throws: IdentityError.signature) {
      try TestIssuer.rules().verify(token, with: TestIssuer().keys(), at: TestIssuer.now)
    }
  }

  @Test func `claims are read by name or by path`() throws {
    let read = try claims([
      "groups": ["a", "b", 3, ["c"]], "role": "dev", "https://acme.com/roles": ["web"],
      "realm_access": .object(["roles": ["offline", "web"]]), "a.b": "whole", "a": .object(["b": "path"]),
      "n": 7, "empty": "",
    ])
    #expect(read.values(of: "groups") == ["a", "b"])
    #expect(read.values(of: "role") == ["dev"])
    #expect(read.values(of: "https://acme.com/roles") == ["web"])
    #expect(read.values(of: "realm_access.roles") == ["offline", "web"])
    #expect(read.values(of: "a.b") == ["whole"])
    for name in ["n", "none", "realm_access", "realm_access.roles.0", "", ".", "role.x", "groups.a"] {
      #expect(read.values(of: name) == [])
    }
    #expect(read.text(of: "role") == "dev" && read.text(of: "empty") == nil && read.text(of: "groups") == nil)
  }
}
