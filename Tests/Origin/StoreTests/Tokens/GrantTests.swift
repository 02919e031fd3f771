import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// What a caller with several grants may do where.
@Suite struct GrantTests {
  let scratch = Scratch()

  private static func grant(
    _ scope: TokenScope, _ app: String? = nil, _ channel: String? = nil, _ bundles: String? = nil
  ) -> Grant {
    Grant(
      scope, app: app.flatMap { try? AppName($0) }, channel: channel.flatMap { try? ChannelName($0) },
      bundles: bundles.flatMap { BundleGlob($0) })
  }

  private func session(_ grants: [Grant]) throws -> AccessToken {
    try scratch.open().createSession(
      name: "Ana", hash: SHA256.of([1]), grants: grants,
      identity: SignedInIdentity(issuer: "https://id.acme.com", subject: "7", detail: "console"),
      expiresAt: 4_000_000_000_000, by: .local)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let grants: [Grant]
    /// What the act takes, in app `shop`, channel `online`.
    let needed: TokenScope
    /// What the caller has there: the scope and the bundles; nil: it may not do it.
    let has: (TokenScope, String?)?
    var isUnlimited = false
    var testDescription: String { "\(needed) by \(grants.map(\.json))" }
  }

  static let cases: [Case] = [
    Case(grants: [grant(.publish, "shop")], needed: .publish, has: (.publish, nil)),
    Case(grants: [grant(.publish, "shop")], needed: .admin, has: nil),
    Case(grants: [grant(.release, "shop")], needed: .publish, has: nil),
    Case(grants: [grant(.release, "shop")], needed: .release, has: (.release, nil)),
    Case(grants: [grant(.read), grant(.publish, "help")], needed: .publish, has: nil),
    Case(
      grants: [grant(.read), grant(.publish, "help")], needed: .read, has: (.read, nil), isUnlimited: true),
    // Bundles of grants for the act are joined, and of no other.
    Case(
      grants: [grant(.publish, "shop", nil, "main*"), grant(.publish, nil, "online", "help")],
      needed: .publish, has: (.publish, "main*,help")),
    Case(
      grants: [grant(.publish, "shop", nil, "main"), grant(.release, "shop")], needed: .publish,
      has: (.publish, "main")),
    // A higher scope for some bundles is no higher scope for the others.
    Case(
      grants: [grant(.publish, "shop", nil, "main"), grant(.release, "shop")], needed: .release,
      has: (.release, nil)),
    Case(grants: [grant(.read, "shop"), grant(.admin, "shop", "online")], needed: .read, has: (.admin, nil)),
    // Nor is a wider place for some bundles a wider one for the others.
    Case(
      grants: [grant(.read, "shop", "online"), grant(.publish, nil, nil, "main")], needed: .read,
      has: (.read, nil)),
    Case(
      grants: [grant(.admin), grant(.read, "shop")], needed: .publish, has: (.admin, nil), isUnlimited: true),
    // An admin is one of whole channels.
    Case(grants: [grant(.admin, "shop", nil, "main")], needed: .admin, has: nil),
    Case(grants: [grant(.admin, "shop", nil, "main")], needed: .publish, has: (.publish, "main")),
  ]

  @Test(arguments: cases)
  func callerActsWithAllGrantsOfAChannel(_ test: Case) throws {
    let token = try session(test.grants)
    let acting = token.acting(on: try AppName("shop"), .online, test.needed)
    #expect(acting?.scope == test.has?.0)
    #expect(acting?.bundles?.text == test.has.flatMap(\.1))
    guard let acting else { return }
    #expect(acting.isUnlimited == test.isUnlimited)
    #expect(acting.id == token.id && acting.authorKey == token.authorKey)
    // It may read and change nothing more than before, anywhere.
    for app in ["shop", "help", "news"] {
      for channel in ["online", "test"] {
        for scope in TokenScope.allCases {
          let (app, channel) = (try AppName(app), try ChannelName(channel))
          #expect(
            acting.allows(scope, app: app, channel: channel)
              == token.allows(scope, app: app, channel: channel), "\(scope) in \(app) \(channel)")
        }
      }
    }
  }

  @Test func callerActsInTheChannelsOfAnApp() throws {
    let token = try session([
      Self.grant(.read), Self.grant(.publish, "shop", "test", "a"), Self.grant(.publish, "shop"),
    ])
    let shop = try AppName("shop")
    let acting = try #require(token.acting(in: shop, .publish))
    #expect(acting.scope == .publish && acting.channel == nil && acting.bundles == nil)
    #expect(token.acting(in: shop, .admin) == nil)
    #expect(token.acting(in: try AppName("help"), .publish) == nil)
    #expect(token.acting(in: try AppName("help"), .read)?.scope == .read)
    #expect(Set(acting.grants) == Set(token.grants))
  }

  @Test func grantsAreKept() throws {
    let grants = [
      Self.grant(.read), Self.grant(.publish, "shop", "online", "main*,help"), Self.grant(.release, "help"),
    ]
    let store = try scratch.open()
    let secret = TokenSecret()
    let token = try store.createSession(
      name: "Ana", hash: secret.hash, grants: grants + [grants[1]],
      identity: SignedInIdentity(issuer: "https://id.acme.com", subject: "7", detail: "cli"),
      expiresAt: store.now + 1000, by: .local)
    let kept = try #require(try store.check(token: secret.text(id: token.id)))
    #expect(kept.grants == grants)
    #expect(kept.kind == .session && kept.identity?.detail == "cli" && kept.job == nil)
    #expect(kept.isUnlimited && !kept.isUnrestrictedAdmin)
  }

  /// A limit that can't be read would otherwise be none.
  @Test(arguments: [
    "[{}]", "[{\"scope\":\"publish\"}]", "[7]",
    "[{\"app\":7,\"bundles\":null,\"channel\":null,\"scope\":\"read\"}]",
    "[{\"app\":null,\"bundles\":\"a/b\",\"channel\":null,\"scope\":\"read\"}]",
    "[{\"app\":null,\"bundles\":null,\"channel\":null,\"scope\":\"root\"}]", "[",
  ])
  func damagedGrantsAreRefused(text: String) throws {
    #expect(throws: StoreError.self) { try Stored.grants(text) }
  }

  @Test func numberOfGrantsIsLimited() throws {
    let many = (0...Grant.limit).map { Self.grant(.read, "app\($0)") }
    #expect(throws: Never.self) { try session(Array(many.dropLast())) }
    #expect {
      try session(many)
    } throws: {
      if case StoreError.tooManyGrants(Grant.limit + 1, limit: Grant.limit) = $0 { true } else { false }
    }
    #expect {
      try session([])
    } throws: {
      if case StoreError.noGrants = $0 { true } else { false }
    }
  }

  @Test(
    arguments: [
      ("main", "main", true), ("main", "main2", false), ("shop-*,help", "shop-1", true),
      ("shop-*,help", "help", true), ("shop-*,help", "helper", false), ("a,b,c?", "c1", true),
      ("a,b", "a,b", false),
    ] as [(String, String, Bool)])
  func alternativesOfBundles(pattern: String, name: String, matches: Bool) throws {
    let glob = try #require(BundleGlob(pattern))
    guard let name = try? BundleName(name) else { return #expect(!matches) }
    #expect(glob.matches(name) == matches)
  }

  @Test(arguments: ["", ",", "a,", ",a", "a,,b", "a b", "a/b", "é", String(repeating: "a", count: 129)])
  func badPatternsOfBundles(pattern: String) { #expect(BundleGlob(pattern) == nil) }

  @Test func scopesAreInOrder() {
    #expect(TokenScope.allCases == [.read, .release, .publish, .admin])
    #expect(TokenScope.allCases.sorted() == TokenScope.allCases)
  }
}
