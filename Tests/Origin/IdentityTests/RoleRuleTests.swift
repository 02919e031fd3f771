import Manifests
import Testing
import Values

@testable import Identity

/// Roles from claims.
@Suite struct RoleRuleTests {
  private static func claims(_ others: [String: JSONValue]) -> Claims {
    Claims(
      json: .object(others), issuer: TestIssuer.name, subject: "u-17", audiences: ["console"], expiresAt: 0,
      issuedAt: 0)
  }

  private static func grant(_ scope: String, _ app: String?, _ channel: String?, _ bundles: String?) throws
    -> RoleGrant
  {
    RoleGrant(
      scope: scope, app: try app.map { try AppName($0) }, channel: try channel.map { try ChannelName($0) },
      bundles: bundles)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let rule, claim: String
    let value: String?
    let scope: String
    var app, channel, bundles: String?
    var testDescription: String { rule }
  }

  @Test(arguments: [
    Case(
      rule: "release=groups:mobile-team@shop", claim: "groups", value: "mobile-team", scope: "release",
      app: "shop"),
    Case(rule: "read=groups:staff", claim: "groups", value: "staff", scope: "read"),
    Case(rule: "admin=email:ana@acme.com@*", claim: "email", value: "ana@acme.com", scope: "admin"),
    Case(
      rule: "admin=email:ana@acme.com@shop", claim: "email", value: "ana@acme.com", scope: "admin",
      app: "shop"),
    Case(
      rule: "publish=realm_access.roles:web@shop/beta:main,shop-*", claim: "realm_access.roles", value: "web",
      scope: "publish", app: "shop", channel: "beta", bundles: "main,shop-*"),
    Case(rule: "read=sub:*", claim: "sub", value: nil, scope: "read"),
    Case(rule: "read=sub:*@*/*:*", claim: "sub", value: nil, scope: "read"),
    Case(rule: "publish=g:x@*/beta", claim: "g", value: "x", scope: "publish", channel: "beta"),
    Case(rule: "publish=g:x@*:help-?", claim: "g", value: "x", scope: "publish", bundles: "help-?"),
    Case(
      rule: "read=https://acme.com/roles:urn:acme:web@shop", claim: "https://acme.com/roles",
      value: "urn:acme:web",
      scope: "read", app: "shop"),
    Case(rule: "read=groups:a=b", claim: "groups", value: "a=b", scope: "read"),
    Case(rule: "read=groups:Web Team@shop", claim: "groups", value: "Web Team", scope: "read", app: "shop"),
    Case(rule: "read=groups:/acme/web@shop", claim: "groups", value: "/acme/web", scope: "read", app: "shop"),
  ])
  func `rules are read`(wanted: Case) throws {
    let rule = try RoleRule(wanted.rule)
    #expect(rule.claim == wanted.claim && rule.value == wanted.value && rule.text == wanted.rule)
    #expect(rule.grant == (try Self.grant(wanted.scope, wanted.app, wanted.channel, wanted.bundles)))
  }

  @Test(arguments: [
    ("", "form"), ("release", "form"), ("release=", "form"), ("release=groups", "form"),
    ("release=:x", "form"),
    ("release=groups:", "form"), ("release=groups:@shop", "form"), ("release=https://acme.com/roles", "form"),
    ("read=groups:a\u{0}b", "form"), ("read=groups:a\nadmin=sub:*", "form"),
    ("write=groups:x", "scope"), ("Admin=groups:x", "scope"), ("=groups:x", "scope"),
    (" admin=groups:x", "scope"),
    ("read=groups:mobile-*", "wildcard"), ("read=groups:**", "wildcard"),
    ("read=email:*@acme.com@*", "wildcard"),
    ("admin=email:ana@acme.com", "email"), ("admin=email:*@acme", "email"), ("admin=email:*", "email"),
    ("admin=email:ana", "email"), ("read=groups:x@", "app"), ("read=groups:team@acme.com", "app"),
    ("read=groups:x@shop shop", "app"), ("read=groups:x@/beta", "app"), ("read=groups:x@delta", "app"),
    ("read=groups:x@shop/", "channel"), ("read=groups:x@shop/Beta", "channel"),
    ("read=groups:x@shop/a/b", "channel"),
    ("read=groups:x@shop:", "bundles"), ("read=groups:x@shop:a,,b", "bundles"),
    ("read=groups:x@shop:a b", "bundles"),
    ("read=groups:x@shop:a:b", "bundles"), ("read=groups:x@shop:é", "bundles"),
  ])
  func `what isn't a rule is refused with words`(text: String, kind: String) {
    let error = #expect(throws: RoleRuleError.self) { try RoleRule(text) }
    let actual =
      switch error {
      case .form?: "form"
      case .scope?: "scope"
      case .wildcard?: "wildcard"
      case .email?: "email"
      case .app?: "app"
      case .channel?: "channel"
      case .bundles?: "bundles"
      case nil: "none"
      }
    #expect(actual == kind)
    #expect(error?.message.contains("\"") == true)
  }

  @Test func `long rules are refused`() {
    #expect(throws: RoleRuleError.self) { try RoleRule("read=groups:" + String(repeating: "x", count: 1024)) }
    #expect(throws: RoleRuleError.self) {
      try RoleRule("read=groups:x@shop:" + String(repeating: "b", count: 129))
    }
  }

  @Test func `a value is compared exactly`() throws {
    let rule = try RoleRule("release=groups:mobile-team@shop")
    #expect(rule.matches(Self.claims(["groups": ["web", "mobile-team"]])))
    #expect(rule.matches(Self.claims(["groups": "mobile-team"])))
    for groups in [
      "mobile-team2", "Mobile-Team", "mobile-team ", "mobile", ["x"], [], [["mobile-team"]], true, .null,
    ]
      as [JSONValue]
    {
      #expect(!rule.matches(Self.claims(["groups": groups])))
    }
    #expect(!rule.matches(Self.claims([:])))
    #expect(!(try RoleRule("read=groups:\u{E9}")).matches(Self.claims(["groups": "e\u{301}"])))
  }

  @Test func `anybody who has a claim`() throws {
    let rule = try RoleRule("read=groups:*")
    #expect(rule.matches(Self.claims(["groups": ["x"]])) && rule.matches(Self.claims(["groups": "x"])))
    for groups in [[], "", [""], .null, 1, true] as [JSONValue] {
      #expect(!rule.matches(Self.claims(["groups": groups])))
    }
  }

  @Test func `an address that wasn't verified gives no role`() throws {
    let rule = try RoleRule("admin=email:ana@acme.com@*")
    #expect(rule.matches(Self.claims(["email": "ana@acme.com"])))
    for verified in [true, "true"] as [JSONValue] {
      #expect(rule.matches(Self.claims(["email": "ana@acme.com", "email_verified": verified])))
    }
    for verified in [false, "false", .null, 0, 1, "1", []] as [JSONValue] {
      #expect(!rule.matches(Self.claims(["email": "ana@acme.com", "email_verified": verified])))
    }
  }

  @Test func `grants are of all rules that match, each once`() throws {
    let rules = try [
      "read=sub:*", "publish=groups:web@shop", "publish=groups:dev@shop", "admin=groups:ops",
    ].map { try RoleRule($0) }
    let grants = RoleRule.grants(of: rules, for: Self.claims(["sub": "u", "groups": ["dev", "web"]]))
    #expect(grants == [RoleGrant(scope: "read"), RoleGrant(scope: "publish", app: try AppName("shop"))])
    #expect(RoleRule.grants(of: rules, for: Self.claims([:])) == [])
    #expect(RoleRule.claims(of: rules) == ["sub", "groups"])
  }
}
