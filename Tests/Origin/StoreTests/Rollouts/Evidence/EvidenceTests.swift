import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// What devices report about rollouts: sums of bounded size, in which nothing is left of networks after two days.
@Suite struct EvidenceTests {
  let scratch = Scratch()
  /// Milliseconds since 1970; starts on a Wednesday at noon.
  let now = Locked<Int64>(1_763_553_600_000)
  private var hour: Int64 { now.withLock { $0 } / 3_600_000 }

  private func open(share: Int = 500) throws -> Store {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    let store = try scratch.open(options)
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    try store.publish("b", base: 0, set: ["b.js": Sample("b1")])
    try store.candidate("a", base: 1, set: ["a.js": Sample("a2")], share: share)
    return store
  }

  private func pass(hours: Int64) { now.withLock { $0 += hours * 3_600_000 } }

  /// Reports from the networks 10.0.n.0/24.
  private func counts(
    _ store: Store, networks: Range<UInt32> = 0..<100, _ arm: RolloutArm = .candidate, opened: Int64 = 1,
    failed: Int64 = 0, age: Int64 = 0
  ) throws -> [EvidenceCount] {
    let channel = try store.shop()
    let rollout = try #require(channel.rollout)
    return networks.map {
      EvidenceCount(
        channel: channel.id, seed: rollout.seed, hour: hour - age, arm: arm,
        network: NetworkPrefix(IPAddress(v4: 0x0A00_0000 | $0 << 8)), opened: opened, failed: failed)
    }
  }

  private func sums(_ store: Store) throws -> [String] {
    let channel = try store.shop()
    let evidence = try store.evidence(of: try #require(channel.rollout), in: channel)
    return RolloutArm.allCases.map {
      "\($0) \(Int(evidence.sums($0).opened.rounded())) \(Int(evidence.sums($0).failed.rounded()))"
    }
  }

  private func rows(_ store: Store, _ table: StaticString = "SELECT count(*) FROM evidence_network") throws
    -> Int
  {
    try store.connections.reading { (db) throws(StoreError) in try db.value(Int.self, table) ?? 0 }
  }

  @Test func sumsByArmAndHour() throws {
    let store = try open()
    try store.count(try counts(store))
    try store.count(try counts(store, .control))
    pass(hours: 3)
    // A failure belongs to the hour of its page.
    try store.count(try counts(store, networks: 0..<5, opened: 0, failed: 1, age: 3))
    #expect(try sums(store) == ["candidate 100 5", "control 100 0"])
    let channel = try store.shop()
    let evidence = try store.evidence(of: try #require(channel.rollout), in: channel)
    #expect(evidence.hours.map(\.hour) == [hour - 3] && evidence.failingNetworks == 5)
  }

  /// A backup has the sums of an hour that isn't over: in an origin made from it, what comes in later belongs to the same hour.
  @Test func hourOfABackupGoesOn() throws {
    let store = try open()
    try store.count(try counts(store))
    try store.count(try counts(store, .control))
    try store.connections.transaction { (db) throws(StoreError) in try db.closeEvidence() }
    #expect(try rows(store) == 0)
    try store.count(try counts(store, networks: 0..<30, opened: 0, failed: 1))
    let channel = try store.shop()
    let evidence = try store.evidence(of: try #require(channel.rollout), in: channel)
    #expect(evidence.hours.map(\.hour) == [hour])
    #expect(try sums(store) == ["candidate 100 30", "control 100 0"])
    #expect(EValue(evidence.hours).reaches(100))
  }

  @Test func oneNetworkCountsForAPart() throws {
    let store = try open()
    try store.count(try counts(store))
    for _ in 0..<10 { try store.count(try counts(store, networks: 7..<8, opened: 1_000, failed: 1_000)) }
    let channel = try store.shop()
    let sums = try store.evidence(of: try #require(channel.rollout), in: channel).sums(.candidate)
    // 99 others and 5 % of the whole.
    #expect(sums.opened > 103 && sums.opened < 105 && sums.failed == 1)
  }

  /// A fleet behind one proxy: nothing counts, until somebody says that this is so.
  @Test func capOfAFleetInFewNetworks() throws {
    let store = try open()
    try store.count(try counts(store, networks: 1..<4, opened: 3_000, failed: 3))
    try store.count(try counts(store, networks: 1..<2, .control, opened: 1_000))
    let channel = try store.shop()
    let rollout = try #require(channel.rollout)
    var evidence = try store.evidence(of: rollout, in: channel)
    #expect(try sums(store) == ["candidate 3 3", "control 1 0"])
    #expect(evidence.openings.reported == 10_000 && evidence.openings.counted == 4)
    #expect(evidence.openings.networks == 3 && evidence.openings.areMostlyLeftOut)
    var input = RolloutInput(
      app: channel.app, channel: channel.name, .audience(share: nil, groups: nil, app: nil),
      by: Actor(name: "anna", address: "10.0.0.7"))
    input.course = RolloutCourse(cap: NetworkCap(share: 10_000))
    #expect(try store.changeRollout(input).isChanged)
    #expect(try !store.changeRollout(input).isChanged)
    evidence = try store.evidence(of: rollout, in: channel)
    #expect(try sums(store) == ["candidate 9000 9", "control 1000 0"])
    #expect(evidence.openings.networks == 0 && !evidence.openings.areMostlyLeftOut)
    // What a day counted stays, whatever the cap is by then.
    pass(hours: 48)
    #expect(try store.closeEvidence())
    input.course = RolloutCourse(cap: .standard)
    #expect(try store.changeRollout(input).isChanged)
    #expect(try sums(store) == ["candidate 9000 9", "control 1000 0"])
    #expect(try store.evidence(of: rollout, in: channel).openings == CountedOpenings())
    let rows = try store.auditLog(limit: 2)
    #expect(!rows[0].result.contains("networkCap"))
    #expect(rows[1].result.contains(#""course":{"autoHalt":false,"networkCap":10000,"pausesItself":true}"#))
  }

  @Test(arguments: [true, false]) func networksAreForgottenAfterTwoDays(isOfTheFuture: Bool) throws {
    let store = try open()
    try store.count(try counts(store, failed: 1))
    try store.count(try counts(store, .control))
    let before = try sums(store)
    if isOfTheFuture {
      // The clock was wrong, and is set back.
      pass(hours: -72)
    } else {
      // Until midnight, and through the day in which failures of the last hour may be reported.
      pass(hours: 12 + 23)
      #expect(try !store.closeEvidence())
      pass(hours: 1)
    }
    #expect(try rows(store) == 200)
    #expect(try store.closeEvidence())
    #expect(try !store.closeEvidence())
    #expect(try rows(store) == 0 && rows(store, "SELECT count(*) FROM evidence_key") == 0)
    #expect(try sums(store) == before)
    let channel = try store.shop()
    #expect(try store.evidence(of: try #require(channel.rollout), in: channel).failingNetworks == 100)
    // Late reports of that day are added to it.
    try store.count(try counts(store))
    #expect(try sums(store).first == "candidate 200 100")
  }

  @Test func keysDifferByDayAndOutliveTheProcess() throws {
    var store: Store? = try open()
    try store?.count(try counts(try #require(store), networks: 1..<2))
    store = nil
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    let again = try scratch.open(options)
    try again.count(try counts(again, networks: 1..<2))
    #expect(try rows(again) == 1)
    pass(hours: 24)
    try again.count(try counts(again, networks: 1..<2))
    #expect(try rows(again, "SELECT count(DISTINCT network) FROM evidence_network") == 2)
  }

  @Test func evidenceOfEndedRolloutsIsIgnored() throws {
    let store = try open()
    let late = try counts(store)
    try store.candidate("a", base: 1, set: ["a.js": Sample("a3")])
    try store.count(late)
    #expect(try rows(store) == 0)
    #expect(try sums(store) == ["candidate 0 0", "control 0 0"])
  }

  @Test func remadeCandidateKeepsItsEvidence() throws {
    let store = try open()
    try store.count(try counts(store))
    let seed = try #require(try store.shop().rollout).seed
    try store.publish("b", base: 2, set: ["b.js": Sample("b2")])
    let channel = try store.shop()
    #expect(channel.rollout?.seed == seed && channel.rollout?.candidate.number == 5)
    #expect(try sums(store) == ["candidate 100 0", "control 0 0"])
    #expect(try store.candidates(ofSeed: seed, in: channel.id).map(\.number) == [3, 5])
  }

  @Test func numbersAndRowsAreBounded() throws {
    let store = try open()
    for _ in 0..<3 {
      try store.count(try counts(store, networks: 1..<2, opened: .max, failed: .max))
      try store.count(try counts(store, networks: 1..<2, opened: -5, failed: .min))
    }
    #expect(try rows(store, "SELECT max(opened) FROM evidence_network") == 1 << 53)
    // Networks beyond the limit share a row in each hour and arm.
    for part in 0..<5 as Range<UInt32> {
      try store.count(try counts(store, networks: (part * 300)..<((part + 1) * 300)), rows: 1_000)
    }
    #expect(try rows(store) == 901)
    #expect(try rows(store, "SELECT max(opened) FROM evidence_network WHERE network = 0") == 600)
    // Those that have a row keep it.
    try store.count(try counts(store, networks: 0..<300), rows: 1_000)
    #expect(try rows(store) == 901)
    #expect(try rows(store, "SELECT max(opened) FROM evidence_network WHERE network = 0") == 600)
  }

  /// A backup may be kept for years, and who has a key can try all prefixes.
  @Test func backupsHaveSumsAlone() throws {
    let store = try open()
    try store.count(try counts(store, failed: 1))
    let before = try sums(store)
    _ = try store.backUp(to: scratch.path + "/backup")
    let copy = try Database(path: scratch.path + "/backup/xcache.db", .writing)
    #expect(try copy.value(Int.self, "SELECT count(*) FROM evidence_network") == 0)
    #expect(try copy.value(Int.self, "SELECT count(*) FROM evidence_key") == 0)
    #expect(try copy.value(Int.self, "SELECT failing_networks FROM rollout_plan") == 100)
    let channel = try store.shop()
    let kept = try copy.evidence(of: try #require(channel.rollout).seed, in: channel.id, cap: .standard)
    #expect(Int(kept.sums(.candidate).failed.rounded()) == 100)
    try copy.close()
    // The origin itself goes on with them.
    #expect(try rows(store) == 100 && sums(store) == before)
  }

  @Test func evidenceGoesWithItsRollout() throws {
    let store = try open()
    try store.count(try counts(store))
    try store.candidate("a", base: 1, set: ["a.js": Sample("a3")])
    pass(hours: 72)
    var policy = RetentionPolicy()
    policy.versions = 1
    _ = try store.collect(policy)
    while try store.closeEvidence() {}
    #expect(try rows(store) == 0 && rows(store, "SELECT count(*) FROM evidence_hour") == 0)
  }

  /// The prefixes of two addresses.
  @Test(arguments: [
    ("10.0.0.1", "10.0.0.255", true), ("10.0.0.1", "10.0.1.1", false), ("10.0.0.1", "::ffff:10.0.0.9", true),
    ("2001:db8:1::1", "2001:db8:1:ffff::2", true), ("2001:db8:1::1", "2001:db8:2::1", false),
    ("::", "0.0.0.0", false),
  ])
  func prefixes(_ a: String, _ b: String, areEqual: Bool) throws {
    let (a, b) = (try #require(IPAddress(a)), try #require(IPAddress(b)))
    #expect((NetworkPrefix(a) == NetworkPrefix(b)) == areEqual)
    let key = [UInt8](repeating: 7, count: 32)
    #expect((NetworkPrefix(a).digest(key) == NetworkPrefix(b).digest(key)) == areEqual)
    #expect(NetworkPrefix(a).digest(key) != NetworkPrefix(a).digest([UInt8](repeating: 8, count: 32)))
  }
}
