import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// gc during other work, and of unreachable data.
@Suite struct RemovalTests {
  let scratch = Scratch()

  /// An origin behind a shared cache refuses to start with a channel whose devices report nothing, so none may come back like that.
  @Test(arguments: [(0, nil), (250, 250)] as [(Int, Int?)])
  func revivedChannelReports(before: Int, after: Int?) throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    let shop = try store.shop()
    var settings = SettingsChange()
    (settings.reports, settings.interval) = (.some(before), .some(60))
    let set = try store.set(settings, of: shop.app, shop.name)
    #expect(set.extras.reports == before)
    _ = try store.commit(try store.request([BundleChange(try BundleName("main"), .unpublish)]))
    _ = try store.removeChannel(shop.app, shop.name, by: .local)
    let revived = try store.createChannel(
      shop.app, shop.name, publicURL: shop.publicURL, by: .local)
    #expect(revived.version.number == 2)
    let rows = try store.connections.reading { (db) throws(StoreError) in
      (
        try db.value(Int.self, "SELECT count(*) FROM channel WHERE reports IS ?", after),
        try db.value(Int.self, "SELECT count(*) FROM channel WHERE poll_interval = 60")
      )
    }
    #expect(rows == (1, 1))
  }

  @Test func removedChannelKeepsOnlyItsNumbers() throws {
    let store = try scratch.open()
    for version in 0..<5 {
      try store.publish(
        base: Int64(version), set: ["a.js": Sample("a\(version)"), "b\(version).js": Sample("b\(version)")])
    }
    let shop = try store.shop()
    _ = try store.pin(ManifestVersion(2), of: shop, reason: "a test", by: .local)
    try store.count([PollCount(channel: shop.id, version: 3, polls: 1)])
    _ = try store.commit(try store.request([BundleChange(try BundleName("main"), .unpublish)]))
    _ = try store.removeChannel(shop.app, shop.name, by: .local)
    let forecast = try store.collect(dryRun: true)
    let report = try store.collect()
    #expect(report.channels.map { $0.dropped.map(\.number) } == [[1, 2, 3, 4, 5]])
    #expect(report.channels.map { $0.kept.map(\.reasons) } == [[[.lastNumber]]])
    #expect(forecast.entries == report.entries && forecast.urls == report.urls && report.urls == 6)
    for table in ["entry", "resource", "url", "blob", "pin", "poll_count"] {
      let rows = try store.connections.reading { (db) throws(StoreError) in
        // Table names can't be parameters.
        var count = 0
        switch table {
        case "entry": count = try db.value(Int.self, "SELECT count(*) FROM entry") ?? 0
        case "resource": count = try db.value(Int.self, "SELECT count(*) FROM resource") ?? 0
        case "url": count = try db.value(Int.self, "SELECT count(*) FROM url") ?? 0
        case "blob": count = try db.value(Int.self, "SELECT count(*) FROM blob") ?? 0
        case "pin": count = try db.value(Int.self, "SELECT count(*) FROM pin") ?? 0
        default: count = try db.value(Int.self, "SELECT count(*) FROM poll_count") ?? 0
        }
        return count
      }
      #expect(rows == 0, "\(table)")
    }
    #expect(try store.blobs.files().isEmpty)
    let again = try store.createChannel(shop.app, shop.name, publicURL: shop.publicURL, by: .local)
    #expect(again.version.number == 6)
    #expect(try store.publish(base: 0, set: ["a.js": Sample("new")]).version.number == 7)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test func mirrorKeepsVersionsOfARemovedChannel() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    let shop = try store.shop()
    try store.register(
      mirror: "cdn", [ChannelVersion(app: shop.app, channel: shop.name, version: ManifestVersion(1))])
    _ = try store.commit(try store.request([BundleChange(try BundleName("main"), .unpublish)]))
    _ = try store.removeChannel(shop.app, shop.name, by: .local)
    #expect(try store.collect().blobs.count == 0)
    try store.register(mirror: "cdn", [])
    #expect(try store.collect().blobs.count == 1)
  }

  /// A publisher uploads bytes whose file is being removed: its release waits until that is done.
  @Test func bytesReleasedDuringTheirRemovalAreKept() throws {
    let other = Locked<(@Sendable () -> Void)?>(nil)
    var options = Store.Options()
    options.disk = Disk { step, _ in
      // Once, at the first file.
      if "\(step)" == "unlink" {
        other.withLock { take in
          defer { take = nil }; return take
        }?()
      }
    }
    let store = try scratch.open(options)
    try store.publish(base: 0, set: ["a.js": Sample("old")])
    try store.publish(base: 1, set: ["a.js": Sample("new")])
    let thread = Locked<OSThread?>(nil)
    let version = Locked<Int64>(0)
    other.withLock {
      $0 = {
        let begun = Locked(false)
        let made = try? OSThread(name: "publisher") {
          begun.withLock { $0 = true }
          let outcome = try? store.publish(base: 2, set: ["a.js": Sample("old")])
          version.withLock { $0 = outcome?.version.number ?? -1 }
        }
        thread.withLock { $0 = made }
        while !begun.withLock({ $0 }) {}
      }
    }
    var policy = RetentionPolicy()
    policy.versions = 1
    _ = try store.collect(policy)
    thread.withLock { $0 }?.join()
    #expect(version.withLock { $0 } == 3)
    #expect(throws: Never.self) { _ = try store.open(Sample("old").claim.sha256) }
    #expect(try store.checkup(deep: true).isClean)
  }

  /// Batches grow while they are fast, and shrink when they are slow.
  @Test func batchSizeAimsAtADuration() {
    var pace = Pace()
    for _ in 0..<20 { pace.record(Int64(pace.rows) * 1000, rows: pace.rows) }
    #expect(pace.rows == 5000)
    pace.record(300_000_000, rows: pace.rows)
    #expect(pace.rows == 250 && pace.longest == 300_000_000)
    // A small batch doesn't count.
    pace.record(1000, rows: 1)
    #expect(pace.rows == 250)
    for _ in 0..<20 { pace.record(1_000_000_000, rows: pace.rows) }
    #expect(pace.rows == 20)
  }
}
