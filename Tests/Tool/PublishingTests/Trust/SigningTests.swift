import BuildCheck
import Manifests
import OriginAPI
import OriginClient
import SocketServer
import System
import Testing
import TestSupport
import Trust
import Values

@testable import Publishing

/// Publishing in an app with a root, and in one without.
@Suite struct SigningTests {
  private let folder: Scratch
  private let origin = FakeOrigin()
  private let app: SignedApp
  private let told = Locked<[Publisher.Progress]>([])

  init() throws {
    folder = try Scratch()
    try folder.write("site/a.js", "one")
    try folder.write("site/index.html", "<p>")
    app = try SignedApp()
  }

  private var channel: ChannelAddress {
    get throws { ChannelAddress(try AppName("shop"), .online) }
  }

  private var source: BundleSource {
    get throws {
      BundleSource(
        try BundleName("main"),
        folders: [.init("\(folder.path)/site", baseURL: try BaseURL("https://m.example.com/main/"))],
        headers: [
          .init(
            try #require(Glob("*.html")),
            [.contentSecurityPolicy: .some(try EntryHeaders.Value("default-src 'self'"))])
        ])
    }
  }

  private var publisher: Publisher {
    get throws {
      let api = OriginClient(server: try BaseURL(origin.url), token: "secret")
      return Publisher(api, cache: PublishCache(path: folder.path + "/cache")) { [told] step in
        if step.isRemark { told.withLock { $0.append(step) } }
      }
    }
  }

  @discardableResult
  private func publish(_ signing: SigningOptions, _ change: (inout PublishOptions) -> Void = { _ in }) throws
    -> PublishResult
  {
    var options = PublishOptions()
    options.signing = signing
    change(&options)
    return try publisher.publish([source], to: channel, options)
  }

  /// Publishes without a root, then gives the app one.
  private func begin(_ app: SignedApp? = nil) throws {
    try publish(SigningOptions())
    try give(app ?? self.app)
    try folder.write("site/a.js", "two")
    _ = origin.requests()
    told.withLock { $0 = [] }
  }

  private func give(_ app: SignedApp, bundles: [TrustedChannel.Bundle] = []) throws {
    let overview = JSONValue(encoding: try app.overview(bundles: bundles))
    origin.with { ($0.root, $0.trust) = (1, overview) }
  }

  private func statements() throws -> [Signed<ReleaseStatement>] {
    let release = try #require(origin.with { $0.releases.last })
    return try (release["statements"]?.array ?? []).map { try Signed(json: $0) }
  }

  /// What devices of the app would make of the bundle, as the origin now has it, under this statement.
  private func failure(_ statement: Signed<ReleaseStatement>, _ app: SignedApp) throws -> TrustFailure? {
    let entries = origin.with { $0.current("main") }
    let live = try LiveBundle(
      BundleName("main"),
      entries: .object(JSONObject(entries.map { .init(key: $0.key, value: $0.value) })))
    return RootJudge(app.root).failure(of: live, statement, in: .online)
  }

  @Test func releaseBringsAStatementThatDevicesTake() throws {
    try begin()
    let result = try publish(app.options())
    #expect(result.answer.version == ManifestVersion(2))
    let signed = try #require(try statements().first)
    #expect(result.statements == [signed])
    #expect(try failure(signed, app) == nil)
    let statement = signed.document
    #expect(statement.channels == [.online] && statement.floor == .zero)
    #expect(abs(statement.serial.number - Clock.unixMilliseconds()) < 60_000)
    #expect(
      origin.requests() == [
        "GET apps/shop/channels/online", "GET apps/shop/trust", "POST blobs/missing", "POST blobs",
        "POST apps/shop/channels/online/preparations", "POST apps/shop/channels/online/releases",
      ])
  }

  /// Without a root, no request and no byte is other than before.
  @Test func withoutARootNothingIsSigned() throws {
    // Of a channel that isn't there yet nothing else can tell.
    try publish(app.options())
    let remark = Publisher.Progress.notSigned(try AppName("shop"))
    #expect(told.withLock { $0 } == [remark])
    try folder.write("site/a.js", "two")
    _ = origin.requests()
    try publish(app.options())
    #expect(told.withLock { $0 } == [remark, remark])
    #expect(!origin.requests().contains { $0.contains("trust") })
    #expect(origin.with { $0.releases.allSatisfy { $0["statements"] == nil } })
  }

  @Test func withoutAKeyNothingIsSent() throws {
    try begin()
    let error = #expect(throws: PublishError.self) { try publish(SigningOptions()) }
    #expect(error?.exitCode == 3 && error?.message.contains("--sign-key") == true)
    #expect(origin.requests() == ["GET apps/shop/channels/online"])
    // A dry run says it, and goes on.
    try publish(SigningOptions()) { $0.release.dryRun = true }
    #expect(told.withLock { $0 } == [.lacksKey(try AppName("shop"))])
  }

  @Test func keyThatMayNotSignIsRefusedBeforeAnythingIsSent() throws {
    try begin()
    let error = #expect(throws: PublishError.self) { try publish(app.options(app.otherKey)) }
    #expect(error?.exitCode == 3 && error?.message.contains("names the key") == true)
    #expect(origin.requests() == ["GET apps/shop/channels/online", "GET apps/shop/trust"])
  }

  /// Publishing the same again needs no key, and asks for no root.
  @Test func unchangedFilesNeedNoSignature() throws {
    try begin()
    try publish(app.options())
    _ = origin.requests()
    #expect(try !publish(SigningOptions()).answer.isChanged)
    #expect(!origin.requests().contains { $0.contains("trust") })
  }

  // MARK: - What the origin says

  @Test func otherContentAtTheOriginIsNotSigned() throws {
    try begin()
    origin.with { $0.lies["main"] = SHA256.of([9]).hex }
    let error = #expect(throws: PublishError.self) { try publish(app.options()) }
    #expect(error?.exitCode == 3 && error?.message.contains("doesn't show where") == true)
    #expect(origin.with { $0.version } == 1)
  }

  @Test func differencesAreNamed() throws {
    try begin()
    // The origin's data have changed under the same version: same number of files, same bytes.
    origin.with { model in
      let url = "https://m.example.com/main/index.html"
      var entries = model.current("main")
      guard var entry = entries[url]?.object else { return }
      entry["headers"] = ["Content-Security-Policy": "default-src *"]
      entries[url] = .object(entry)
      model.bundles["main"] = [(1, entries)]
    }
    let error = #expect(throws: PublishError.self) { try publish(app.options()) }
    #expect(error?.message.contains("\n  https://m.example.com/main/index.html") == true)
    #expect(error?.message.contains("a.js") == false)
    #expect(origin.with { $0.version } == 1)
  }

  // MARK: - Floors and channels

  @Test func floorIsToldAndSigned() throws {
    try begin()
    var options = app.options()
    options.raisesFloor = true
    try publish(options) { $0.release.dryRun = true }
    let remark = Publisher.Progress.raisesFloor(try BundleName("main"), above: ManifestVersion(1))
    let signing = Publisher.Progress.wouldSign(
      try BundleName("main"), keys: [app.releaseKey.trustKey.id], channels: [.online])
    #expect(told.withLock { $0 } == [remark, signing])
    #expect(try statements().isEmpty, "a dry run signs nothing")
    try publish(options)
    let statement = try #require(try statements().first).document
    #expect(statement.floor == statement.serial)
  }

  /// The content is there already, so the statement goes there by itself.
  @Test func floorOfUnchangedFilesIsKept() throws {
    try begin()
    try publish(app.options())
    var options = app.options()
    options.raisesFloor = true
    #expect(try !publish(options).answer.isChanged)
    let kept = try #require(origin.with { $0.kept.last?["releases"]?.array?.first })
    let statement = try Signed<ReleaseStatement>(json: kept)
    #expect(try failure(statement, app) == nil && statement.document.floor == statement.document.serial)
  }

  @Test func statementMayBeForFurtherChannels() throws {
    try begin()
    var options = app.options()
    options.channels = [try ChannelName("test")]
    try publish(options)
    #expect(try statements().first?.document.channels == [.online, ChannelName("test")])
  }

  // MARK: - Several signatures

  @Test func secondPersonSignsOffline() throws {
    let app = try SignedApp { release, other in
      [ReleaseGrant(signers: try SignedApp.group(release, other, threshold: 2))]
    }
    try begin(app)
    // What changes nothing can't wait for a signature, either.
    try folder.write("site/a.js", "one")
    var floor = app.options()
    floor.raisesFloor = true
    let error = #expect(throws: PublishError.self) { try publish(floor) }
    #expect(error?.exitCode == 3 && error?.message.contains("2 signatures of bundle main") == true)
    #expect(origin.with { $0.version } == 1)

    try folder.write("site/a.js", "two")
    let drafts = try publisher.statements(of: [source], for: channel, app.options())
    var options = SigningOptions()
    options.given = try drafts.map { try $0.signed(by: app.otherKey) }
    try publish(options)
    let signed = try #require(try statements().first)
    #expect(try failure(signed, app) == nil && signed.envelope.signatures.count == 2)
  }

  @Test func severalKeysSignAtOnce() throws {
    let app = try SignedApp { release, other in
      [ReleaseGrant(signers: try SignedApp.group(release, other, threshold: 2))]
    }
    try begin(app)
    var options = SigningOptions()
    // One that the root doesn't name signs nothing.
    options.signers = LazySigners(KeyFile(app.releaseKey), KeyFile(P256PrivateKey()), KeyFile(app.otherKey))
    try publish(options)
    let signed = try #require(try statements().first)
    #expect(try failure(signed, app) == nil && signed.envelope.signatures.count == 2)
  }

  /// What a project says is signed isn't published unsigned because an origin says that the app has no root.
  @Test func rootThatTheOriginLacksIsRefused() throws {
    var options = app.options()
    options.root = RootFile(path: "root.json", signed: app.root)
    for first in [true, false] {
      if !first { try publish(SigningOptions()) }
      try folder.write("site/a.js", "changed")
      _ = origin.requests()
      for signers in [options.signers, nil] {
        options.signers = signers
        let error = #expect(throws: PublishError.self) { try publish(options) { $0.creates = true } }
        #expect(error?.exitCode == 3 && error?.message.contains("this project's xcache.json says") == true)
      }
      #expect(!origin.requests().contains { $0.hasPrefix("POST") })
    }
  }

  @Test func rootOfAnotherAppIsRefused() throws {
    try begin()
    let other = try Signed(
      TrustRoot(
        app: AppName("other"), number: .first, keys: [app.rootKey.trustKey, app.headKey.trustKey],
        roots: SignedApp.group(app.rootKey.trustKey.id), heads: [app.headKey.trustKey.id])
    ).signed(by: app.rootKey)
    var options = app.options()
    options.root = RootFile(path: "root.json", signed: other)
    let error = #expect(throws: PublishError.self) { try publish(options) }
    #expect(error?.exitCode == 3 && error?.message.contains("a root of app other") == true)
  }

  @Test func statementOfOtherFilesIsRefused() throws {
    try begin()
    var options = SigningOptions()
    options.given = try publisher.statements(of: [source], for: channel, app.options())
    try folder.write("site/a.js", "three")
    _ = origin.requests()
    let error = #expect(throws: PublishError.self) { try publish(options) }
    #expect(error?.message.contains("other files") == true)
    #expect(!origin.requests().contains { $0.hasPrefix("POST") })
  }
}
