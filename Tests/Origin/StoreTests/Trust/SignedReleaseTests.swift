import Manifests
import System
import Testing
import TestSupport
import Trust
import Values

@testable import Store

@Suite struct SignedReleaseTests {
  private let a2 = ["a.js": Sample("a2")]

  private func begun() throws -> SignedShop {
    let shop = try SignedShop()
    _ = try shop.begin()
    return shop
  }

  @Test func signedReleaseIsTaken() throws {
    let shop = try begun()
    let signed = try shop.statement("a", a2, serial: 20)
    let outcome = try shop.publish("a", base: 1, set: a2, with: [signed])
    #expect(outcome.version.number == 4)
    #expect(outcome.trust.map(\.bundle.text) == ["a"])
    #expect(outcome.trust.first?.signers == [shop.releaseKey.trustKey.id])
    #expect(outcome.trust.first?.content == (try SignedShop.digest(a2)))
    let row = try #require(try shop.store.auditLog(limit: 1).first)
    #expect(row.result.contains(shop.releaseKey.trustKey.id.text) && row.result.contains("\"serial\":20"))
    let device = try shop.device(try shop.root())
    #expect(try shop.verdict(device, to: 4).releases?.count == 2)
    // A device with the version before needs the statement of what changed only.
    var held = try shop.verdict(device, to: 3)
    #expect(held.failure == .headManifest)
    let bytes = try #require(
      try shop.store.answerTrust(
        of: try shop.store.shop(), from: ManifestVersion(3), to: ManifestVersion(4)))
    var reader = JSONReader(bytes)
    #expect(
      try AnswerTrust(reading: &reader).releases.compactMap { try? $0.get().document.bundle.text } == ["a"])
    held = try shop.verdict(device, from: 2, to: 4)
    #expect(held.failure == nil)
  }

  @Test func whatDevicesWouldRefuseIsRefused() throws {
    let shop = try begun()
    func problems(_ statements: [Signed<ReleaseStatement>]) -> [String] {
      SignedShop.problems { try shop.publish("a", base: 1, set: a2, with: statements) }
    }
    #expect(problems([]) == ["online a release-missing"])
    #expect(
      problems([try shop.statement("a", a2, serial: 20, by: shop.otherKey)]) == ["online a release-key"])
    #expect(
      problems([try shop.statement("a", a2, serial: 20, channels: ["test"])]) == ["online a release-place"])
    #expect(
      problems([try shop.statement("a", ["a.js": Sample("a3")], serial: 20)]) == ["online a release-content"])
    // Of another bundle's statement nothing is known.
    #expect(problems([try shop.statement("b", a2, serial: 20)]) == ["online a release-missing"])
    let channel = try shop.store.shop()
    #expect(channel.version.number == 3)
    #expect(try shop.store.bundleTrust(of: channel, at: channel.version).allSatisfy { $0.problem == nil })
    // The good one counts, whatever comes beside it.
    let both = [
      try shop.statement("a", a2, serial: 30, by: shop.otherKey), try shop.statement("a", a2, serial: 20),
    ]
    #expect(problems(both) == ["taken"])
  }

  @Test func scopeIsChannelBundleAndURLs() throws {
    let shop = try SignedShop()
    try shop.publishTwo()
    let prefix = try #require(ReleaseGrant.URLPrefix("https://m.example.com/"))
    let elsewhere = try #require(ReleaseGrant.URLPrefix("https://n.example.com/"))
    func grant(_ bundle: String, _ prefix: ReleaseGrant.URLPrefix) throws -> ReleaseGrant {
      ReleaseGrant(
        signers: try SignedShop.group(shop.releaseKey),
        bundles: .some([try #require(ReleaseGrant.BundlePattern(bundle))]), prefixes: .some([prefix]))
    }
    #expect(
      SignedShop.problems {
        try shop.push(try shop.root(grants: [try grant("a", prefix), try grant("b", elsewhere)]))
      } == ["online b release-scope"])
    try shop.push(try shop.root(grants: [try grant("a", prefix), try grant("b", prefix)]))
    let c = ["c.js": Sample("c1")]
    #expect(
      SignedShop.problems {
        try shop.publish("c", base: 0, set: c, with: [try shop.statement("c", c, serial: 20)])
      } == ["online c release-scope"])
  }

  /// A key for a folder can't make a page of it answer for the rest of the site.
  @Test func scopeIsFallbacksToo() throws {
    let shop = try SignedShop()
    try shop.publishTwo()
    let prefix = try #require(ReleaseGrant.URLPrefix("https://m.example.com/c/"))
    let grants = [
      ReleaseGrant(signers: try SignedShop.group(shop.releaseKey)),
      ReleaseGrant(signers: try SignedShop.group(shop.otherKey), prefixes: .some([prefix])),
    ]
    try shop.push(try shop.root(grants: grants))
    func page(_ path: String) throws -> [String: Sample] {
      ["c/p.html": Sample("c", type: "text/html", fallbacks: try PageFallbacks([.init(prefix: path)]))]
    }
    func problem(_ path: String, by key: P256PrivateKey) throws -> TrustFailure? {
      let signed = try shop.statement("c", try page(path), serial: 20, by: key)
      let dry = try shop.publish("c", base: 0, set: try page(path), dryRun: true, with: [signed])
      #expect(dry.trust.count == 1)
      return dry.trust.first?.problem
    }
    #expect(try problem("/", by: shop.otherKey) == .releaseScope)
    #expect(try problem("/c/../", by: shop.otherKey) == .releaseScope)
    #expect(try problem("/", by: shop.releaseKey) == nil)
    #expect(try problem("/c/", by: shop.otherKey) == nil)
    let wide = try shop.statement("c", try page("/"), serial: 20, by: shop.otherKey)
    #expect(
      SignedShop.problems { try shop.publish("c", base: 0, set: try page("/"), with: [wide]) }
        == ["online c release-scope"])
    let signed = try shop.statement("c", try page("/c/"), serial: 20, by: shop.otherKey)
    // The fallback is signed.
    #expect(
      SignedShop.problems { try shop.publish("c", base: 0, set: try page("/c/d/"), with: [signed]) }
        == ["online c release-content"])
    let version = try shop.publish("c", base: 0, set: try page("/c/"), with: [signed]).version.number
    #expect(try shop.verdict(try shop.device(try shop.root(grants: grants)), to: version).failure == nil)
    // The bundle is there, and so is a statement for it that a key of less would have to cover.
    let root = try shop.statement("c", try page("/"), serial: 30, by: shop.releaseKey)
    try shop.publish("c", base: version, set: try page("/"), with: [root])
    let narrow = ReleaseGrant(
      signers: try SignedShop.group(shop.releaseKey), bundles: .all, prefixes: .some([prefix]))
    #expect(
      SignedShop.problems { try shop.push(try shop.root(2, grants: [narrow]), releases: []) }
        .contains("online c release-scope"))
  }

  @Test func floorsRiseWithReleasesToAll() throws {
    let shop = try begun()
    try shop.publish("a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20, floor: 15)])
    let a3 = ["a.js": Sample("a3")]
    #expect(
      SignedShop.problems {
        try shop.publish("a", base: 4, set: a3, with: [try shop.statement("a", a3, serial: 14)])
      } == ["online a release-floor"])
    // So does going back to what is below it; the dry run says so.
    #expect(SignedShop.problems { _ = try shop.rollback(to: 3) } == ["online a release-floor"])
    let dry = try shop.rollback(to: 3, dryRun: true)
    #expect(dry.release.trust.map(\.problem) == [.releaseFloor])
    // Signed anew, it comes back.
    let again = try shop.statement("a", ["a.js": Sample("a1")], serial: 16)
    #expect(try shop.rollback(to: 3, with: [again]).release.trust.first?.statement == again)
    #expect(try shop.verdict(try shop.device(try shop.root()), to: 5).failure == nil)
  }

  @Test func rollbackNeedsNoKey() throws {
    let shop = try begun()
    try shop.publish("a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20)])
    let outcome = try shop.rollback(to: 3)
    #expect(outcome.release.version.number == 5)
    #expect(outcome.release.trust.first?.statement?.document.serial.number == 10)
    #expect(try shop.bundles(at: 5) == ["a.js": "a", "b.js": "b"])
    // Also from before the first root.
    try shop.publish("a", base: 5, set: a2)
    #expect(try shop.rollback(to: 2).release.version.number == 7)
    #expect(try shop.bundles(at: 7) == ["a.js": "a", "b.js": "b"])
    #expect(try shop.verdict(try shop.device(try shop.root()), to: 7).failure == nil)
  }

  @Test func candidateIsSigned() throws {
    let shop = try begun()
    #expect(
      SignedShop.problems { try shop.publish("a", base: 1, set: a2, share: 500) } == [
        "online a release-missing"
      ])
    let signed = try shop.statement("a", a2, serial: 20)
    let outcome = try shop.publish("a", base: 1, set: a2, share: 500, with: [signed])
    #expect(outcome.rollout?.open?.candidate.number == 4)
    let device = try shop.device(try shop.root())
    let verdict = try shop.verdict(device, to: 4)
    #expect(verdict.failure == nil && verdict.isCandidate)
    #expect(try !shop.verdict(device, to: 3).isCandidate)
    // A release of the other bundle makes the candidate again.
    let b2 = ["b.js": Sample("b2")]
    try shop.publish("b", base: 2, set: b2, with: [try shop.statement("b", b2, serial: 20)])
    #expect(try shop.store.shop().full.version.number == 5)
    #expect(try shop.verdict(device, to: 6).isCandidate)
    #expect(try shop.verdict(device, to: 5).failure == nil)
    _ = try shop.store.haltRollout(shop.app, .online, nil, by: shop.anna, reason: "broken")
    #expect(try shop.verdict(device, to: 7).failure == nil)
    try shop.publish("a", base: 7, set: a2, share: 500)
    _ = try shop.store.changeRollout(
      RolloutInput(app: shop.app, channel: .online, .complete, by: shop.anna))
    #expect(try shop.verdict(device, to: 8).failure == nil)
  }

  @Test func promotionTakesTheStatementAlong() throws {
    let shop = try begun()
    let beta = try ChannelName("beta")
    try shop.store.send(a2.values)
    var request = try shop.store.request([try shop.store.change("a", base: 0, set: a2)])
    request.channel = beta
    request.statements = [try shop.statement("a", a2, serial: 20, channels: ["beta", "online"])]
    let first = try shop.store.commit(request)
    // A new channel of the app names its bundles from its first version on.
    #expect(first.channel?.bundlesSince?.number == 1 && first.createdChannel)
    let there = try shop.store.channel(shop.app, beta)
    #expect(try shop.store.headDocument(of: there) != nil)
    var promotion = try shop.store.request([try shop.store.change("a", base: 1, set: a2)])
    promotion.source = ReleaseSource(channel: there, version: there.version, bundle: nil)
    #expect(try shop.store.commit(promotion).version.number == 4)
    #expect(try shop.verdict(try shop.device(try shop.root()), to: 4).failure == nil)
  }

  @Test func urlMovesFromOneBundleToAnother() throws {
    let shop = try begun()
    let moved = ["b.js": Sample("b1"), "a.js": Sample("a1")]
    let (one, two) = (try BundleName("a"), try BundleName("b"))
    // As long as the other one has it, it is refused.
    #expect {
      try shop.publish(
        "b", base: 2, set: ["a.js": Sample("a1")], with: [try shop.statement("b", moved, serial: 20)])
    } throws: {
      guard case StoreError.sharedURLs(_, let shared) = $0 else { return false }
      return shared.map(\.bundles) == [[one, two]]
    }
    let outcome = try shop.publish(
      [
        try shop.store.change("a", base: 1, remove: ["a.js"]),
        try shop.store.change("b", base: 2, set: ["a.js": Sample("a1")]),
      ], sending: [], with: [try shop.statement("b", moved, serial: 20)])
    #expect(outcome.version.number == 4 && outcome.counts == ChangeCounts(changed: 1))
    #expect(outcome.changes.map(\.entry?.bundle) == [two])
    let channel = try shop.store.shop()
    #expect(try shop.bundles(at: 4) == ["a.js": "b", "b.js": "b"])
    let changes = try shop.store.changes(channel, from: ManifestVersion(3), to: ManifestVersion(4))
    #expect(changes.map(\.entry?.bundle) == [two] && changes[0].hadEntry)
    let before = try shop.store.manifest(channel, at: ManifestVersion(3))[0].entry
    #expect(changes[0].entry?.download == before.download)
    #expect(try shop.store.entry(try url("a.js"), of: channel, at: channel.version)?.bundle == two)
    let differences = try shop.store.entryChanges(channel, from: ManifestVersion(3), to: ManifestVersion(4))
    #expect(differences.map(\.old?.bundle) == [one] && differences.map(\.new?.bundle) == [two])
    #expect(try shop.verdict(try shop.device(try shop.root()), to: 4).failure == nil)
    // The bundle that it came from can't get it back alone, but all can.
    #expect { try shop.rollback(to: 3, bundle: "a") } throws: {
      if case StoreError.sharedURLs = $0 { true } else { false }
    }
    #expect(try shop.rollback(to: 3).release.changes.map(\.entry?.bundle) == [one])
    #expect(try shop.bundles(at: 5) == ["a.js": "a", "b.js": "b"])
    #expect(try shop.verdict(try shop.device(try shop.root()), to: 5).failure == nil)
  }

  @Test func unpublishNeedsNoStatement() throws {
    let shop = try begun()
    let outcome = try shop.publish([BundleChange(try BundleName("a"), .unpublish)], sending: [])
    #expect(outcome.version.number == 4 && outcome.trust.isEmpty)
    #expect(try shop.bundles(at: 4) == ["b.js": "b"])
    #expect(try shop.verdict(try shop.device(try shop.root()), to: 4).releases?.count == 1)
  }

  @Test func dryRunAndPreviewSayWhatIsToBeSigned() throws {
    let shop = try begun()
    let dry = try shop.publish("a", base: 1, set: ["c.js": Sample("c1")], dryRun: true)
    let whole = try SignedShop.digest(["a.js": Sample("a1"), "c.js": Sample("c1")])
    #expect(dry.trust.map(\.content) == [whole] && dry.trust.map(\.problem) == [.releaseMissing])
    let request = try shop.store.request([
      try shop.store.change("a", base: 1, set: ["c.js": Sample("c1")])
    ])
    #expect(try shop.store.preview(request).trust.map(\.content) == [whole])
    #expect(try shop.store.preview(request).entries.values.map(\.bundle?.text) == ["a"])
  }

  @Test func anotherPublicURLChangesNoContent() throws {
    let shop = try begun()
    _ = try shop.store.rebase(
      RebaseInput(
        app: shop.app, channel: .online, publicURL: try BaseURL("https://other.example.com/y"), by: shop.anna)
    )
    #expect(try shop.bundles(at: 4) == ["a.js": "a", "b.js": "b"])
    #expect(try shop.verdict(try shop.device(try shop.root()), to: 4).failure == nil)
  }

  @Test func appWithoutARootIsAsBefore() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish("a", base: 0, set: a2)
    let channel = try store.shop()
    #expect(channel.bundlesSince == nil)
    #expect(try store.extras(of: channel).root == nil)
    #expect(try store.headDocument(of: channel) == nil)
    #expect(try !store.renewHead(of: channel.id))
    #expect(try store.answerTrust(of: channel, from: nil, to: channel.version) == nil)
    #expect(try store.manifest(channel, at: channel.version)[0].entry.others.isEmpty)
    #expect(try !store.auditLog(limit: 1)[0].result.contains("signed"))
  }

  @Test func statementsForWhatIsStored() throws {
    let shop = try begun()
    var input = StatementsInput(app: shop.app, by: shop.anna)
    input.releases = [try shop.statement("a", ["a.js": Sample("a1")], serial: 40, floor: 40)]
    #expect(try shop.store.keep(input) == 1)
    #expect(try shop.store.keep(input) == 0)
    let channel = try shop.store.shop()
    #expect(
      try shop.store.bundleTrust(of: channel, at: channel.version)[0].statement?.document.serial.number == 40)
    input.releases = [try shop.statement("a", a2, serial: 50)]
    #expect(SignedShop.problems { _ = try shop.store.keep(input) } == ["online a release-content"])
    input.releases = [try shop.statement("a", ["a.js": Sample("a1")], serial: 39)]
    #expect(SignedShop.problems { _ = try shop.store.keep(input) } == ["online a release-floor"])
    input.app = try AppName("other")
    #expect { try shop.store.keep(input) } throws: {
      if case StoreError.unknownApp = $0 { true } else { false }
    }
  }

  /// An answer has at most so many statements.
  @Test func channelHasAtMostAThousandBundles() throws {
    let shop = try begun()
    let names = (0..<AnswerTrust.releaseLimit - 1).map { "n\($0)" }
    let sample = Sample("same")
    let changes = try names.map { try shop.store.change($0, base: 0, set: ["\($0).js": sample]) }
    let statements = try names.map { try shop.statement($0, ["\($0).js": sample], serial: 20) }
    #expect {
      try shop.publish(changes, sending: [sample], with: statements)
    } throws: {
      if case StoreError.tooManyBundles(_, _, limit: 1000) = $0 { true } else { false }
    }
    try shop.publish(Array(changes.dropLast()), sending: [sample], with: statements)
  }

  @Test func prefetchConfigIsSignedToo() throws {
    let shop = try begun()
    let content = Array(#"[{"url":"https://m.example.com/a.html"}]"#.utf8)
    func push(_ key: P256PrivateKey?) throws {
      var request = DocumentRequest(
        app: shop.app, channel: .online, document: .prefetch, kind: .push, author: "anna", message: "")
      if let key {
        let statement = try PrefetchStatement(
          app: shop.app, channels: [.online], content: SHA256.of(content), serial: try #require(Serial(20)),
          floor: try #require(Serial(20)))
        request.statement = try Signed(statement).signed(by: key)
      }
      _ = try shop.store.change(request) { (_, _) throws(StoreError) in content }
    }
    func failure(_ key: P256PrivateKey?) -> TrustFailure? {
      do {
        try push(key)
      } catch StoreError.unsignedPrefetch(_, _, let failure) {
        return failure
      } catch {
        Issue.record(error)
      }
      return nil
    }
    #expect(failure(nil) == .prefetchMissing)
    #expect(failure(shop.otherKey) == .prefetchKey)
    #expect(failure(shop.releaseKey) == nil)
    let channel = try shop.store.shop()
    #expect(try shop.store.extras(of: channel).prefetchTrust != nil)
    #expect(try shop.store.prefetchStatement(of: channel, at: 1)?.document.serial.number == 20)
  }
}
