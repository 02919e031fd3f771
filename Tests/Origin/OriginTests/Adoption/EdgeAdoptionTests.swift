import Manifests
import OriginAPI
import Testing
import Values

@testable import Origin

/// What an origin tells of devices whose polls a shared cache answers, from `POST /report` to the adoption.
@Suite struct EdgeAdoptionTests {
  private static let online = "apps/shop/channels/online"
  private let origin: TestOrigin

  init() throws {
    origin = try TestOrigin { $0.edge = EdgePolicy(ttl: 10) }
    for text in ["one", "two", "three"] { try origin.publish(["a.js": text]) }
    #expect(try origin.api("POST", "\(Self.online)/settings", ["reports": 100]).status == 200)
  }

  private func report(_ counts: JSONValue, version: String = "3", to origin: TestOrigin? = nil) throws {
    let body: JSONValue = ["counts": counts, "version": .string(version)]
    #expect(try (origin ?? self.origin).ask("POST", "/report?app=shop", body: body.canonical).status == 200)
  }

  private func hour(of origin: TestOrigin? = nil) throws -> JSONValue {
    let origin = origin ?? self.origin
    origin.origin.adoption.flush()
    return try origin.api("GET", "\(Self.online)/adoption").json["hour"] ?? .null
  }

  private func count(_ hour: JSONValue) -> [String] {
    (hour["versions"]?.array ?? []).map { "\($0["version"]?.string ?? "") \($0["polls"]?.integer ?? -1)" }
  }

  @Test func pollsAreWorkedOutFromBatches() throws {
    // Of a device that doesn't count polls.
    try report(["local": 12, "passed": 1], version: "2")
    try report(["polls": 6])
    try report(["local": 1, "polls": 0], version: "2")
    try report(["polls": 1_000_000], version: "1")
    try report(["polls": 4], version: "4")
    for counts in [[:], ["unknown": 5], ["local": 0]] as [JSONValue] { try report(counts, version: "2") }
    let hour = try hour()
    #expect(count(hour) == ["3 600", "2 400", "1 800"])
    #expect(hour["polls"]?.integer == 1_800 && hour["sample"]?["batches"]?.integer == 3)
    // 0.98 · √(600² + 400² + 800²) / 1800
    #expect(hour["sample"]?["margin"]?.integer == 5_864)
    let metrics = try origin.ask("GET", "/metrics").text
    #expect(metrics.contains(#"xcache_polls_last_hour{app="shop",channel="online",version="3"} 600"# + "\n"))
    #expect(metrics.contains(#"xcache_poll_batches_last_hour{app="shop",channel="online"} 3"# + "\n"))
    #expect(
      metrics.contains(
        #"xcache_device_events_total{app="shop",channel="online",version="3",event="polls"} 6"# + "\n"))
    #expect(origin.origin.adoption.isPolled(1, since: 1))
    let series = try origin.api("GET", "\(Self.online)/adoption/series?step=minute&points=2").json
    #expect(series["versions"]?.array?.compactMap { $0["version"]?.string } == ["3", "2", "1"])
  }

  /// Caches keep only what is asked by the query's path. Older apps, which report nothing, are counted by their polls.
  @Test func pollsThatNoCacheKeepsAreCounted() throws {
    for _ in 0..<3 {
      // The two that name the app in the query are remembered together.
      for target in [
        "/configure.json?app=shop&version=3", "/xcache-provider/xhr/client/configure.json?app=shop&version=3",
        "/xcache/shop/configure.json?version=2", "/hxm/xcache/shop/configure.json?version=1&digest=x",
        "/xcache/shop/configure.json?version=2&preview=1", "/configure.json?app=shop&version=1&patch=1",
        "/xcache-provider/xhr/client/configure.json?app=shop&version=1&preview=1", "/configure.json",
      ] { #expect(try origin.ask("GET", target).status == 200) }
    }
    try report(["polls": 1])
    let hour = try hour()
    #expect(count(hour) == ["3 103", "2 3", "1 3"])
    #expect(hour["polls"]?.integer == 109 && hour["sample"]?["batches"]?.integer == 1)
  }

  /// A version that is gone counts as another one, as if it had been polled with.
  @Test func removedVersionsCountTogether() throws {
    #expect(try origin.api("POST", "gc", ["keepVersions": 2]).status == 200)
    try report(["polls": 1], version: "1")
    #expect(count(try hour()) == ["other 100"])
  }

  @Test func batchKeepsItsVersion() throws {
    try report(["polls": 1], version: "1")
    let report = try origin.api("POST", "gc", ["keepVersions": 1]).json
    #expect(report["channels"]?.array?.first?["dropped"]?.array?.compactMap(\.string) == ["2"])
  }

  /// Without a shared cache the polls themselves are counted.
  @Test func batchesHaveNoPollsWithoutACache() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    try report(["polls": 6], version: "1", to: origin)
    try report(["local": 6], version: "1", to: origin)
    let hour = try hour(of: origin)
    #expect(hour["polls"]?.integer == 0 && hour["sample"] == nil)
    #expect(try !origin.ask("GET", "/metrics").text.contains("xcache_poll_batches_last_hour"))
  }

  /// One batch of an old version doesn't mean that the fleet stays behind; a hundred do.
  @Test func fleetStaysBehindOnceTheSampleSaysSo() throws {
    func state(_ batches: Int) throws -> FleetOverview? {
      for _ in 0..<batches { try report(["polls": 4], version: "1") }
      origin.origin.adoption.flush()
      let later = origin.store.now + 3 * 3_600_000
      return FleetState(
        origin: "o", health: try origin.store.channelHealth(),
        recent: origin.origin.adoption.recentPolls(minutes: 60), damaged: [], mirrors: [], progress: [:],
        staged: [],
        disk: try origin.store.diskUse(), scrubbed: nil, now: later,
        minutes: FleetState.minutes(isSampled: true)
      ).overview(disk: false, where: { _, _ in true })
    }
    let few = try #require(try state(1))
    #expect(!few.problems.map(\.code).contains("lagging"))
    #expect(
      few.channels.first?.adoption
        == .init(minutes: 60, polls: 400, newest: 0, sample: .init(batches: 1, margin: 9_800)))
    let many = try #require(try state(99))
    #expect(many.problems.map(\.code).contains("lagging"))
    #expect(many.channels.first?.adoption.sample == .init(batches: 100, margin: 980))
  }
}
