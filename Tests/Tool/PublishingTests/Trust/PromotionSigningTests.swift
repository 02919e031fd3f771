import Manifests
import OriginAPI
import OriginClient
import SocketServer
import System
import Testing
import Trust
import Values

@testable import Publishing

/// Promotions and prefetch configs, which are signed only if the origin says that they have to be.
@Suite struct PromotionSigningTests {
  private let origin = FakeOrigin()
  private let app: SignedApp
  private let told = Locked<[Publisher.Progress]>([])
  /// What the origin was asked to promote or push, in order.
  private let asked = Locked<[JSONValue]>([])

  init() throws { app = try SignedApp() }

  private static let manifest: JSONValue = [
    "https://test.example.com/a.js": [
      "bundle": "main", "ctype": "application/javascript", "download": "https://cdn.example.com/1",
      "md5": "0cc175b9c0f1b6a831c399e269772661",
      "sha256": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", "size": 1, "version": "1",
    ]
  ]

  /// The content of the bundle under a host.
  private func content(_ host: String) throws -> SHA256 {
    let text = String(decoding: Self.manifest.canonical, as: UTF8.self).replacing(
      "test.example.com", with: host)
    let live = try LiveBundle.bundles(of: JSONValue.parse(Array(text.utf8)))
    return try #require(live[BundleName("main")]).content
  }

  /// Makes the origin refuse what isn't signed; `planned` is what the promotion leads to.
  private func serve(_ planned: SHA256, in source: [TrustedChannel.Bundle]) throws {
    let overview = JSONValue(encoding: try app.overview(bundles: source, channel: ChannelName("test")))
    let asked = self.asked
    origin.with { model in
      model.trust = overview
      model.fault = { _, request in
        if request.path.contains("/manifest") { return .answer(body: Self.manifest.canonical) }
        guard request.path.hasSuffix("/promote") || request.path.hasSuffix("/prefetch") else { return nil }
        let body = (try? JSONValue.parse(request.body)) ?? .null
        asked.withLock { $0.append(body) }
        let isSigned = body["statements"] != nil || body["statement"] != nil
        guard body["dryRun"]?.bool == true || isSigned else {
          return FakeOrigin.problem(
            409, "unsigned", "not signed",
            request.path.hasSuffix("/promote")
              ? [
                "bundles": [
                  [
                    "bundle": "main", "channel": "online", "content": .string(planned.hex),
                    "problem": "release-missing",
                  ]
                ]
              ] : ["problem": "prefetch-missing"])
        }
        if request.path.hasSuffix("/prefetch") {
          return .answer(body: Array(#"{"changed":false,"manifestVersion":"1","version":"1"}"#.utf8))
        }
        return .answer(body: Self.answer(planned).canonical)
      }
    }
  }

  private static func answer(_ planned: SHA256) -> JSONValue {
    [
      "added": 1, "at": .string(FakeOrigin.time), "bundles": [], "bytes": 1, "changed": true,
      "changed_count": 0,
      "contents": [["bundle": "main", "content": .string(planned.hex)]], "createdApp": false,
      "createdChannel": false, "deltasStored": false, "from": "test", "fromVersion": "7", "left": [],
      "missing": [], "newBytes": 1, "prefetch": .null, "previous": "1", "receipt": .null, "removed": 0,
      "resources": 1, "version": "2", "warnings": [],
    ]
  }

  private var publisher: Publisher {
    get throws {
      let api = OriginClient(server: try BaseURL(origin.url), token: "secret")
      return Publisher(api, cache: PublishCache(path: nil)) { [told] step in told.withLock { $0.append(step) }
      }
    }
  }

  private func promote(_ options: SigningOptions, map: [PromotionRequest.Rule]? = nil) throws
    -> [Signed<ReleaseStatement>]
  {
    var request = PromotionRequest()
    (request.from, request.map) = ("test", map)
    let channel = ChannelAddress(try AppName("shop"), .online)
    return try publisher.promote(request, to: channel, options).statements
  }

  private static let toOnline = [
    PromotionRequest.Rule(from: "https://test.example.com", to: "https://m.example.com")
  ]

  private func signedSource(by key: P256PrivateKey? = nil) throws -> [TrustedChannel.Bundle] {
    [
      try app.bundle(
        "main", content("test.example.com"), serial: 5, channels: [ChannelName("test")],
        by: [key ?? app.releaseKey])
    ]
  }

  @Test func statementIsMadeForWhatWasSignedElsewhere() throws {
    let planned = try content("test.example.com")
    try serve(planned, in: signedSource())
    let signed = try #require(try promote(app.options()).first)
    #expect(signed.document.content == planned && signed.document.channels == [.online])
    #expect(signed.releaseSigners(app.root.document) == [app.releaseKey.trustKey.id])
    let bodies = asked.withLock { $0 }
    #expect(bodies.count == 3)
    // What was looked at is what is promoted.
    #expect(bodies.last?["version"] == "7" && bodies.last?["statements"] == [signed.envelope.json])
  }

  @Test func rewrittenContentIsComputedHere() throws {
    let planned = try content("m.example.com")
    try serve(planned, in: signedSource())
    #expect(try promote(app.options(), map: Self.toOnline).first?.document.content == planned)
    try serve(SHA256.of([3]), in: signedSource())
    let error = #expect(throws: PublishError.self) { try promote(app.options(), map: Self.toOnline) }
    #expect(error?.exitCode == 3 && error?.message.contains("something else of bundle main") == true)
  }

  @Test func contentThatNoValidKeySignedIsNotSigned() throws {
    let planned = try content("test.example.com")
    for source in [[], try signedSource(by: app.otherKey)] as [[TrustedChannel.Bundle]] {
      try serve(planned, in: source)
      let error = #expect(throws: PublishError.self) { try promote(app.options()) }
      #expect(error?.exitCode == 3 && error?.message.contains("isn't what a valid statement signs") == true)
    }
    #expect(asked.withLock { $0.allSatisfy { $0["statements"] == nil } })
  }

  @Test func withoutAKeyTheOriginsRefusalStands() throws {
    try serve(content("test.example.com"), in: signedSource())
    let error = #expect(throws: PublishError.self) { try promote(SigningOptions()) }
    #expect(error?.message == "not signed" && error?.exitCode == 3)
    #expect(asked.withLock { $0.count } == 1)
  }

  // MARK: - Prefetch configs

  private func push(_ options: SigningOptions) throws -> Signed<PrefetchStatement>? {
    let config: JSONValue = [["url": "https://m.example.com/", "interfaces": []]]
    return try publisher.push(
      PrefetchPushRequest(document: config), config.canonical,
      to: ChannelAddress(AppName("shop"), .online), options
    ).statement
  }

  @Test func prefetchConfigIsSignedIfItHasToBe() throws {
    try serve(SHA256.of([3]), in: [])
    let signed = try #require(try push(app.options()))
    let config: JSONValue = [["url": "https://m.example.com/", "interfaces": []]]
    #expect(signed.document.content == SHA256.of(config.canonical))
    #expect(RootJudge(app.root).failure(ofPrefetch: signed.document.content, signed, in: .online) == nil)
    #expect(asked.withLock { $0.last?["statement"] } == signed.envelope.json)
    let error = #expect(throws: PublishError.self) { try push(app.options(app.otherKey)) }
    #expect(error?.exitCode == 3 && error?.message.contains("for no prefetch config") == true)
    #expect(throws: PublishError.self) { try push(SigningOptions()) }
  }
}
