import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// What a rollout does by itself: how it is kept, and that each act is done once.
@Suite struct RolloutPlanTests {
  let scratch = Scratch()
  let anna = Actor(name: "anna", address: "10.0.0.7")
  let program = Actor(name: "xcache", address: "")
  let alarm: JSONValue = [
    "candidate": ["failed": 40, "opened": 800], "control": ["failed": 2, "opened": 810], "e": 133,
    "networks": 30,
  ]

  private func open(_ course: RolloutCourse? = nil, _ options: Store.Options = Store.Options()) throws
    -> Store
  {
    let store = try scratch.open(options)
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    try store.publish("b", base: 0, set: ["b.js": Sample("b1")])
    try store.send([Sample("a2")])
    var request = try store.request([try store.change("a", base: 1, set: ["a.js": Sample("a2")])])
    request.rollout = RolloutAudience(share: 500)
    request.rollout?.course = course
    _ = try store.commit(request)
    return store
  }

  private func input(_ change: RolloutInput.Change, by actor: Actor? = nil) throws -> RolloutInput {
    RolloutInput(app: try AppName("shop"), channel: .online, change, by: actor ?? anna)
  }

  private func standing(_ store: Store) throws -> RolloutStanding {
    try #require(try store.standing(of: try store.shop()))
  }

  private func alarmed(_ store: Store) throws -> RolloutOutcome {
    var input = try input(.pause, by: program)
    let standing = try standing(store)
    (input.alarm, input.ifIs) = (alarm, (standing.rollout, standing.plan))
    return try store.changeRollout(input)
  }

  @Test func courseOfARelease() throws {
    let ramp = RolloutRamp(
      try #require(Ramp(steps: [500, 2500], each: 10, atLeast: 60_000)), completes: true)
    let cap = try #require(NetworkCap(share: 2_000))
    let store = try open(RolloutCourse(haltsItself: true, ramp: .some(ramp), cap: cap))
    let rollout = try #require(try store.shop().rollout)
    #expect(rollout.audience == RolloutAudience(share: 500))
    let plan = try standing(store).plan
    #expect(plan.ramp == ramp && plan.haltsItself && plan.pausesItself && plan.alarmedAt == nil)
    #expect(plan.cap == cap)
    let row = try #require(try store.auditLog(limit: 1).first)
    #expect(
      row.result.contains(
        #""course":{"atLeast":60,"autoHalt":true,"each":10,"networkCap":2000,"pausesItself":true,"ramp":["5%","25%","complete"]}"#
      ),
      "\(row.result)")
    // Made again, it keeps it; another one has none.
    try store.publish("b", base: 2, set: ["b.js": Sample("b2")])
    #expect(try standing(store).plan == plan)
    try store.candidate("a", base: 1, set: ["a.js": Sample("a3")])
    #expect(try standing(store).plan == RolloutPlan())
  }

  @Test func alarmPausesOnceAndAPersonEndsThat() throws {
    let store = try open()
    #expect(try alarmed(store).isChanged)
    #expect(try !alarmed(store).isChanged)
    let plan = try standing(store).plan
    #expect(plan.isAlarmed && plan.pausesItself)
    let resumed = try store.changeRollout(try input(.resume))
    #expect(resumed.pausesItself == false)
    #expect(try !standing(store).plan.isAlarmed)
    #expect(try standing(store).plan.firstHour == store.now / 3_600_000 + 1)
    // An alarm that was decided before comes too late.
    #expect(try !alarmed(store).isChanged)
    #expect(try standing(store).rollout.isPaused == false)
    let rows = try store.auditLog(limit: 10)
    #expect(rows.map(\.act).prefix(2) == ["rollout.resume", "rollout.pause"])
    #expect(rows[0].result.contains(#""course":{"autoHalt":false,"pausesItself":false}"#))
    #expect(rows[1].author == "xcache" && rows[1].parameters.contains(#""e":133"#))
  }

  /// With another cap, other sums count, also those of before the step.
  @Test func stepKeepsItsBeginningWithAnotherCap() throws {
    let now = Locked<Int64>(1_763_553_600_000)
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let ramp = RolloutRamp(try #require(Ramp(steps: [500, 2500, 5000], each: 100)), completes: false)
    let store = try open(RolloutCourse(ramp: .some(ramp)), options)
    func report() throws {
      let (channel, rollout) = (try store.shop(), try standing(store).rollout)
      try store.count(
        RolloutArm.allCases.map {
          EvidenceCount(
            channel: channel.id, seed: rollout.seed, hour: store.now / 3_600_000, arm: $0,
            network: NetworkPrefix(IPAddress(v4: 1)), opened: 90, failed: 0)
        })
    }
    func waits() throws -> RampDecision { try standing(store).decision(now: store.now) }
    func set(_ course: RolloutCourse, share: Int? = nil) throws {
      var input = try input(.audience(share: share, groups: nil, app: nil))
      input.course = course
      _ = try store.changeRollout(input)
    }
    try report()
    now.withLock { $0 += 3_600_000 }
    try set(RolloutCourse(), share: 2500)
    // In the hour in which the step began, and in the next one.
    for _ in 0..<2 {
      try report()
      now.withLock { $0 += 3_600_000 }
    }
    #expect(
      try waits() == .wait(for: [.openings(.candidate, 2, of: 100), .openings(.control, 2, of: 100)]))
    try set(RolloutCourse(cap: NetworkCap(share: 10_000)))
    #expect(
      try waits() == .wait(for: [.openings(.candidate, 90, of: 100), .openings(.control, 90, of: 100)]))
    try report()
    #expect(try waits() == .advance(to: 5000))
    try set(RolloutCourse(cap: .standard))
    #expect(
      try waits() == .wait(for: [.openings(.candidate, 2, of: 100), .openings(.control, 2, of: 100)]))
  }

  /// An act that was decided before a person has changed the rollout changes nothing.
  @Test func personGoesFirst() throws {
    let store = try open()
    let before = try standing(store)
    _ = try store.changeRollout(try input(.audience(share: 100, groups: nil, app: nil)))
    for change in [
      RolloutInput.Change.audience(share: 2500, groups: nil, app: nil), .pause, .complete,
    ] {
      var late = try input(change, by: program)
      late.ifIs = (before.rollout, before.plan)
      #expect(try !store.changeRollout(late).isChanged)
    }
    #expect(try standing(store).rollout.audience.share == 100)
  }

  /// So does one after a person has changed what the rollout does by itself, and a halt.
  @Test func personChangesTheCourseFirst() throws {
    let store = try open(RolloutCourse(haltsItself: true))
    let before = try standing(store)
    var change = try input(.audience(share: nil, groups: nil, app: nil))
    change.course = RolloutCourse(haltsItself: false)
    #expect(try store.changeRollout(change).isChanged)
    let now = try standing(store)
    let rollout = now.rollout
    for (rollout, plan) in [(before.rollout, before.plan), (now.rollout, before.plan)] {
      var late = try input(.complete, by: program)
      late.ifIs = (rollout, plan)
      #expect(try !store.changeRollout(late).isChanged)
      #expect {
        _ = try store.haltRollout(
          try AppName("shop"), .online, rollout.candidate, by: program, reason: "it fails",
          ifIs: (rollout, plan))
      } throws: {
        ($0 as? StoreError)?.description.contains("was changed by anna") == true
      }
    }
    _ = try store.haltRollout(
      try AppName("shop"), .online, nil, by: program, reason: "it fails", ifIs: (now.rollout, now.plan))
    #expect(try store.shop().rollout == nil)
    // Who releases the same again is told.
    var again = try store.request([try store.change("a", base: 1, set: ["a.js": Sample("a2")])])
    again.rollout = RolloutAudience(share: 500)
    let same = try store.commit(again).sameAsHalted
    #expect(same?.candidate == rollout.candidate && same?.reason == "it fails")
    let other = try store.candidate("a", base: 1, set: ["a.js": Sample("a3")])
    #expect(other.sameAsHalted == nil)
  }

  /// What was scheduled before an alarm doesn't overrule it: nobody has looked.
  @Test func scheduledStepsWaitForAPersonAfterAnAlarm() throws {
    let store = try open()
    let before = store.now
    _ = try alarmed(store)
    let alarm = try #require(try standing(store).plan.alarmedAt)
    for change in [RolloutInput.Change.resume, .complete] {
      var late = try input(change)
      late.scheduledAt = before
      #expect {
        _ = try store.changeRollout(late)
      } throws: {
        ($0 as? StoreError)?.description.contains("an alarm has paused its rollout") == true
      }
    }
    #expect(try standing(store).rollout.isPaused)
    var knowing = try input(.complete)
    knowing.scheduledAt = alarm + 1
    #expect(try store.changeRollout(knowing).isChanged)
  }

  /// A release to all that has the candidate's content completes the rollout, but not in spite of an alarm.
  @Test func releaseDoesNotOverruleAnAlarm() throws {
    let store = try open()
    _ = try alarmed(store)
    let same = try store.request([try store.change("a", base: 1, set: ["a.js": Sample("a2")])])
    #expect {
      _ = try store.commit(same)
    } throws: {
      let words = ($0 as? StoreError)?.description ?? ""
      return words.contains("an alarm has paused its rollout") && words.contains("rollout complete")
    }
    // Nor does one that changes another bundle besides, and so takes the candidate's place.
    try store.send([Sample("b2")])
    var both = same
    both.bundles.append(try store.change("b", base: 1, set: ["b.js": Sample("b2")]))
    #expect {
      _ = try store.commit(both)
    } throws: {
      ($0 as? StoreError)?.description.contains("and this release has its content") == true
    }
    #expect(try standing(store).rollout.isPaused)
    // A purge does.
    var purge = same
    purge.candidatePrefetch = .dropped
    #expect(try store.commit(purge).rollout?.ended?.state == .completed)
  }

  @Test func alarmIsTold() throws {
    let store = try open()
    _ = try alarmed(store)
    var event = AuditEvent(
      "rollout.pause", app: try AppName("shop"), channel: .online, parameters: ["evidence": alarm],
      result: [
        "is": ["paused": true, "share": 500], "version": "3", "was": ["paused": false, "share": 500],
      ])
    let receipt = try store.auditHead()
    let messages = event.messages(by: program, receipt: receipt)
    #expect(messages.map(\.type) == ["rollout", "rollout.alarm"])
    #expect(
      messages[1].text
        == "shop online: version 3 fails too often, and nobody else gets it: 40 of 800 devices with it failed, of the "
        + "others 2 of 810 (e = 133). `xcache rollout show --app shop --channel online` shows it; halt the rollout, or resume it"
    )
    #expect(messages[1].data["evidence"] == alarm)
    event = AuditEvent(
      "rollout.pause", app: try AppName("shop"), channel: .online, parameters: [:],
      result: ["version": "3"])
    #expect(event.messages(by: anna, receipt: receipt).map(\.type) == ["rollout"])
    #expect(
      messages[0].text == "shop online: xcache paused the rollout of version 3, since it fails too often")
  }

  /// What was changed is told, also if that isn't the share.
  @Test(arguments: [
    ("[]", "changed what the rollout of version 3 does by itself, at 1 % of the devices"),
    (#"["qa"]"#, "set the rollout of version 3 to 1 % of the devices, from 1 % of the devices and group qa"),
  ])
  func changesAreTold(groups: String, words: String) throws {
    let store = try open()
    let before = #"{"app":null,"groups":\#(groups),"paused":false,"share":100}"#
    let event = AuditEvent(
      "rollout.set", app: try AppName("shop"), channel: .online, parameters: [:],
      result: [
        "is": try JSONValue.parse(Array(#"{"app":null,"groups":[],"paused":false,"share":100}"#.utf8)),
        "version": "3", "was": try JSONValue.parse(Array(before.utf8)),
      ])
    let messages = event.messages(by: anna, receipt: try store.auditHead())
    #expect(messages.map(\.text) == ["shop online: anna \(words)"])
  }

  @Test func highestIsKept() throws {
    let store = try open()
    let (channel, rollout) = (try store.shop(), try standing(store).rollout)
    for highest in [1.5, 4.0, 2.0] { try store.note(highest: highest, of: rollout, in: channel) }
    #expect(try standing(store).plan.highest == 4)
  }
}
