import Manifests
import OriginAPI
import OriginClient
import SocketServer
import System
import TestSupport
import Testing
import Trust
import Values

@testable import Publishing

/// Releases that wait for signatures: who publishes with too few, and who adds one to what an origin says, whatever that is.
@Suite struct AwaitedReleaseTests {
  private let folder: Scratch
  private let origin = FakeOrigin()
  private let told = Locked<[Publisher.Progress]>([])
  private let app: SignedApp

  /// An app whose bundle two keys sign, at version 1, and files that are to be version 2.
  init() throws {
    folder = try Scratch()
    app = try SignedApp { release, other in
      [ReleaseGrant(signers: try SignedApp.group(release, other, threshold: 2))]
    }
    try folder.write("site/a.js", "one")
    try folder.write("site/old.js", "old")
    _ = try publisher.publish([source], to: channel)
    try folder.write("site/a.js", "two")
    try folder.write("site/b.js", "b")
    try Kernel.remove("\(folder.path)/site/old.js")
    try give(app)
  }

  private func give(_ app: SignedApp) throws {
    let overview = JSONValue(encoding: try app.overview())
    origin.with { ($0.root, $0.trust) = (1, overview) }
  }

  private var channel: ChannelAddress {
    get throws { ChannelAddress(try AppName("shop"), .online) }
  }

  private var source: BundleSource {
    get throws {
      BundleSource(
        try BundleName("main"),
        folders: [.init("\(folder.path)/site", baseURL: try BaseURL("https://m.example.com/main/"))])
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

  /// Publishes with the first key, at an origin that lets the release wait; returns the request.
  private func publish(dryRun: Bool = false) throws -> (result: PublishResult, request: JSONObject) {
    let act = JSONValue(
      encoding: ScheduledInfo(
        id: 42, act: "publish", summary: "publish of main", due: Moment(milliseconds: 0), state: "waiting",
        author: "ci", at: Moment(milliseconds: 0)))
    origin.with { model in
      model.fault = { model, request in
        guard !dryRun, request.method == "POST", request.path.hasSuffix("/releases") else { return nil }
        model.releases.append((try? JSONValue.parse(request.body)) ?? .null)
        let answer: JSONValue = [
          "added": 0, "at": .string(FakeOrigin.time), "bundles": [], "bytes": 0, "changed": false,
          "changed_count": 0, "createdApp": false, "createdChannel": false, "deltasStored": false,
          "missing": [], "newBytes": 0, "previous": "1", "receipt": .null, "removed": 0, "resources": 0,
          "scheduled": act, "version": "1",
        ]
        return .answer(202, body: answer.canonical)
      }
    }
    var options = PublishOptions()
    options.signing = app.options()
    options.release.dryRun = dryRun
    let result = try publisher.publish([source], to: channel, options)
    return (result, try #require(origin.with { $0.releases.last }?.object))
  }

  /// The release as an origin keeps it.
  /// - Parameters:
  ///   - statement: changes the statement.
  ///   - change: changes what is carried out.
  private func awaited(
    _ change: (inout JSONObject) -> Void = { _ in },
    statement: (Signed<ReleaseStatement>) throws -> Signed<ReleaseStatement> = { $0 }
  ) throws -> AwaitedRelease {
    var request = try publish().request
    let signed = try statement(Signed(json: try #require(request["statements"]?.array?.first)))
    (request["statements"], request["awaitSignatures"]) = (nil, nil)
    change(&request)
    let body = JSONValue.object(request).canonical
    origin.with { model in
      model.fault = { _, request in
        request.path.hasSuffix("/schedules/42/request") ? .answer(body: body) : nil
      }
    }
    return try publisher.awaited(act(signed), in: channel, SigningOptions())
  }

  private func act(_ signed: Signed<ReleaseStatement>) throws -> ScheduledInfo {
    var act = ScheduledInfo(
      id: 42, act: "publish", summary: "publish of main", due: Moment(milliseconds: 0), state: "waiting",
      author: "ci", at: Moment(milliseconds: 0))
    act.signatures = [
      AwaitedSignatures(
        bundle: try BundleName("main"), content: signed.document.content, envelope: signed.envelope.json,
        keys: [], missing: 1, candidates: [])
    ]
    return act
  }

  /// Makes another statement, signed by some.
  private func statement(
    _ old: ReleaseStatement, channels: Set<ChannelName> = [.online], content: SHA256? = nil,
    serial: Serial? = nil, by keys: [P256PrivateKey]
  ) throws -> Signed<ReleaseStatement> {
    var signed = try Signed(
      ReleaseStatement(
        app: old.app, bundle: old.bundle, channels: channels, content: content ?? old.content,
        serial: serial ?? old.serial))
    for key in keys { signed = try signed.signed(by: key) }
    return signed
  }

  private func name(_ body: () throws -> Void) -> String? {
    do {
      try body()
      return nil
    } catch PublishError.awaited(let fault) {
      return "\(fault)".prefix { $0 != "(" }.description
    } catch {
      return "\(error)"
    }
  }

  // MARK: - The first signature

  @Test func releaseWithTooFewSignaturesWaits() throws {
    let (result, request) = try publish()
    #expect(result.answer.scheduled?.id == 42 && !result.answer.isChanged)
    #expect(request["awaitSignatures"]?.bool == true)
    let signed = try Signed<ReleaseStatement>(json: try #require(request["statements"]?.array?.first))
    #expect(signed.envelope.signatures.map(\.key) == [app.releaseKey.trustKey.id])
    #expect(result.statements == [signed])
    // Nothing was taken for live: the same again is asked for again.
    #expect(try publish().request["awaitSignatures"]?.bool == true)
  }

  @Test func dryRunSaysThatItWouldWait() throws {
    let request = try publish(dryRun: true).request
    #expect(request["awaitSignatures"] == nil && request["statements"] == nil)
    let lacking = LackingSignatures(
      bundle: try BundleName("main"), missing: 1, needed: 2, candidates: [app.otherKey.trustKey.id])
    let signing = Publisher.Progress.wouldSign(
      try BundleName("main"), keys: [app.releaseKey.trustKey.id], channels: [.online])
    #expect(told.withLock { $0 } == [signing, .wouldWait([lacking])])
  }

  @Test func enoughKeysDontWait() throws {
    var options = PublishOptions()
    options.signing.signers = LazySigners(KeyFile(app.releaseKey), KeyFile(app.otherKey))
    #expect(try publisher.publish([source], to: channel, options).answer.isChanged)
    #expect(origin.with { $0.releases.last?["awaitSignatures"] } == nil)
  }

  /// Has the origin say that a release waits, and keep no other.
  private func announce(_ act: ScheduledInfo, _ request: JSONObject) throws {
    var overview =
      try publisher.api.send(OriginCall("GET", channel.path)).object ?? JSONObject()
    overview["scheduled"] = .array([JSONValue(encoding: act)])
    let (body, kept) = (JSONValue.object(overview).canonical, JSONValue.object(request).canonical)
    origin.with { model in
      model.fault = { model, asked in
        if asked.path.hasSuffix("/schedules/42/request") { return .answer(body: kept) }
        if asked.path.hasSuffix("/releases"), let release = try? JSONValue.parse(asked.body),
          release["awaitSignatures"]?.bool == true
        {
          model.releases.append(release)
          return FakeOrigin.problem(409, "busy", "another one")
        }
        return asked.method == "GET" && asked.path.hasSuffix("/channels/online") ? .answer(body: body) : nil
      }
    }
  }

  /// The release that the first key has published waits.
  private func announced(problem: String? = nil) throws {
    let request = try publish().request
    var act = try act(Signed(json: try #require(request["statements"]?.array?.first)))
    act.signatures?[0].problem = problem
    try announce(act, request)
    told.withLock { $0 = [] }
  }

  @Test func sameFilesDontWaitTwice() throws {
    try announced()
    var options = PublishOptions()
    options.signing = app.options(app.otherKey)
    let result = try publisher.publish([source], to: channel, options)
    #expect(result.isWaitingAlready && result.answer.scheduled?.id == 42 && !result.answer.isChanged)
    #expect(origin.with { $0.version == 1 && $0.releases.last?["dryRun"] == true })
    #expect(told.withLock { $0.isEmpty })
    // One with another floor is another one.
    options.signing.raisesFloor = true
    #expect(throws: PublishError.self) { try publisher.publish([source], to: channel, options) }
    #expect(told.withLock { $0.contains(.waitsAlready(42)) })
    #expect(origin.with { $0.releases.last?["awaitSignatures"] == true })
  }

  @Test func releaseWithOtherTermsWaitsBesides() throws {
    let changes: [(inout ReleaseOptions) -> Void] = [
      { $0.rollout = RolloutTerms(share: 500) }, { $0.schedule = Moment(milliseconds: 4_000_000_000_000) },
      { $0.breakGlass = "fire" },
    ]
    for change in changes {
      try announced()
      var options = PublishOptions()
      options.signing = app.options(app.otherKey)
      change(&options.release)
      let made = origin.with { $0.releases.count }
      #expect(throws: PublishError.self) { try publisher.publish([source], to: channel, options) }
      #expect(told.withLock { $0.contains(.waitsAlready(42)) })
      #expect(origin.with { $0.releases.count > made && $0.releases.last?["awaitSignatures"] == true })
    }
  }

  @Test func whatCantBeCompletedIsPublishedAgain() throws {
    try announced(problem: "release-floor")
    var options = PublishOptions()
    options.signing = app.options(app.otherKey)
    let made = origin.with { $0.releases.count }
    #expect(throws: PublishError.self) { try publisher.publish([source], to: channel, options) }
    #expect(origin.with { $0.releases.count > made && $0.releases.last?["awaitSignatures"] == true })
  }

  @Test func whoPublishesWhatIsLiveIsToldWhatWaits() throws {
    try announced()
    try folder.write("site/a.js", "one")
    try folder.write("site/old.js", "old")
    try Kernel.remove("\(folder.path)/site/b.js")
    #expect(try !publisher.publish([source], to: channel).answer.isChanged)
    #expect(told.withLock { $0 } == [.stillWaits(42, "publish of main by ci")])
  }

  // MARK: - The second one

  @Test func nextKeySignsWhatWasCompared() throws {
    let release = try awaited()
    let bundle = try #require(release.bundles.first)
    #expect(bundle.signers == [app.releaseKey.trustKey.id])
    #expect(bundle.lacking?.candidates == [app.otherKey.trustKey.id])
    let base = "https://m.example.com/main/"
    #expect(bundle.changes.map(\.url) == ["\(base)a.js", "\(base)b.js", "\(base)old.js"])
    #expect(bundle.changes.map(\.change) == [.changed, .added, .removed])
    try publisher.compare(release, with: [source])
    let signed = try #require(try release.signed(by: [KeyFile(app.otherKey)]).first)
    #expect(signed.envelope.signatures.count == 2)
    #expect(RootJudge(app.root).failure(of: bundle.next, signed, in: .online) == nil)
  }

  @Test func keysThatArentAskedForSignNothing() throws {
    let release = try awaited()
    #expect(name { _ = try release.signed(by: [KeyFile(app.releaseKey)]) } == "signedAlready")
    #expect(name { _ = try release.signed(by: [KeyFile(P256PrivateKey())]) } == "notAsked")
    let both = try release.signed(by: [KeyFile(app.releaseKey), KeyFile(app.otherKey)])
    #expect(both.first?.envelope.signatures.count == 2)
  }

  @Test func whatItWouldDoIsAskedFor() throws {
    let release = try awaited()
    #expect(release.needsSignature)
    guard case .made(rollout: nil, freeze: nil)? = try publisher.forecast(release) else {
      Issue.record("it would be made")
      return
    }
    #expect(origin.with { $0.version == 1 && $0.releases.last?["dryRun"] == true })
    for (status, isTold) in [(403, false), (409, true)] {
      origin.with { $0.fault = { _, _ in FakeOrigin.problem(status, "if-version", "it changed") } }
      let forecast = try publisher.forecast(release)
      if case .refused = forecast { #expect(isTold) } else { #expect(!isTold && forecast == nil) }
    }
  }

  // MARK: - Origins that lie

  @Test func otherContentIsNotSigned() throws {
    let url = "https://m.example.com/main/b.js"
    let changes: [(inout JSONObject) -> Void] = [
      // A file has other bytes, is missing, or one more is there; the bundle isn't in it at all.
      { Self.change(&$0) { $0[url] = JSONValue.object(Self.changed($0[url])) } },
      { Self.change(&$0) { $0[url] = nil } },
      { Self.change(&$0) { $0["https://m.example.com/main/c.js"] = $0[url] } },
      { $0["bundles"] = [] },
    ]
    for change in changes { #expect(name { _ = try awaited(change) } == "otherContent") }
  }

  private static func change(_ request: inout JSONObject, _ change: (inout JSONObject) -> Void) {
    guard var bundle = request["bundles"]?.array?.first?.object, var set = bundle["set"]?.object else {
      return
    }
    change(&set)
    bundle["set"] = .object(set)
    request["bundles"] = [.object(bundle)]
  }

  private static func changed(_ content: JSONValue?) -> JSONObject {
    var content = content?.object ?? JSONObject()
    content["sha256"] = .string(SHA256.of([7]).hex)
    return content
  }

  @Test func statementsThatNobodyMayHaveMadeArentSigned() throws {
    let (release, stranger) = (app.releaseKey, P256PrivateKey())
    #expect(
      name { _ = try awaited(statement: { try statement($0.document, by: []) }) } == "unsigned")
    #expect(
      name { _ = try awaited(statement: { try statement($0.document, by: [stranger]) }) } == "unsigned")
    let test = try ChannelName("test")
    #expect(
      name { _ = try awaited(statement: { try statement($0.document, channels: [test], by: [release]) }) }
        == "otherPlace")
    #expect(
      name { _ = try awaited(statement: { try statement($0.document, content: .of([1]), by: [release]) }) }
        == "otherContent")
    #expect(
      name { _ = try awaited(statement: { try statement($0.document, serial: .highest, by: [release]) }) }
        == "serialAhead")
  }

  @Test func whatAnotherReleaseHasRuledOutIsntSigned() throws {
    let later = Clock.unixMilliseconds()
    let bundle = try app.bundle(serial: later, floor: later, by: [app.releaseKey, app.otherKey])
    let overview = JSONValue(encoding: try app.overview(bundles: [bundle]))
    origin.with { $0.trust = overview }
    let found = name {
      _ = try awaited(statement: { signed in
        try statement(signed.document, serial: try SignedApp.serial(later - 1), by: [app.releaseKey])
      })
    }
    #expect(found == "refused")
  }

  // MARK: - Builds

  @Test func buildThatDiffersIsListed() throws {
    let release = try awaited()
    try folder.write("site/a.js", "another")
    try folder.write("site/new.js", "new")
    try Kernel.remove("\(folder.path)/site/b.js")
    let error = #expect(throws: PublishError.self) { try publisher.compare(release, with: [source]) }
    for words in ["a.js: other bytes", "b.js: only in the release", "new.js: only here", "3 files differ"] {
      #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
    #expect(error?.exitCode == 3)
  }

  @Test func everyBundleIsCompared() throws {
    let release = try awaited()
    #expect(name { try publisher.compare(release, with: []) } == "noBuild")
    let other = BundleSource(
      try BundleName("other"),
      folders: [.init("\(folder.path)/site", baseURL: try BaseURL("https://m.example.com/other/"))])
    #expect(name { try publisher.compare(release, with: [source, other]) } == "notInRelease")
  }

  /// Another release came between: what the waiting one was made on is read from its version.
  @Test func releaseOnAnOlderVersionIsRebuilt() throws {
    let base = origin.with { $0.current("main") }
    let manifest = JSONValue.object(
      JSONObject(
        base.map { url, entry in
          var entry = entry.object ?? JSONObject()
          (entry["bundle"], entry["download"], entry["version"]) = ("main", .string(url), "1")
          return .init(key: url, value: .object(entry))
        })
    ).canonical
    let request = try publish().request
    let signed = try Signed<ReleaseStatement>(json: try #require(request["statements"]?.array?.first))
    var kept = request
    kept["statements"] = nil
    let body = JSONValue.object(kept).canonical
    origin.with { model in
      model.version = 2
      var entries = base
      entries["https://m.example.com/main/a.js"] = nil
      model.bundles["main", default: []].append((2, entries))
      model.fault = { _, request in
        if request.path.hasSuffix("/schedules/42/request") { return .answer(body: body) }
        return request.path.contains("/manifest?version=1") ? .answer(body: manifest) : nil
      }
    }
    let release = try publisher.awaited(act(signed), in: channel, SigningOptions())
    #expect(release.bundles.first?.changes.first?.change == .added)
    try publisher.compare(release, with: [source])
  }
}
