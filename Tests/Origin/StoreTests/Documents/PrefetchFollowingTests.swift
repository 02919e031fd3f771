import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Rollbacks and promotions with the prefetch config are one transaction.
@Suite struct PrefetchFollowingTests {
  let scratch = Scratch()
  private let now = Locked<Int64>(1_000_000)

  /// Versions 1 to 3, a second apart, each with a config that was pushed half a second later.
  private func history() throws -> Store {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    let store = try scratch.open(options)
    for version in 1...3 {
      try store.publish(base: Int64(version - 1), set: ["f.js": Sample("content \(version)")])
      now.withLock { $0 += 500 }
      try push(store, "[\(version)]")
      now.withLock { $0 += 500 }
    }
    return store
  }

  private func push(_ store: Store, _ content: String, _ channel: ChannelName = .online) throws {
    let request = DocumentRequest(
      app: try AppName("shop"), channel: channel, document: .prefetch, kind: .push, author: "ci", message: "")
    _ = try store.change(request) { _, _ in Array(content.utf8) }
  }

  private func request(_ target: RollbackInput.Target) throws -> RollbackInput {
    var request = RollbackInput(
      app: try AppName("shop"), channel: .online, to: target, by: Actor(name: "anna", address: "10.0.0.7"),
      message: "it burns")
    request.withPrefetch = true
    return request
  }

  private func newest(_ store: Store, _ channel: ChannelName = .online) throws -> DocumentRecord {
    try #require(try store.document(.prefetch, of: store.channel(try AppName("shop"), channel)))
  }

  /// The target, the content that is restored and its version.
  @Test(arguments: [
    (RollbackInput.Target.version(.number(ManifestVersion(1))), "[1]", Int64(1)),
    (.steps(1), "[2]", 2), (.version(.moment(1_001_700)), "[2]", 2),
    // At these times the versions existed, but not their configs.
    (.version(.moment(1_001_200)), "[1]", 1), (.version(.moment(1_000_200)), "[]", 0),
  ])
  func rollbackRestoresTheConfig(target: RollbackInput.Target, content: String, source: Int64) throws {
    let store = try history()
    var dry = try request(target)
    dry.dryRun = true
    let expected = PrefetchOutcome(
      changed: true, version: ManifestVersion(4), source: ManifestVersion(source))
    #expect(try store.rollback(dry).release.prefetch == expected)
    #expect(try newest(store).version == 3)

    let rows = try store.auditHead().row
    let done = try store.rollback(try request(target))
    #expect(done.release.prefetch == expected && done.release.version.number == 4)
    #expect(done.release.extras?.prefetch?.version == 4)
    let record = try newest(store)
    #expect(String(decoding: record.content, as: UTF8.self) == content)
    #expect(record.kind == .rollback && record.source == source && record.manifestVersion.number == 4)
    #expect(record.author == "anna" && record.message == "it burns")
    let acts = try store.auditRows(after: rows, limit: 9)
    #expect(
      acts.map(\.act) == ["prefetch.rollback", "rollback"] && acts.map(\.address) == ["10.0.0.7", "10.0.0.7"])
    #expect(done.release.receipt == (try store.auditHead()))

    // A second rollback changes nothing and leaves no row, except by steps, which lead further back.
    if case .steps = target { return }
    let again = try store.rollback(try request(target))
    #expect(!again.release.changed && again.release.extras == nil)
    #expect(
      again.release.prefetch
        == PrefetchOutcome(changed: false, version: ManifestVersion(4), source: ManifestVersion(source)))
    #expect(try store.auditHead().row == rows + 2)
  }

  @Test func configIsKeptUnlessRequested() throws {
    let store = try history()
    var request = try request(.steps(2))
    request.withPrefetch = false
    #expect(try store.rollback(request).release.prefetch == nil)
    #expect(try newest(store).version == 3)
  }

  @Test func configIsRestoredThoughTheManifestIsUnchanged() throws {
    let store = try history()
    try push(store, "[9]")
    let moment = RollbackInput.Target.version(.moment(now.withLock { $0 } - 100))
    _ = try store.freezeChannel(try AppName("shop"), .online, reason: "sale", by: .local)
    #expect(throws: StoreError.self) { try store.rollback(try request(moment)) }
    _ = try store.thawChannel(try AppName("shop"), .online, by: .local)
    var calls = 0
    let done = try store.rollback(try request(moment), committed: { _ in calls += 1 })
    #expect(!done.release.changed && calls == 1 && done.release.extras?.prefetch?.version == 5)
    #expect(try store.shop().version.number == 3)
    #expect(try newest(store).content == Array("[3]".utf8))
  }

  @Test func failureChangesNothing() throws {
    let store = try history()
    let head = try store.auditHead()
    #expect(throws: StoreError.self) {
      try store.rollback(
        try request(.steps(1)),
        digest: { (_) throws(StoreError) in throw .pushFailed(place: "x", reason: "y") })
    }
    #expect(try newest(store).version == 3 && store.shop().version.number == 3 && store.auditHead() == head)
  }

  /// An origin that was restored from a mirror has only the newest config.
  @Test func removedConfigIsAnError() throws {
    let store = try history()
    try store.connections.writing { (db) throws(StoreError) in
      try db.script("DELETE FROM document WHERE version < 3")
    }
    #expect(throws: StoreError.self) { try store.rollback(try request(.steps(2))) }
    #expect(try store.shop().version.number == 3)
    #expect(
      try store.rollback(try request(.version(.number(ManifestVersion(3))))).release.prefetch?.changed
        == false)
  }

  @Test func configIsPromotedInTheSameTransaction() throws {
    let store = try history()
    let shop = try store.shop()
    let test = try ChannelName("test")
    func promote(dryRun: Bool = false) throws -> ReleaseOutcome {
      var request = try store.request(
        [try store.change("main", base: 0, set: ["f.js": Sample("content 3")])], dryRun: dryRun)
      request.channel = test
      request.source = ReleaseSource(channel: shop, version: shop.version, bundle: nil)
      request.prefetch = PrefetchCarryOver(content: Array("[3]".utf8), source: 3, from: .online)
      request.message = ""
      return try store.commit(request)
    }
    let expected = PrefetchOutcome(changed: true, version: ManifestVersion(1), source: ManifestVersion(3))
    #expect(try promote(dryRun: true).prefetch == expected)
    let made = try promote()
    #expect(made.createdChannel && made.prefetch == expected)
    let record = try newest(store, test)
    #expect(record.kind == .push && record.manifestVersion.number == 1)
    #expect(record.message == "promoted from online, version 3")
    let again = try promote()
    #expect(!again.changed && again.prefetch?.changed == false && again.extras == nil)
    try push(store, "[7]", test)
    var calls = 0
    var request = try store.request([try store.change("main", base: 0, set: ["f.js": Sample("content 3")])])
    request.channel = test
    request.prefetch = PrefetchCarryOver(content: Array("[3]".utf8), source: 3, from: .online)
    #expect(try store.commit(request, committed: { _ in calls += 1 }).prefetch?.version == ManifestVersion(3))
    #expect(calls == 1)
    #expect(try store.verifyAudit().0 == nil)
  }
}
