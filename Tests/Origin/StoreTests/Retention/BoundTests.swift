import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// Bounds on what could otherwise grow or delay gc without limit.
@Suite struct BoundTests {
  private static let day: Int64 = 86_400_000

  private struct Origin {
    let scratch = Scratch()
    /// Midnight, UTC.
    let now = Locked<Int64>(1_700_006_400_000)
    let store: Store
    let holder: Holder

    init() throws {
      var options = Store.Options()
      let now = now
      options.clock = { now.withLock { $0 } }
      store = try scratch.open(options)
      let (token, _) = try store.createToken(name: "reader", scope: .read, by: .local)
      holder = .token(token, address: "10.0.0.1")
      for version in 0..<3 { try store.publish(base: Int64(version), set: ["a.js": Sample("\(version)")]) }
    }

    func advance(_ milliseconds: Int64) { now.withLock { $0 += milliseconds } }

    func rows(_ act: String) throws -> [AuditRow] {
      var filter = AuditFilter()
      filter.act = act
      return try store.auditLog(filter, limit: 100_000)
    }

    func leaseOnce() throws {
      try store.endLease(store.acquireLease(holder: "mirror", seconds: 60, by: holder).id, by: holder)
    }
  }

  @Test func leasesOfADayAreCombinedIntoFewRows() throws {
    let origin = try Origin()
    // A lease every 30 seconds for 20 hours.
    for _ in 0..<2400 {
      try origin.leaseOnce()
      origin.advance(30_000)
    }
    let (taken, ended) = (try origin.rows("lease.take"), try origin.rows("lease.end"))
    #expect(taken.count <= 48 && ended.count <= 48 && taken.count >= 40, "\(taken.count), \(ended.count)")
    // The rows have the number of leases, except for those of the last hour.
    let counted = try taken.reduce(into: 0) { sum, row in
      let unrecorded = try JSONValue.parse(Array(row.parameters.utf8))["unrecorded"]?.integer ?? 0
      sum += 1 + Int(unrecorded)
    }
    #expect(counted > 2200 && counted <= 2400, "\(counted)")
    #expect(try origin.store.verifyAudit().0 == nil)
  }

  /// The number of acts that the rows of a kind represent.
  private func counted(_ act: String, _ origin: Origin) throws -> Int64 {
    try origin.rows(act).reduce(0) { sum, row in
      try sum + 1 + (JSONValue.parse(Array(row.parameters.utf8))["unrecorded"]?.integer ?? 0)
    }
  }

  /// Acts that were to be counted in the next row, which never comes.
  @Test(arguments: [true, false]) func lastActsOfATokenAreRecorded(isRevoked: Bool) throws {
    let origin = try Origin()
    for _ in 0..<30 { try origin.leaseOnce() }
    #expect(try counted("lease.take", origin) == 24)
    if isRevoked {
      _ = try origin.store.revokeToken("reader")
    } else {
      // Within the next hour, another act's row could still count them.
      origin.advance(3_600_000)
      try origin.store.auditCountedActs()
      #expect(try counted("lease.take", origin) == 24)
      origin.advance(3_600_000)
      try origin.store.auditCountedActs()
    }
    #expect(try counted("lease.take", origin) == 30 && counted("lease.end", origin) == 30)
    #expect(try origin.rows("lease.end").allSatisfy { $0.author == "reader" })
    // Each is counted once.
    origin.advance(2 * Self.day)
    try origin.store.auditCountedActs()
    #expect(try counted("lease.take", origin) == 30)
    #expect(try origin.store.verifyAudit().0 == nil)
  }

  @Test func dailyLimitOfAToken() throws {
    let origin = try Origin()
    for _ in 0..<ActTally.daily { try origin.leaseOnce() }
    #expect { try origin.leaseOnce() } throws: {
      if case StoreError.tooManyActs("lease.take", limit: 3000) = $0 { true } else { false }
    }
    // Other tokens aren't limited, and the limit is reset the next day.
    let (other, _) = try origin.store.createToken(name: "other", scope: .read, by: .local)
    #expect(throws: Never.self) {
      try origin.store.acquireLease(holder: "x", seconds: 60, by: .token(other, address: ""))
    }
    origin.advance(Self.day)
    #expect(throws: Never.self) { try origin.leaseOnce() }
  }

  /// Two registrations in turn, each of which differs from the previous one.
  @Test func alternatingRegistrationsAreCombinedIntoFewRows() throws {
    let origin = try Origin()
    let app = try AppName("shop")
    func register(_ version: Int64) throws {
      try origin.store.register(
        mirror: "copy", [.init(app: app, channel: .online, version: ManifestVersion(version))],
        by: origin.holder)
    }
    for index in 0..<ActTally.daily { try register(1 + index % 2) }
    #expect(try origin.rows("mirror.register").count == ActTally.withRow)
    #expect(throws: StoreError.self) { try register(3) }
    // An unchanged registration isn't an act, so a mirror's run isn't refused.
    #expect(throws: Never.self) { try register(2) }
    origin.advance(Self.day)
    try register(3)
    let row = try #require(try origin.rows("mirror.register").first)
    #expect(
      row.parameters.contains("\"unrecorded\":\(ActTally.daily - ActTally.withRow)"), "\(row.parameters)")
  }

  /// One lease after another, each taken before the previous one ended.
  @Test func leasesDelayGCForADayAtMost() throws {
    let origin = try Origin()
    var policy = RetentionPolicy()
    policy.versions = 1
    let start = origin.store.now
    var lease: Lease?
    var refused: StoreError?
    while true {
      do throws(StoreError) {
        lease = try origin.store.acquireLease(holder: "mirror", seconds: 3600, by: origin.holder)
      } catch {
        refused = error
      }
      do throws(StoreError) {
        _ = try origin.store.collect(policy)
        break
      } catch {
        guard case .leased = error else { throw error }
      }
      origin.advance(1_800_000)
      try #require(origin.store.now - start < 3 * Self.day, "gc never runs")
    }
    #expect(origin.store.now - start <= Self.day + 2 * 3_600_000)
    if case .collectionOverdue = refused {} else { Issue.record("\(String(describing: refused))") }
    #expect(try origin.store.keptVersions(of: origin.store.shop()).count == 1)
    // After that, leases are granted again.
    #expect(throws: Never.self) {
      lease = try origin.store.acquireLease(holder: "mirror", seconds: 60, by: origin.holder)
      try origin.store.renewLease(#require(lease).id, seconds: 60, by: origin.holder)
    }
  }

  /// Daily gc with one lease after another, with and without a nightly restart.
  @Test(arguments: [false, true]) func leasesDelayDailyGCForADayAtMost(restarts: Bool) throws {
    let scratch = Scratch()
    let now = Locked<Int64>(1_700_006_400_000)
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    var store: Store? = try scratch.open(options)
    let (token, _) = try #require(store).createToken(name: "reader", scope: .read, by: .local)
    let holder = Holder.token(token, address: "10.0.0.1")
    var days = 0
    while days < 5 {
      for hour in 0..<24 {
        _ = try? #require(store).acquireLease(holder: "mirror", seconds: 3600, by: holder)
        // During a lease, at a slightly different time each day.
        now.withLock { $0 += hour == 23 ? 1_800_000 - Int64(days) * 60_000 : 3_600_000 }
      }
      if (try? #require(store).collect()) != nil { break }
      now.withLock { $0 += 1_800_000 + Int64(days) * 60_000 }
      days += 1
      if restarts {
        store = nil
        store = try scratch.open(options)
      }
    }
    // In the third night: the second attempt was delayed for a day, and after that no leases were granted.
    #expect(days == 2, "gc ran after \(days) days")
    #expect(throws: Never.self) {
      try #require(store).acquireLease(holder: "mirror", seconds: 60, by: holder)
    }
  }

  /// Rows of removed tokens and versions.
  @Test func countsOfRemovedTokensAndVersionsAreRemoved() throws {
    let origin = try Origin()
    func counted() throws -> Int64? {
      try origin.store.connections.reading { (db) throws(StoreError) in
        try db.value(Int64.self, "SELECT count(*) FROM act_count")
      }
    }
    func done() throws -> Int64? {
      try origin.store.derived.work { (db) throws(StoreError) in
        try db.value(Int64.self, "SELECT count(*) FROM done")
      }
    }
    let channel = try origin.store.shop().id
    for base in 1...2 {
      try origin.store.derived.markDone(channel, from: ManifestVersion(Int64(base)), to: ManifestVersion(3))
    }
    try origin.leaseOnce()
    #expect(try counted() == 2)
    var policy = RetentionPolicy()
    policy.versions = 2
    _ = try origin.store.collect(policy)
    // Version 1 is removed, newer ones are kept.
    #expect(try counted() == 2 && done() == 1)
    origin.advance(92 * Self.day)
    _ = try origin.store.collect(policy)
    #expect(try counted() == 0 && done() == 1)
  }

  /// While a rollout is open, each base leads to two versions. Where one took the other's place, both were made again without end.
  @Test func bothVersionsOfARolloutStayDone() throws {
    let origin = try Origin()
    let (channel, base) = (try origin.store.shop().id, ManifestVersion(1))
    let (full, candidate, next) = (ManifestVersion(2), ManifestVersion(3), ManifestVersion(4))
    func done() throws -> [ManifestVersion] {
      try [full, candidate, next].filter { (version) throws in
        try origin.store.derived.isDone(channel, from: base, to: version)
      }
    }
    try origin.store.derived.markDone(channel, from: base, to: full)
    try origin.store.derived.markDone(channel, from: base, to: candidate, beside: full)
    #expect(try done() == [full, candidate])
    try origin.store.derived.markDone(channel, from: base, to: full, beside: candidate)
    #expect(try done() == [full, candidate])
    // Another candidate, and then the end of the rollout.
    try origin.store.derived.markDone(channel, from: base, to: next, beside: full)
    #expect(try done() == [full, next])
    try origin.store.derived.markDone(channel, from: base, to: next)
    #expect(try done() == [next])
  }

  /// A single manual attempt that isn't repeated blocks no lease.
  @Test func singleDelayedAttemptBlocksNoLease() throws {
    let origin = try Origin()
    let lease = try origin.store.acquireLease(holder: "mirror", seconds: 3600, by: origin.holder)
    #expect(throws: StoreError.self) { try origin.store.collect() }
    origin.advance(30 * 3_600_000)
    _ = lease
    #expect(throws: Never.self) {
      try origin.store.acquireLease(holder: "mirror", seconds: 3600, by: origin.holder)
    }
  }

  // MARK: - Documents

  private func push(
    _ origin: Origin, _ document: ChannelDocument, _ kind: DocumentRecord.Kind, _ text: String
  ) throws {
    let request = DocumentRequest(
      app: try AppName("shop"), channel: .online, document: document, kind: kind, author: "ci", message: "")
    _ = try origin.store.change(request, change: { _, _ in Array(text.utf8) })
    origin.advance(1000)
  }

  @Test func oldDocumentVersionsAreRemoved() throws {
    let origin = try Origin()
    let store = origin.store
    // 1 at release 3; 2 to 11 at release 4, which is pinned; 12 to 31 at release 5.
    try push(origin, .prefetch, .push, "[1]")
    try store.publish(base: 3, set: ["a.js": Sample("four")])
    for number in 2...11 { try push(origin, .prefetch, .push, "[\(number)]") }
    _ = try store.pin(ManifestVersion(4), of: store.shop(), reason: "x", by: .local)
    try store.publish(base: 4, set: ["a.js": Sample("five")])
    for number in 12...31 { try push(origin, .prefetch, .push, "[\(number)]") }
    let times = try store.log(.prefetch, of: store.shop(), limit: 100).reversed().map(\.at)
    try push(origin, .policy, .kill, "{\"intercept\":false}")
    for number in 0..<20 {
      try push(origin, .policy, .bypass, "{\"bypass\":[\"\(number)\"],\"intercept\":false}")
    }
    var policy = RetentionPolicy()
    policy.versions = 3
    #expect(try store.collect(policy, dryRun: true).documents == 43)
    #expect(try store.collect(policy).documents == 43)
    #expect(try store.collect(policy).documents == 0)
    let shop = try store.shop()
    // The oldest, the one that a rollback to release 4 restores, and the newest.
    #expect(try store.log(.prefetch, of: shop, limit: 100).map(\.version) == [31, 30, 29, 11, 1])
    // The oldest is the last one that turned interception off.
    #expect(try store.log(.policy, of: shop, limit: 100).map(\.version) == [21, 20, 19, 1])
    #expect(try store.prefetch(of: shop, while: ManifestVersion(4), as: nil)?.content == Array("[11]".utf8))
    #expect(try store.prefetch(of: shop, while: ManifestVersion(5), as: nil)?.version == 31)
    #expect(try store.prefetch(of: shop, while: ManifestVersion(2), as: nil) == nil)
    #expect(try store.prefetch(of: shop, while: ManifestVersion(3), as: nil)?.version == 1)
    // A query by time gives the right version or an error.
    for (index, moment) in times.enumerated() {
      let version = Int64(index + 1)
      if [1, 11, 29, 30, 31].contains(version) {
        #expect(try store.document(.prefetch, of: shop, atMoment: moment)?.version == version)
      } else {
        #expect { try store.document(.prefetch, of: shop, atMoment: moment) } throws: {
          if case StoreError.unknownDocument(.prefetch, oldestKept: version < 11 ? 11 : 29) = $0 {
            true
          } else {
            false
          }
        }
      }
    }
    #expect(try store.checkup(deep: true).findings.isEmpty)
    // Numbers continue.
    try push(origin, .prefetch, .push, "[32]")
    #expect(try store.log(.prefetch, of: store.shop(), limit: 1).map(\.version) == [32])
  }

  @Test func documentsOfAChannelWithoutAReleaseAreRemoved() throws {
    let origin = try Origin()
    _ = try origin.store.createChannel(
      AppName("shop"), ChannelName("test"), publicURL: origin.store.shop().publicURL, by: .local)
    let request = DocumentRequest(
      app: try AppName("shop"), channel: try ChannelName("test"), document: .prefetch, kind: .push,
      author: "ci",
      message: "")
    for number in 0..<10 {
      _ = try origin.store.change(request, change: { _, _ in Array("[\(number)]".utf8) })
    }
    var policy = RetentionPolicy()
    policy.versions = 2
    #expect(try origin.store.collect(policy).documents == 7)
  }

  @Test func unusedScriptsAreRemoved() throws {
    let origin = try Origin()
    let store = origin.store
    var scripts: [SHA256] = []
    for number in 1...5 {
      let sha256 = try store.keepScript([UInt8(number)], for: store.shop(), by: .local)
      scripts.append(sha256)
      try push(
        origin, .policy, .script,
        "{\"intercept\":true,\"scripts\":[{\"name\":\"a\",\"sha256\":\"\(sha256.hex)\"}]}")
    }
    let unused = try store.keepScript([9], for: store.shop(), by: .local)
    origin.advance(25 * 3_600_000)
    // Uploaded again, because a policy will name it.
    let again = try store.keepScript([2], for: store.shop(), by: .local)
    var policy = RetentionPolicy()
    policy.versions = 1
    let report = try store.collect(policy)
    #expect(report.documents == 3 && report.scripts.count == 3)
    #expect(try store.script(unused) == nil)
    #expect(try scripts.map { try store.script($0) != nil } == [true, true, false, false, true])
    #expect(again == scripts[1])
  }
}
