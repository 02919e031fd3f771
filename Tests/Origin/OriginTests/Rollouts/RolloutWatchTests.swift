import Manifests
import Store
import System
import Testing
import TestSupport
import Values

@testable import Origin

/// Rollouts that stop and go on by themselves, from devices' reports to the answers to polls.
@Suite struct RolloutWatchTests {
  private static let online = "apps/shop/channels/online"
  /// A Wednesday at noon.
  private let now = Locked<Int64>(1_763_553_600_000)
  private let origin: TestOrigin

  /// Full version 2; the tests release candidate 3.
  init() throws {
    origin = try TestOrigin(clock: { [now] in now.withLock { $0 } })
    try origin.publish(["a.js": "one"])
    try origin.publish(["b.js": "b"], bundle: "other")
  }

  private func pass(hours: Int64) { now.withLock { $0 += hours * 3_600_000 } }

  private func candidate(_ terms: JSONValue) throws {
    var body = try origin.release(["a.js": "two"]).object ?? JSONObject()
    body["rollout"] = terms
    #expect(try origin.api("POST", "\(Self.online)/releases", .object(body)).status == 201)
  }

  /// Reports of devices in networks of their own, or in few, and a look at the rollout.
  private func devices(
    _ count: UInt32, candidate: Int = 0, control: Int = 0, version: String = "3", networks: UInt32 = 1 << 16,
    of origin: TestOrigin? = nil
  ) throws {
    try report(
      count, candidate: candidate, control: control, version: version, networks: networks,
      to: origin ?? self.origin)
    check(origin)
  }

  private func report(
    _ count: UInt32, candidate: Int, control: Int, version: String, networks: UInt32 = 1 << 16,
    to origin: TestOrigin, channel: String = "online"
  ) throws {
    for (arm, failed) in [("candidate", candidate), ("control", control)] {
      for device in 0..<count {
        let evidence: JSONValue = [
          "arm": .string(arm), "failed": .integer(device < failed ? 1 : 0), "opened": 1,
          "version": .string(version),
        ]
        let body: JSONValue = ["evidence": evidence]
        let peer = IPAddress(v4: 0x0A00_0001 | (device % networks) << 8)
        _ = try origin.ask(
          "POST", "/report?app=shop&channel=\(channel)", body: body.canonical, from: peer)
      }
    }
    origin.origin.adoption.flush()
  }

  private func check(_ origin: TestOrigin? = nil) {
    let watch = watch(origin ?? self.origin)
    watch.check()
    #expect(watch.finish(within: .seconds(60)))
  }

  private func watch(_ origin: TestOrigin) -> RolloutWatch {
    let origin = origin.origin
    return RolloutWatch(
      store: origin.store, catalog: origin.catalog, releases: origin.api.releases, adoption: origin.adoption,
      rest: 0, log: { _ in })
  }

  private func shown() throws -> JSONValue { try origin.api("GET", "\(Self.online)/rollout").json }

  private func share() throws -> Int64? {
    try origin.ask("GET", "/configure.json?app=shop&version=2").json["data"]?["rollout"]?["share"]?.integer
  }

  private func waits() throws -> [String] {
    (try shown()["waits"]?.array ?? []).map { "\($0["kind"]?.string ?? ""): \($0["text"]?.string ?? "")" }
  }

  private func acts(_ name: String) throws -> Int {
    try origin.store.auditLog(limit: 1000).count { $0.act == name && $0.author == "xcache" }
  }

  @Test func alarmPausesOnce() throws {
    try candidate(["share": 500])
    try devices(200, candidate: 1, control: 1)
    #expect(try share() == 500)
    #expect(try waits() == ["person: a person, who takes each step"])
    try devices(200, candidate: 40, control: 1)
    #expect(try share() == 0)
    let list = try shown()
    #expect(list["open"]?["paused"]?.bool == true && list["open"]?["changedBy"]?.string == "xcache")
    #expect(list["evidence"]?["candidate"]?["opened"]?.integer == 400)
    #expect(list["evidence"]?["candidate"]?["failed"]?.integer == 41)
    #expect((list["evidence"]?["e"]?.integer ?? 0) >= 100)
    #expect((list["evidence"]?["highest"]?.integer ?? 0) >= 100)
    #expect(list["evidence"]?["alarmedAt"]?.string != nil)
    #expect(try waits() == ["resuming: a person: an alarm has paused it"])
    for origin in [origin, try origin.restarted()] {
      check(origin)
      #expect(try acts("rollout.pause") == 1)
    }
    let row = try #require(try origin.store.auditLog(limit: 10).first { $0.act == "rollout.pause" })
    #expect(row.parameters.contains(#""candidate":{"failed":41,"opened":400}"#))
    func problems() throws -> [String] {
      (try origin.api("GET", "overview").json["problems"]?.array ?? []).compactMap { $0["code"]?.string }
    }
    #expect(try problems().contains("alarm"))
    let metrics = try origin.ask("GET", "/metrics").text
    #expect(
      metrics.contains(
        #"xcache_rollout_devices{app="shop",channel="online",version="3",arm="candidate",outcome="failed"} 41"#
      ))
    _ = try origin.api("POST", "\(Self.online)/rollout/resume", [:])
    #expect(try !problems().contains("alarm"))
  }

  /// Twice the openings, or a few failures more by chance, are no alarm.
  @Test func goodReleaseIsNotPaused() throws {
    try candidate(["share": 500])
    for _ in 0..<5 { try devices(200, candidate: 3, control: 2) }
    #expect(try share() == 500)
    #expect((try shown()["evidence"]?["e"]?.integer ?? 0) < 100)
  }

  @Test func personWhoResumesTakesOver() throws {
    try candidate(["ramp": ["atLeast": 0, "each": 100, "steps": [500, 2500]], "share": 500])
    try devices(200, candidate: 40)
    #expect(try share() == 0)
    let answer = try origin.api("POST", "\(Self.online)/rollout/resume", [:]).json
    #expect(answer["pausesItself"]?.bool == false)
    #expect(try share() == 500)
    #expect(try shown()["evidence"]?["resumed"] == ["at": "2025-11-19T13:00:00.000Z", "e": 1])
    #expect(
      try waits() == [
        "openings: devices with the candidate that open a page in this step: so far 0 of 100",
        "openings: devices to compare with that open a page in this step: so far 0 of 100",
        "time: the end of the step, not before 2025-11-19 13:00:00 UTC",
      ])
    // What decides is told to whoever watches, too.
    let metric = #"xcache_rollout_evalue{app="shop",channel="online",version="3"} 1"#
    #expect(origin.origin.adoption.prometheusText.contains(metric + "\n"))
    pass(hours: 1)
    try devices(200, candidate: 40)
    #expect(!origin.origin.adoption.prometheusText.contains(metric + "\n"))
    // What was reported since then raises an alarm again: it isn't paused, and doesn't go on either.
    #expect(try share() == 500)
    #expect(
      try waits() == [
        "person: a person: it was resumed after an alarm, and fails too often since then; alarms don't pause it any more"
      ])
    #expect((try shown()["evidence"]?["resumed"]?["e"]?.integer ?? 0) >= 100)
    // Paused and resumed by a person, it stays so.
    _ = try origin.api("POST", "\(Self.online)/rollout/pause", [:])
    #expect(try origin.api("POST", "\(Self.online)/rollout/resume", [:]).json["pausesItself"] == nil)
  }

  /// Openings of the hour in which it was resumed, whose failures don't count, don't let it go on either.
  @Test func resumedRampWaitsForWhatCounts() throws {
    try candidate(["ramp": ["atLeast": 0, "completes": true, "each": 100, "steps": [500, 10_000]]])
    try devices(200, candidate: 40)
    _ = try origin.api("POST", "\(Self.online)/rollout/resume", [:])
    for _ in 0..<3 { try devices(400, candidate: 80) }
    #expect(try share() == 500)
    #expect(try waits().last == "time: the end of the step, not before 2025-11-19 13:00:00 UTC")
    pass(hours: 1)
    check()
    #expect(try share() == 500)
    #expect(try waits().allSatisfy { $0.hasSuffix("so far 0 of 100") })
    try devices(99)
    #expect(try share() == 500)
    try devices(10)
    #expect(try share() == 10_000)
    // The step after it counts from its own beginning.
    pass(hours: 1)
    try devices(90)
    #expect(try shown()["open"]?["version"]?.string == "3")
    try devices(20)
    #expect(try shown()["full"]?.string == "3")
  }

  @Test func haltsItself() throws {
    try candidate(["autoHalt": true, "share": 500])
    #expect(try shown()["evidence"]?["haltsItself"]?.bool == true)
    // Beyond doubt, but from too few networks.
    for _ in 0..<10 { try devices(4, candidate: 4) }
    #expect(try shown()["open"]?["version"]?.string == "3")
    try devices(400, candidate: 100, control: 1)
    let list = try shown()
    #expect(list["open"]?.isNull == true && list["full"]?.string == "4" && list["evidence"] == nil)
    let ended = list["rollouts"]?.array?.first
    #expect(ended?["state"]?.string == "halted" && ended?["changedBy"]?.string == "xcache")
    #expect(ended?["reason"]?.string?.contains("fails too often") == true)
    let answer = try origin.ask("GET", "/configure.json?app=shop&version=3").json["data"]
    #expect(answer?["version"]?.string == "4" && answer?["rollback"]?.string == "4")
    check()
    #expect(try acts("rollout.halt") == 1)
    // A channel says so for a week.
    func told() throws -> String? {
      try origin.api("GET", Self.online).json["halted"]?["version"]?.string
    }
    #expect(try told() == "3")
    pass(hours: 24 * 7)
    #expect(try told() == nil)
  }

  /// While a halt waits, as for a place that files are pushed to, nobody new is let in; and it isn't done if a person has changed
  /// the rollout by then.
  @Test func haltThatFailsLeavesItPaused() throws {
    let isDown = Locked(false)
    let origin = try TestOrigin(
      { options in
        options.push = ReleasePush(names: { _ in isDown.withLock { $0 } ? ["file"] : [] }) {
          (_) throws(StoreError) in
          if isDown.withLock({ $0 }) { throw .pushFailed(place: "the CDN", reason: "a test") }
        }
      }, clock: { [now] in now.withLock { $0 } })
    try origin.publish(["a.js": "one"])
    var body = try origin.release(["a.js": "two"]).object ?? JSONObject()
    body["rollout"] = ["autoHalt": true, "share": 500]
    #expect(try origin.api("POST", "\(Self.online)/releases", .object(body)).status == 201)
    isDown.withLock { $0 = true }
    try devices(400, candidate: 100, control: 1, version: "2", of: origin)
    let list = try origin.api("GET", "\(Self.online)/rollout").json
    #expect(list["open"]?["version"]?.string == "2" && list["open"]?["paused"]?.bool == true)
    #expect(list["evidence"]?["alarmedAt"]?.string != nil)
    #expect(origin.origin.api.releases.staged.all.count == 1)
    _ = try origin.api("POST", "\(Self.online)/rollout/set", ["autoHalt": false])
    isDown.withLock { $0 = false }
    let staged = origin.origin.api.releases.staged
    for _ in 0..<400 where !staged.all.isEmpty { Clock.sleep(for: .milliseconds(50)) }
    #expect(staged.all.isEmpty)
    #expect(try origin.api("GET", "\(Self.online)/rollout").json["open"]?["version"]?.string == "2")
  }

  /// While the place that one channel's files are pushed to hangs, other channels' rollouts are looked at, and a halt isn't begun twice.
  @Test func haltThatHangsKeepsNoAlarmWaiting() throws {
    let (isHanging, hanging) = (Locked(false), Monitor(0))
    let mayGoOn = Monitor(false)
    let origin = try TestOrigin(
      { options in
        options.push = ReleasePush(names: { prepared in
          isHanging.withLock { $0 } && prepared.channel.name == .online ? ["file"] : []
        }) { _ in
          hanging.broadcasting { $0 += 1 }
          mayGoOn.waiting { $0 ? () : nil }
        }
      }, clock: { [now] in now.withLock { $0 } })
    for channel in ["online", "test"] {
      try origin.publish(["a.js": "one"], channel: channel)
      var body = try origin.release(["a.js": "two"], channel: channel).object ?? JSONObject()
      body["rollout"] = ["autoHalt": true, "share": 500]
      #expect(try origin.api("POST", "apps/shop/channels/\(channel)/releases", .object(body)).status == 201)
    }
    func open(_ channel: String) throws -> JSONValue {
      try origin.api("GET", "apps/shop/channels/\(channel)/rollout").json["open"] ?? .null
    }
    isHanging.withLock { $0 = true }
    try report(400, candidate: 100, control: 1, version: "2", to: origin)
    let watch = watch(origin)
    watch.check()
    hanging.waiting { $0 > 0 ? () : nil }
    #expect(try open("online")["paused"]?.bool == true)
    try report(400, candidate: 100, control: 1, version: "2", to: origin, channel: "test")
    for _ in 0..<3 { watch.check() }
    for _ in 0..<400 where try !open("test").isNull { Clock.sleep(for: .milliseconds(50)) }
    #expect(try open("test").isNull)
    #expect(hanging.withLock { $0 } == 1)
    // An origin that stops doesn't wait for it, and begins nothing more.
    watch.beginStopping()
    #expect(!watch.finish(within: .milliseconds(50)))
    mayGoOn.broadcasting { $0 = true }
    #expect(watch.finish(within: .seconds(60)))
    #expect(try open("online").isNull)
    let halts = try origin.store.auditLog(limit: 1000).filter { $0.act == "rollout.halt" }
    #expect(halts.count == 2 && halts.allSatisfy { $0.author == "xcache" })
  }

  /// An origin that is stopping halts nothing: the next one does.
  @Test func nothingIsBegunWhileStopping() throws {
    try candidate(["autoHalt": true, "share": 500])
    try report(400, candidate: 100, control: 1, version: "3", to: origin)
    let watch = watch(origin)
    watch.beginStopping()
    watch.check()
    watch.begin()
    #expect(watch.finish(within: .zero))
    #expect(try share() == 500)
    check(try origin.restarted())
    #expect(try acts("rollout.halt") == 1)
  }

  /// An e-value beyond the numbers that JSON's readers take.
  @Test func largestValueCanBeRead() throws {
    try candidate(["share": 500])
    try devices(400, candidate: 400)
    let evidence = try shown()["evidence"]
    #expect(evidence?["e"]?.integer == 9_007_199_254_740_991)
    #expect(evidence?["highest"]?.integer == 9_007_199_254_740_991)
    let row = try #require(try origin.store.auditLog(limit: 10).first { $0.act == "rollout.pause" })
    #expect(row.parameters.contains(#""e":9007199254740991"#))
  }

  @Test func nobodyIsHaltedUnasked() throws {
    try candidate(["share": 500])
    try devices(400, candidate: 200)
    #expect(try shown()["open"]?["paused"]?.bool == true)
    // Those who have it go on reporting.
    try devices(400, candidate: 200)
    #expect(try shown()["open"]?["version"]?.string == "3")
    #expect(
      try origin.api("POST", "\(Self.online)/rollout/set", ["autoHalt": true]).json["changed"]?.bool == true)
    check()
    #expect(try shown()["full"]?.string == "4")
  }

  @Test func rampGoesOnByEvidence() throws {
    try candidate(["ramp": ["atLeast": 3600, "each": 50, "steps": [500, 2500, 10_000]]])
    #expect(try share() == 500)
    try devices(40)
    #expect(
      try waits() == [
        "openings: devices with the candidate that open a page in this step: so far 40 of 50",
        "openings: devices to compare with that open a page in this step: so far 40 of 50",
        "time: the end of the step, not before 2025-11-19 13:00:00 UTC",
      ])
    // Time alone is not enough, and neither are openings.
    pass(hours: 2)
    check()
    #expect(try share() == 500)
    try devices(60)
    #expect(try share() == 2500)
    // The next step counts from here.
    try devices(60)
    #expect(try share() == 2500)
    pass(hours: 1)
    // A frozen channel: it waits.
    _ = try origin.api("POST", "\(Self.online)/freeze", ["reason": "sale"])
    check()
    #expect(try share() == 2500 && waits() == ["freeze: the end of the channel's freeze: sale"])
    _ = try origin.api("POST", "\(Self.online)/thaw", [:])
    for origin in [origin, try origin.restarted()] { check(origin) }
    #expect(try share() == 10_000)
    // Completing is a person's act.
    pass(hours: 5)
    try devices(100)
    #expect(try shown()["open"]?["version"]?.string == "3")
    #expect(try waits() == ["completing: a person, who completes it"])
    #expect(try acts("rollout.set") == 2)
  }

  /// Both rates with what they may be, from docs/vectors/evidence.py.
  @Test func ratesHaveIntervals() throws {
    try candidate(["share": 500])
    #expect(try shown()["evidence"]?["control"] == ["failed": 0, "opened": 0])
    try devices(200, candidate: 10)
    let evidence = try #require(try shown()["evidence"])
    #expect(
      evidence["candidate"] == ["failed": 10, "high": 120_659, "low": 13_600, "opened": 200, "rate": 50_000])
    #expect(evidence["control"] == ["failed": 0, "high": 30_611, "low": 0, "opened": 200, "rate": 0])
    #expect(evidence["points"]?.array?.count == 1 && evidence["resumed"] == nil)
  }

  /// Hardly a report counts, until somebody says that the fleet is in few networks.
  @Test func fleetInFewNetworks() throws {
    try candidate(["ramp": ["atLeast": 0, "each": 50, "steps": [500, 2500]]])
    try devices(60, networks: 3)
    var evidence = try #require(try shown()["evidence"])
    #expect(evidence["leftOut"] == ["networks": 3, "of": 120, "opened": 114])
    #expect(evidence["networkCap"] == 500 && evidence["candidate"]?["opened"] == 3)
    #expect(try share() == 500)
    let path = "\(Self.online)/rollout/set"
    for bad: JSONValue in [0, -1, 10_001] {
      #expect(try origin.api("POST", path, ["networkCap": bad]).status == 400)
    }
    #expect(try origin.api("POST", path, ["networkCap": 10_000]).json["changed"]?.bool == true)
    #expect(try origin.api("POST", path, ["networkCap": 10_000]).json["changed"]?.bool == false)
    evidence = try #require(try shown()["evidence"])
    #expect(evidence["networkCap"] == 10_000 && evidence["leftOut"] == nil)
    check()
    #expect(try share() == 2500)
  }

  @Test func capOfANewRollout() throws {
    try candidate(["networkCap": 10_000, "share": 500])
    try devices(60, networks: 1)
    #expect(try shown()["evidence"]?["candidate"]?["opened"] == 60)
    #expect(try origin.api("POST", "\(Self.online)/rollout/pause", ["networkCap": 500]).status == 400)
  }

  @Test func waitsSayWhatTheyAreFor() throws {
    try candidate(["ramp": ["atLeast": 0, "each": 50, "steps": [500, 2500]]])
    let openings = ["with the candidate", "to compare with"].map {
      "openings: devices \($0) that open a page in this step: so far 40 of 50"
    }
    try devices(40)
    _ = try origin.api("POST", "\(Self.online)/freeze", ["reason": "sale"])
    #expect(try waits() == openings + ["freeze: the end of the channel's freeze: sale"])
    _ = try origin.api("POST", "\(Self.online)/thaw", [:])
    #expect(try waits() == openings)
    _ = try origin.api("POST", "\(Self.online)/rollout/pause", [:])
    #expect(try waits() == ["resuming: a person: it is paused"])
    try devices(200, candidate: 40)
    let again =
      "a person: it is paused, and if it is resumed, an alarm pauses it again, since it fails too often"
    #expect(try waits() == ["resuming: \(again)"])
  }

  /// Also if it begins and ends by its time alone.
  @Test func plannedFreezeIsWaitedFor() throws {
    try candidate(["ramp": ["atLeast": 0, "each": 50, "steps": [500, 2500]]])
    try devices(40)
    _ = try origin.api(
      "POST", "\(Self.online)/freeze",
      ["from": "2025-11-19T13:00:00Z", "reason": "sale", "to": "2025-11-19T14:00:00Z"])
    func isFrozen() throws -> Bool { try waits().contains { $0.hasPrefix("freeze: ") } }
    #expect(try !isFrozen())
    pass(hours: 1)
    #expect(try isFrozen())
    pass(hours: 1)
    #expect(try !isFrozen())
  }

  @Test func haltingWaitsForNetworks() throws {
    try candidate(["autoHalt": true, "networkCap": 10_000, "share": 500])
    try devices(40, candidate: 40, networks: 4)
    #expect(
      try waits() == [
        "resuming: a person: an alarm has paused it",
        "networks: failures in 5 networks, to be halted by itself: so far in 4",
      ])
  }

  /// What refuses a step is told to those who look, not only to the log.
  @Test func refusalsAreShown() throws {
    try candidate(["ramp": ["atLeast": 0, "each": 10, "steps": [500, 2500]]])
    let channel = try #require(origin.store.channels().first { $0.rollout != nil })
    func refuse(_ version: ManifestVersion) {
      origin.origin.adoption.refusals.withLock {
        $0[channel.id] = RolloutRefusal(candidate: version, words: "it is\nso")
      }
    }
    refuse(channel.version)
    // It isn't about to go on, so nothing is refused.
    #expect(try waits().allSatisfy { $0.hasPrefix("openings: ") })
    _ = try origin.api("POST", "\(Self.online)/rollout/set", ["ramp": ["steps": []]])
    try devices(20)
    _ = try origin.api(
      "POST", "\(Self.online)/rollout/set", ["ramp": ["atLeast": 0, "each": 10, "steps": [500, 2500]]])
    refuse(channel.full.version)
    #expect(try waits().isEmpty)
    refuse(channel.version)
    #expect(try waits() == ["refused: a person: it can't go on by itself: it is ⏎ so"])
    check()
    #expect(try share() == 2500 && origin.origin.adoption.refusals.withLock { $0.isEmpty })
  }

  @Test func rampCompletes() throws {
    try candidate([
      "ramp": ["atLeast": 60, "completes": true, "each": 10, "steps": [500, 10_000]], "share": 100,
    ])
    for wanted in [500, 10_000] as [Int64] {
      pass(hours: 1)
      try devices(20)
      #expect(try share() == wanted)
    }
    try devices(20)
    #expect(try share() == 10_000)
    pass(hours: 1)
    check()
    #expect(try shown()["full"]?.string == "3" && shown()["open"]?.isNull == true)
    #expect(try acts("rollout.complete") == 1)
  }

  /// A clock that is set back makes a step longer, and never takes one back or twice.
  @Test func clockThatIsSetBack() throws {
    try candidate(["ramp": ["atLeast": 3600, "each": 10, "steps": [500, 2500, 5000]]])
    pass(hours: 1)
    try devices(20)
    #expect(try share() == 2500)
    pass(hours: -72)
    try devices(20)
    #expect(try share() == 2500)
    pass(hours: 73)
    check()
    #expect(try share() == 5000)
    #expect(try shown()["evidence"]?["candidate"]?["opened"]?.integer == 40)
  }

  /// A step that was taken while the clock was years ahead lasts no longer for it, and what counts after a resume neither.
  @Test func clockThatWasAhead() throws {
    try candidate(["ramp": ["atLeast": 3600, "each": 10, "steps": [500, 2500, 5000]]])
    pass(hours: 20_000)
    try devices(20)
    #expect(try share() == 2500)
    try devices(200, candidate: 40)
    _ = try origin.api("POST", "\(Self.online)/rollout/resume", [:])
    pass(hours: -20_000)
    check()
    #expect(try shown()["evidence"]?["resumed"] == ["at": "2025-11-19T13:00:00.000Z", "e": 1])
    #expect(try waits().last == "time: the end of the step, not before 2025-11-19 14:00:00 UTC")
    pass(hours: 1)
    try devices(20)
    #expect(try share() == 2500)
    pass(hours: 1)
    check()
    #expect(try share() == 5000)
  }

  /// Who lets no device in doesn't want time alone to do it again.
  @Test func rampFromNobodyTakesAPerson() throws {
    try candidate(["ramp": ["atLeast": 60, "completes": true, "each": 10, "steps": [500, 10_000]]])
    _ = try origin.api("POST", "\(Self.online)/rollout/set", ["share": 0])
    pass(hours: 5)
    check()
    #expect(try share() == 0)
    #expect(try waits() == ["person: a person: no device is let in"])
    // Those of a group come first, for a time.
    _ = try origin.api("POST", "\(Self.online)/rollout/set", ["groups": ["qa"]])
    check()
    #expect(try waits().first?.hasPrefix("time: ") == true)
    pass(hours: 5)
    check()
    #expect(try share() == 500)
  }

  @Test func remadeCandidateKeepsItsRamp() throws {
    try candidate(["ramp": ["atLeast": 0, "each": 30, "steps": [500, 2500]]])
    try devices(20)
    try origin.publish(["b.js": "b2"], bundle: "other")
    #expect(try shown()["open"]?["version"]?.string == "5")
    try devices(20, version: "5")
    #expect(try share() == 2500)
  }

  /// The answer to a release says what its rollout does by itself; one that can't go anywhere is refused.
  @Test func releaseSaysItsRamp() throws {
    var body = try origin.release(["a.js": "two"]).object ?? JSONObject()
    func release(_ terms: JSONValue, dryRun: Bool = false) throws -> (status: Int, json: JSONValue) {
      body["rollout"] = terms
      body["dryRun"] = dryRun ? true : nil
      let answer = try origin.api("POST", "\(Self.online)/releases", .object(body))
      return (Int(answer.status), answer.json)
    }
    #expect(try release(["ramp": ["steps": [500]], "share": 1000]).status == 400)
    #expect(try release(["ramp": ["steps": [500], "wait": 5]]).status == 400)
    let terms: JSONValue = ["autoHalt": true, "ramp": ["each": 10, "steps": [500, 10_000]]]
    for isDryRun in [true, false] {
      let made = try release(terms, dryRun: isDryRun).json["rollout"]
      #expect(made?["autoHalt"]?.bool == true && made?["ramp"]?["each"]?.integer == 10)
      #expect(made?["open"]?["share"]?.integer == 500)
    }
    let row = try #require(try origin.store.auditLog(limit: 1).first)
    #expect(row.result.contains(#""ramp":["5%","100%"]"#))
  }

  @Test func rampOfAnOpenRollout() throws {
    try candidate(["share": 500])
    let ramp: JSONValue = ["atLeast": 0, "each": 10, "steps": [2500]]
    let path = "\(Self.online)/rollout/set"
    #expect(try origin.api("POST", path, ["ramp": ramp]).json["changed"]?.bool == true)
    #expect(try origin.api("POST", path, ["ramp": ramp]).json["changed"]?.bool == false)
    #expect(try shown()["ramp"]?["steps"]?.array?.count == 1)
    #expect(try origin.api("POST", path, ["ramp": ["steps": []]]).json["changed"]?.bool == true)
    #expect(try shown()["ramp"] == nil)
    for bad: JSONValue in [
      ["steps": [500, 500]], ["steps": [0]], ["steps": [10_001]], ["each": 0, "steps": [1]],
      ["atLeast": -1, "steps": [1]], ["atLeast": .integer(Int64.max), "steps": [1]],
      ["steps": .array((1...21).map { .integer($0) })],
      ["each": 5, "steps": []], ["each": -5, "steps": []], ["steps": [500]], ["steps": [2500], "wait": 5],
    ] {
      #expect(try origin.api("POST", path, ["ramp": bad]).status == 400)
    }
    #expect(try origin.api("POST", "\(Self.online)/rollout/pause", ["autoHalt": true]).status == 400)
  }
}
