import Manifests
import System
import Testing
import TestSupport
import Trust
import Values

@testable import Store

@Suite struct RootPushTests {
  private func failure(_ body: () throws -> Void) -> TrustFailure? {
    do {
      try body()
    } catch StoreError.rootRefused(_, let failure, _) {
      return failure
    } catch {
      Issue.record(error)
    }
    return nil
  }

  @Test func firstRootMakesEntriesNameTheirBundle() throws {
    let shop = try SignedShop()
    try shop.publishTwo()
    let before = try shop.store.manifest(try shop.store.shop(), at: ManifestVersion(2))
    #expect(try shop.store.trust(of: shop.app) == nil)
    #expect(try shop.store.bundleTrust(of: try shop.store.shop(), at: ManifestVersion(2)).isEmpty)
    var shown: [RootOutcome] = []
    var prepared: [Int] = []
    let outcome = try shop.store.push(
      try shop.input(try shop.root()),
      digest: { release throws(StoreError) in
        prepared.append(release.changes.count)
        #expect(release.channel.bundlesSince == release.version)
        return .of([])
      }, committed: { shown.append($0) })
    #expect(outcome.changed && shown.count == 1 && prepared == [2])
    let release = try #require(outcome.channels.first?.release)
    #expect(release.version.number == 3 && release.counts == ChangeCounts(changed: 2))
    let channel = try shop.store.shop()
    #expect(channel == outcome.channels[0].info)
    #expect(channel.bundlesSince?.number == 3 && channel.version.number == 3)
    #expect(try shop.store.release(channel.version, of: channel).kind == .rebase)
    #expect(try shop.bundles(at: 2) == ["a.js": "", "b.js": ""])
    #expect(try shop.bundles(at: 3) == ["a.js": "a", "b.js": "b"])
    // Nothing else of an entry is another: devices fetch no file.
    let after = try shop.store.manifest(channel, at: channel.version)
    #expect(after.map(\.entry.download) == before.map(\.entry.download))
    #expect(after.map(\.entry.version) == before.map(\.entry.version))
    #expect(try shop.store.fullBundles(of: channel).map(\.version.number) == [1, 2])
    #expect(try shop.store.extras(of: channel).root == 1)
    #expect(try shop.store.trust(of: shop.app)?.roots.map(\.author) == ["anna"])
    #expect(try shop.store.rootDocument(of: shop.app, 1) != nil)
    #expect(try shop.store.rootDocument(of: shop.app, 2) == nil)
    // No patch crosses it.
    #expect(channel.crossesRebase(from: ManifestVersion(2), to: ManifestVersion(3)))
    #expect(!channel.crossesRebase(from: ManifestVersion(1), to: ManifestVersion(2)))
    #expect(!channel.crossesRebase(from: .none, to: ManifestVersion(3)))
    #expect(try shop.store.crossesRebase(channel, from: ManifestVersion(1), to: ManifestVersion(3)))
    #expect(
      try shop.store.changes(channel, from: ManifestVersion(2), to: ManifestVersion(3)).map(\.entry?.bundle)
        == [try BundleName("a"), try BundleName("b")])
    #expect(try shop.store.diff(channel, from: ManifestVersion(2), to: ManifestVersion(3)).isEmpty)
    #expect(try shop.store.basesWorthDeltas(channel, count: 5).isEmpty)
  }

  @Test func deviceTakesWhatTheFirstRootLeaves() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    let verdict = try shop.verdict(try shop.device(try shop.root()), to: 3)
    #expect(verdict.failure == nil && verdict.releases?.count == 2 && verdict.state.head != nil)
  }

  @Test func sameRootTwiceChangesNothing() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    let head = try shop.store.headDocument(of: try shop.store.shop())
    let rows = try shop.store.auditHead().row
    var shown = 0
    let again = try shop.store.push(try shop.input(try shop.root()), committed: { _ in shown += 1 })
    #expect(!again.changed && shown == 0 && again.channels.map(\.info.version.number) == [3])
    #expect(try shop.store.auditHead().row == rows)
    #expect(try shop.store.headDocument(of: try shop.store.shop()) == head)
  }

  @Test func rootsThatDevicesWouldRefuse() throws {
    let shop = try SignedShop()
    try shop.publishTwo()
    #expect(failure { try shop.push(try shop.root(2)) } == .rootNumber)
    #expect(
      failure { _ = try shop.store.push(try shop.input(try shop.root(), by: shop.otherKey)) } == .rootNewKeys)
    var foreign = try shop.input(try shop.root())
    foreign.app = try AppName("store")
    #expect { try shop.store.push(foreign) } throws: {
      if case StoreError.unknownApp = $0 { true } else { false }
    }
    #expect(try shop.store.trust(of: shop.app) == nil)
    try shop.push(try shop.root())
    #expect(failure { try shop.push(try shop.root(3)) } == .rootNumber)
    #expect(
      failure { _ = try shop.store.push(try shop.input(try shop.root(2), by: shop.otherKey)) } == .rootOldKeys
    )
    // Another first root isn't the one in force.
    #expect(failure { try shop.push(try shop.root(1, floors: [try BundleName("a"): .zero])) } == .rootNumber)
  }

  @Test func everyBundleHasToBeSigned() throws {
    let shop = try SignedShop()
    try shop.publishTwo()
    #expect(
      SignedShop.problems { try shop.push(try shop.root(), releases: []) }
        == ["online a release-missing", "online b release-missing"])
    let wrong = [
      try shop.statement("a", ["a.js": Sample("a2")], serial: 10),
      try shop.statement("b", ["b.js": Sample("b1")], serial: 10, by: shop.otherKey),
    ]
    #expect(
      SignedShop.problems { try shop.push(try shop.root(), releases: wrong) }
        == ["online a release-content", "online b release-key"])
    let channel = try shop.store.shop()
    #expect(channel.version.number == 2 && channel.bundlesSince == nil)
    #expect(try shop.store.trust(of: shop.app) == nil)
  }

  @Test func dryRunChangesNothing() throws {
    let shop = try SignedShop()
    try shop.publishTwo()
    var input = try shop.input(try shop.root())
    input.dryRun = true
    let outcome = try shop.store.push(input)
    #expect(outcome.changed && outcome.channels.first?.release?.version.number == 3)
    #expect(try shop.store.shop().version.number == 2)
    #expect(try shop.store.trust(of: shop.app) == nil)
    input.releases = []
    #expect(SignedShop.problems { _ = try shop.store.push(input) }.count == 2)
  }

  @Test func urlOfTwoBundlesRefusesTheFirstRoot() throws {
    let shop = try SignedShop()
    try shop.publishTwo()
    try shop.store.publish("a", base: 1, set: ["both.js": Sample("c")])
    try shop.store.publish("b", base: 2, set: ["both.js": Sample("c")])
    #expect { try shop.push(try shop.root()) } throws: {
      guard case StoreError.sharedURLs(_, let shared) = $0 else { return false }
      return shared.map(\.url.text) == ["https://m.example.com/both.js"]
        && shared[0].bundles.map(\.text) == ["a", "b"]
    }
  }

  @Test func aRootNeedsAHeadKeyOfThisOrigin() throws {
    let shop = try SignedShop()
    try shop.publishTwo()
    #expect { try shop.push(try shop.root(heads: [shop.otherKey.trustKey])) } throws: {
      if case StoreError.noHeadKey = $0 { true } else { false }
    }
  }

  /// What was restored from a copy that lacks the newest root gets that one, and then one that names its own key.
  @Test func originWithoutAHeadKeyTakesRootsThatFollow() throws {
    let shop = try SignedShop()
    #expect(try shop.begin().hasHeadKey)
    // As long as it has a key, a root that names no key of it is a mistake.
    let foreign = try shop.root(2, heads: [shop.otherKey.trustKey])
    #expect { try shop.push(foreign, releases: []) } throws: {
      if case StoreError.noHeadKey = $0 { true } else { false }
    }
    for name in try Folder.textNames(shop.store.folder.keys) {
      try Kernel.remove("\(shop.store.folder.keys)/\(name)")
    }
    let head = try shop.store.headDocument(of: try shop.store.shop())
    let second = try shop.push(try shop.root(2), releases: [])
    #expect(second.changed && !second.hasHeadKey)
    let again = try shop.push(try shop.root(2), releases: [])
    #expect(!again.changed && !again.hasHeadKey)
    // Acts go on, and the head stays what it was.
    let a2 = ["a.js": Sample("a2")]
    try shop.publish("a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20)])
    #expect(try shop.store.headDocument(of: try shop.store.shop()) == head)
    let key = try shop.store.makeHeadKey(another: false, by: shop.anna).key
    let third = try shop.root(3, heads: [key])
    #expect(try shop.push(third, releases: []).hasHeadKey)
    #expect(try shop.verdict(try shop.device(third), to: 4).failure == nil)
  }

  @Test func frozenChannelAndOpenRollout() throws {
    let shop = try SignedShop()
    try shop.publishTwo()
    _ = try shop.store.freezeChannel(shop.app, .online, reason: "sale", by: shop.anna)
    #expect { try shop.push(try shop.root()) } throws: {
      if case StoreError.frozen = $0 { true } else { false }
    }
    _ = try shop.store.thawChannel(shop.app, .online, by: shop.anna)
    try shop.store.candidate("a", base: 1, set: ["a.js": Sample("a2")])
    #expect { try shop.push(try shop.root()) } throws: {
      if case StoreError.rolloutOpen = $0 { true } else { false }
    }
  }

  @Test func secondRootSetsFloors() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    let a2 = ["a.js": Sample("a2")]
    try shop.publish(
      "a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20, floor: 20)])
    #expect(
      SignedShop.problems { _ = try shop.rollback(to: 3, bundle: "a") } == ["online a release-floor"])
    // What is live has to be above it, too.
    let high = try shop.root(2, floors: [try BundleName("a"): try #require(Serial(30))])
    #expect(SignedShop.problems { try shop.push(high, releases: []) } == ["online a release-floor"])
    try shop.push(
      try shop.root(2, floors: [try BundleName("a"): try #require(Serial(5))]), releases: [])
    #expect(try shop.rollback(to: 3, bundle: "a").release.version.number == 5)
    #expect(try shop.store.extras(of: try shop.store.shop()).root == 2)
  }

  @Test func aRootThatRemovesAKeyNeedsNewStatements() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    let grants = [ReleaseGrant(signers: try SignedShop.group(shop.otherKey))]
    let root = try shop.root(2, grants: grants)
    #expect(
      SignedShop.problems { try shop.push(root, releases: []) }
        == ["online a release-key", "online b release-key"])
    let outcome = try shop.push(
      root,
      releases: [
        try shop.statement("a", ["a.js": Sample("a1")], serial: 11, by: shop.otherKey),
        try shop.statement("b", ["b.js": Sample("b1")], serial: 11, by: shop.otherKey),
      ])
    // No release: the entries are the same.
    #expect(outcome.channels.map(\.info.version.number) == [3])
    #expect(outcome.channels.allSatisfy { $0.release == nil })
    let signed = try shop.store.bundleTrust(of: try shop.store.shop(), at: ManifestVersion(3))
    #expect(signed.map(\.signers) == [[shop.otherKey.trustKey.id], [shop.otherKey.trustKey.id]])
    // A device that comes with the next release gets the new statement of the bundle that stayed, too.
    let a2 = ["a.js": Sample("a2")]
    try shop.publish(
      "a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20, by: shop.otherKey)])
    let verdict = try shop.verdict(try shop.device(root), from: 3, to: 4)
    #expect(verdict.failure == nil && verdict.releases?.count == 2)
  }

  @Test func offMeansThatNothingIsSignedAnyMore() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    try shop.push(try shop.root(2, heads: [], isOff: true), releases: [])
    try shop.publish("a", base: 1, set: ["a.js": Sample("a2")])
    let channel = try shop.store.shop()
    #expect(channel.version.number == 4)
    #expect(try shop.bundles(at: 4) == ["a.js": "a", "b.js": "b"])
    #expect(try shop.store.answerTrust(of: channel, from: nil, to: channel.version) == nil)
    #expect(try !shop.store.renewHead(of: channel.id))
    // Whoever comes after it needs a statement for what was published meanwhile.
    #expect(
      SignedShop.problems { try shop.push(try shop.root(3), releases: []) } == ["online a release-missing"])
    try shop.push(
      try shop.root(3), releases: [try shop.statement("a", ["a.js": Sample("a2")], serial: 20)])
    #expect(try shop.verdict(try shop.device(try shop.root(3)), to: 4).failure == nil)
  }

  @Test func trailNamesRootsAndKeys() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    let rows = try shop.store.auditLog(limit: 10)
    let root = try #require(rows.first { $0.act == "trust.root" })
    #expect(root.result.contains(shop.rootKey.trustKey.id.text) && root.result.contains("\"number\":\"1\""))
    let rebase = try #require(rows.first { $0.act == "rebase" })
    #expect(rebase.parameters.contains("\"root\":\"1\""))
    #expect(try shop.store.verifyAudit().0 == nil)
  }
}
