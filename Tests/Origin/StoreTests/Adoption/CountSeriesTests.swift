import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// The data of charts: bounded, aggregated after some days, and the basis of gc.
@Suite struct CountSeriesTests {
  let scratch = Scratch()
  /// Milliseconds since 1970; starts on a Wednesday at noon.
  let now = Locked<Int64>(1_763_553_600_000)

  private func open(versions: Int = 3) throws -> Store {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    let store = try scratch.open(options)
    for version in 0..<versions {
      try store.publish(base: Int64(version), set: ["a.js": Sample("a\(version)")])
    }
    return store
  }

  private func pass(hours: Int64) { now.withLock { $0 += hours * 3_600_000 } }

  private func rows(_ store: Store) throws -> Int {
    try store.connections.reading { (db) throws(StoreError) in
      try db.value(Int.self, "SELECT count(*) FROM poll_count") ?? 0
    }
  }

  @Test func hoursAreAggregatedIntoDaysWithoutLoss() throws {
    let store = try open()
    let shop = try store.shop()
    for _ in 0..<6 {
      try store.count([
        PollCount(channel: shop.id, version: 3, polls: 10), PollCount(channel: shop.id, version: 2, polls: 1),
      ])
      try store.count([
        FailureCount(channel: shop.id, version: 3, reason: .timeout, url: "", failures: 2)
      ])
      pass(hours: 1)
    }
    let before = try store.pollSeries(of: shop, .day, points: 20)
    #expect(try rows(store) == 12)
    while try store.rollUpCounts() {}
    #expect(try rows(store) == 12, "counts of this week are kept by the hour")
    pass(hours: 10 * 24)
    while try store.rollUpCounts() {}
    #expect(try rows(store) == 2)
    let after = try store.pollSeries(of: shop, .day, points: 30)
    #expect(before.counts.map(\.count).sorted() == [6, 60])
    #expect(after.counts.map(\.count).sorted() == [6, 60])
    #expect(try store.failureSeries(of: shop, .week, points: 3).counts.map(\.count) == [12])
    // gc needs the number of hours with polls and the last of them: here six, the last at 17:00.
    var policy = RetentionPolicy()
    policy.versions = 1
    let kept = try store.collect(policy, dryRun: true).channels[0].kept
    #expect(
      kept.first { $0.version == ManifestVersion(2) }?.reasons
        == [.reported(polls: 6, hours: 6, last: 1_763_553_600_000 + 5 * 3_600_000)])
  }

  @Test func versionsOfAnHourAreBounded() throws {
    let store = try open(versions: 140)
    let shop = try store.shop()
    try store.count((1...140).map { PollCount(channel: shop.id, version: $0, polls: Int($0)) })
    #expect(try rows(store) == Store.maxSeparateVersions + 1)
    let shares = try store.adoption(of: shop, hours: 1).shares
    // The most frequent ones are listed separately, whatever their order; the others are summed.
    #expect(shares.first?.version == 140)
    #expect(shares.last?.version == PollCount.other && shares.last?.polls == (1...12).reduce(0, +))
    #expect(shares.reduce(0) { $0 + $1.polls } == (1...140).reduce(0, +))
    try store.count([PollCount(channel: shop.id, version: 140, polls: 1)])
    #expect(try store.adoption(of: shop, hours: 1).shares.first?.polls == 141)
  }

  @Test func countsAreRemovedAfterNinetyDays() throws {
    let store = try open()
    let shop = try store.shop()
    try store.count([PollCount(channel: shop.id, version: 3, polls: 1)])
    try store.count([FailureCount(channel: shop.id, version: 3, reason: .patch, url: "", failures: 1)])
    try store.recordDiskUse()
    #expect(try store.diskUses(hours: 1).count == 1)
    pass(hours: 91 * 24)
    try store.count([PollCount(channel: shop.id, version: 3, polls: 5)])
    while try store.rollUpCounts() {}
    #expect(try store.pollSeries(of: shop, .week, points: 13).counts.map(\.count) == [5])
    #expect(try store.failureSeries(of: shop, .week, points: 13).counts.isEmpty)
    #expect(try store.diskUses(hours: 2160).isEmpty)
    #expect(try rows(store) == 1)
  }

  @Test func weeksBeginOnMonday() throws {
    let store = try open()
    let start = try store.pollSeries(of: store.shop(), .week, points: 2).start
    #expect(Timestamp.text(start) == "2025-11-10T00:00:00.000Z")
  }

  @Test func auditLogIsFilteredAndHasReasons() throws {
    let store = try open()
    let shop = try store.shop()
    _ = try store.freezeChannel(
      shop.app, shop.name, reason: "an incident", by: Actor(name: "ann", address: ""))
    pass(hours: 1)
    _ = try store.thawChannel(
      shop.app, shop.name, by: Actor(name: "bob", address: "", reason: "it is over"))
    var filter = AuditFilter()
    filter.act = "channel"
    #expect(try store.auditLog(filter, limit: 9).map(\.act) == ["channel.thaw", "channel.freeze"])
    #expect(try store.auditLog(filter, limit: 9)[0].parameters == #"{"reason":"it is over"}"#)
    filter.author = "ann"
    #expect(try store.auditLog(filter, limit: 9).map(\.act) == ["channel.freeze"])
    filter.since = now.withLock { $0 }
    #expect(try store.auditLog(filter, limit: 9).isEmpty)
    filter = AuditFilter()
    (filter.app, filter.until) = ("shop", now.withLock { $0 })
    #expect(try store.auditLog(filter, limit: 2).map(\.act) == ["channel.freeze", "publish"])
    #expect(try store.verifyAudit().0 == nil)
    let newest = try store.release(shop.version, of: shop)
    let receipt = try store.row(of: newest, in: shop)?.receipt
    #expect(try store.auditLog(limit: 9).first { $0.id == receipt?.row }?.act == "publish")
  }
}
