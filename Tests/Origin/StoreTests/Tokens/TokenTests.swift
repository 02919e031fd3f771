import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct TokenTests {
  let scratch = Scratch()

  @Test func firstTokenIsInAFileForItsOwner() throws {
    let store = try scratch.open()
    #expect(store.madeAdminToken)
    let status = try #require(try Kernel.status(store.folder.adminToken))
    #expect(status.mode == 0o600)
    let bytes = try #require(try DurableFile.read(store.folder.adminToken))
    let text = String(decoding: bytes.dropLast(), as: UTF8.self)
    let token = try #require(try store.check(token: text))
    #expect(token.name == "admin" && token.scope == .admin && token.isUnlimited)
  }

  @Test func tokenIsReturnedOnceAndStoredAsAHash() throws {
    let store = try scratch.open()
    let (token, text) = try store.createToken(name: "ci", scope: .publish, app: AppName("shop"))
    #expect(text.hasPrefix("xcache_\(token.id)_"))
    #expect(try store.check(token: text)?.id == token.id)
    let secret = String(text.suffix(43))
    for name in ["xcache.db", "xcache.db-wal"] {
      let bytes = try #require(try DurableFile.read("\(scratch.data)/\(name)"))
      #expect(!String(decoding: bytes, as: UTF8.self).contains(secret))
    }
    #expect(throws: StoreError.self) { try store.createToken(name: "ci", scope: .read) }
  }

  @Test func invalidTokensAreRefused() throws {
    let store = try scratch.open()
    let (token, text) = try store.createToken(name: "ci", scope: .read)
    var wrong = Array(text.utf8)
    wrong[wrong.count - 20] =
      wrong[wrong.count - 20] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    let attempts = [
      "", "xcache_", text + "x", String(text.dropLast()), text.uppercased(), "xcache_\(token.id)_",
      "xcache_000000000000_\(text.suffix(43))", String(decoding: wrong, as: UTF8.self), " " + text,
    ]
    for attempt in attempts { #expect(try store.check(token: attempt) == nil, "\(attempt)") }
  }

  @Test(arguments: [true, false])
  func revokedTokenIsRefused(byName: Bool) throws {
    let store = try scratch.open()
    let (token, text) = try store.createToken(name: "ci", scope: .read)
    #expect(try store.revokeToken(byName ? "ci" : token.id).id == token.id)
    #expect(try store.check(token: text) == nil)
    #expect(throws: StoreError.self) { try store.revokeToken("ci") }
    #expect(try store.tokens().map(\.name).sorted() == ["admin", "ci"])
    // The name can be used again.
    #expect(throws: Never.self) { try store.createToken(name: "ci", scope: .read) }
  }

  @Test func useIsRecordedOnceAMinute() throws {
    let now = Locked<Int64>(1_000_000)
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    let (_, text) = try store.createToken(name: "ci", scope: .read)
    func lastUse() throws -> Int64? { try store.tokens().first { $0.name == "ci" }?.lastUsedAt }
    #expect(try lastUse() == nil)
    for (time, recorded) in [(1_000_000, 1_000_000), (1_059_999, 1_000_000), (1_060_000, 1_060_000)]
      as [(Int64, Int64)]
    {
      now.withLock { $0 = time }
      #expect(try store.check(token: text) != nil)
      #expect(try lastUse() == recorded)
    }
  }

  struct Reach: Sendable {
    let scope: TokenScope
    var app: String?
    var channel: String?
    let requestedScope: TokenScope
    let allowed: Bool
  }

  @Test(arguments: [
    Reach(scope: .admin, requestedScope: .publish, allowed: true),
    Reach(scope: .publish, requestedScope: .admin, allowed: false),
    Reach(scope: .read, requestedScope: .publish, allowed: false),
    Reach(scope: .publish, requestedScope: .read, allowed: true),
    Reach(scope: .publish, app: "shop", requestedScope: .publish, allowed: true),
    Reach(scope: .publish, app: "other", requestedScope: .publish, allowed: false),
    Reach(scope: .publish, channel: "online", requestedScope: .publish, allowed: true),
    Reach(scope: .admin, app: "shop", channel: "test", requestedScope: .read, allowed: false),
  ])
  func scopesAndLimits(reach: Reach) throws {
    let store = try scratch.open()
    let (token, _) = try store.createToken(
      name: "t", scope: reach.scope, app: try reach.app.map { try AppName($0) },
      channel: try reach.channel.map { try ChannelName($0) })
    #expect(token.allows(reach.requestedScope, app: try AppName("shop"), channel: .online) == reach.allowed)
  }

  @Test(arguments: [[], [0], [255], [1, 2], [1, 2, 3], [250, 251, 252, 253, 254, 255]] as [[UInt8]])
  func base64URLRoundTrips(bytes: [UInt8]) {
    let text = Base64URL.encode(bytes)
    #expect(Base64URL.decode(text.utf8) == bytes)
    #expect(Base64URL.decode((text + "=").utf8) == nil)
  }
}
