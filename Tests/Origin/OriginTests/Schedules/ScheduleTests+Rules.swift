import Manifests
import OriginAPI
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// The rules of scheduled acts, in edge cases and races.
extension ScheduleTests {
  /// Runs each act on a thread of its own, and waits until all are done.
  private func race(_ acts: [@Sendable () -> Void]) throws {
    let left = Monitor(acts.count)
    for act in acts {
      _ = try OSThread(name: "race") {
        act()
        left.broadcasting { $0 -= 1 }
      }
    }
    left.waiting { $0 == 0 ? () : nil }
  }

  @Test func concurrentServicesDoAnActOnce() throws {
    for round in 0..<10 {
      let origin = try opened()
      let id = try schedule(origin, "releases", origin.release(["a.js": "second \(round)"]))
      now.withLock { $0 += Self.hour }
      let services = (0..<3).map { _ in
        ScheduleService(api: origin.origin.api) { [logged] line in logged.withLock { $0.append(line) } }
      }
      try race(services.map { service in { service.run() } })
      #expect(
        try version(origin) == "2" && state(origin, id)["version"]?.string == "2",
        "\(description(origin, id))")
      #expect(
        try acts(origin).filter { $0 == "publish" || $0 == "schedule.run" } == [
          "publish", "publish", "schedule.run",
        ])
    }
  }

  @Test func cancelRacesWithTheDueTime() throws {
    for round in 0..<20 {
      let origin = try opened()
      let id = try schedule(origin, "releases", origin.release(["a.js": "second \(round)"]))
      now.withLock { $0 += Self.hour }
      let service = ScheduleService(api: origin.origin.api) { _ in }
      let (store, app) = (origin.store, try AppName("shop"))
      let isCancelled = Locked(false)
      try race([
        { service.run() },
        {
          let actor = Actor(name: "anna", address: "")
          let ended = try? store.cancelSchedule(id, of: app, .online, by: actor)
          isCancelled.withLock { $0 = ended != nil }
        },
      ])
      let end = try state(origin, id)["state"]?.string
      #expect(
        try end == (isCancelled.withLock { $0 } ? "cancelled" : "done")
          && version(origin) == (end == "done" ? "2" : "1"))
      let ends = try acts(origin).filter { $0.hasPrefix("schedule.") && $0 != "schedule.add" }
      #expect(ends == [end == "done" ? "schedule.run" : "schedule.cancel"])
    }
  }

  /// Freezes the channel as a scheduled act does, with the token as it was when the act became due.
  private func carryOut(_ origin: TestOrigin, _ id: Int64, _ token: AccessToken) throws {
    let record = AnswerRecord<ChannelFreezing>(ScheduledRun(id: id, token: token)) { _ in
      StoredAnswer(status: 200, body: Array("{}".utf8))
    }
    _ = try origin.store.freezeChannel(try AppName("shop"), .online, reason: "x", by: .local, record: record)
  }

  private func isFrozen(_ origin: TestOrigin) throws -> Bool {
    try origin.store.freeze(of: origin.store.channel(try AppName("shop"), .online)) != nil
  }

  @Test func actCancelledAtItsBeginIsNotDone() throws {
    let origin = try opened()
    let id = try schedule(origin, "releases", origin.release(["a.js": "second"]))
    now.withLock { $0 += Self.hour }
    let due = try #require(try origin.store.dueAct())
    let token = try #require(try origin.store.tokenInUse(id: due.act.token))
    #expect(try origin.api("DELETE", "\(Self.online)/schedules/\(id)").status == 200)
    #expect {
      try carryOut(origin, id, token)
    } throws: {
      if case StoreError.alreadyDone = $0 { true } else { false }
    }
    #expect(try !isFrozen(origin))
    // A later failure doesn't change the result.
    #expect(try !origin.store.endSchedule(due.act, as: .failed, code: "frozen", reason: "x"))
    try origin.store.noteSchedule(due.act, code: "busy", reason: "x", isUnpushed: true)
    let end = try state(origin, id)
    #expect(end["state"]?.string == "cancelled" && end["code"]?.isNull == true, "\(end)")
    #expect(try !acts(origin).contains("schedule.fail"))
  }

  /// Neither the act nor the end of its row is stored without the other.
  @Test func actAndEndOfItsRowAreOneTransaction() throws {
    let origin = try opened()
    let id = try schedule(origin, "releases", origin.release(["a.js": "second"]))
    now.withLock { $0 += Self.hour }
    let due = try #require(try origin.store.dueAct())
    let token = try #require(try origin.store.tokenInUse(id: due.act.token))
    try origin.store.connections.transaction { (db) throws(StoreError) in
      try db.run(
        """
        CREATE TEMP TRIGGER torn BEFORE UPDATE OF state ON scheduled_act WHEN NEW.state = 'done'
        BEGIN SELECT RAISE(ABORT, 'torn'); END
        """)
    }
    #expect(throws: StoreError.self) { try carryOut(origin, id, token) }
    #expect(try !isFrozen(origin) && state(origin, id)["state"]?.string == "waiting")
    try origin.store.connections.transaction { (db) throws(StoreError) in try db.run("DROP TRIGGER torn") }
    try carryOut(origin, id, token)
    #expect(try isFrozen(origin) && state(origin, id)["state"]?.string == "done")
  }

  @Test func expiredTokenIsRefused() throws {
    let origin = try opened()
    let body: JSONValue = ["expiresIn": 10_800, "name": "short", "scope": "publish"]
    let token = try #require(try origin.api("POST", "tokens", body).json["token"]?.string)
    let early = try schedule(origin, "releases", origin.release(["a.js": "second"]), token: token)
    pass(origin)
    #expect(try state(origin, early)["state"]?.string == "done", "\(description(origin, early))")
    let kept = try #require(try origin.store.tokens().first { $0.name == "short" })
    // A time after the token's expiry is refused.
    var third = try origin.release(["a.js": "third"]).object ?? JSONObject()
    third["schedule"] = time(in: 2)
    let reply = try origin.api("POST", "\(Self.online)/releases", .object(third), token: token)
    #expect(reply.status == 400 && reply.text.contains("expires at"), "\(reply.text)")
    // The origin may be late, however.
    let late = try schedule(origin, "releases", origin.release(["a.js": "third"]), token: token)
    pass(origin, hours: 2)
    let end = try state(origin, late)
    #expect(end["state"]?.string == "failed" && end["reason"]?.string?.contains("short") == true, "\(end)")
    #expect(try version(origin) == "2")
    // In the transaction, too.
    let last = try schedule(origin, "releases", origin.release(["a.js": "fourth"]))
    #expect {
      try carryOut(origin, last, kept)
    } throws: {
      if case StoreError.tokenEnded = $0 { true } else { false }
    }
    #expect(try !isFrozen(origin))
  }

  /// A token's rights never change, but the channel's limits may.
  @Test func allowedHostsOfTheDueTimeApply() throws {
    let origin = try opened()
    let id = try schedule(origin, "releases", origin.release(["a.js": "second"]))
    let settings: JSONValue = ["hosts": ["t.example.com"]]
    #expect(try origin.api("POST", "\(Self.online)/settings", settings).status == 200)
    pass(origin)
    let end = try state(origin, id)
    #expect(end["state"]?.string == "failed" && end["code"]?.string == "foreign-hosts", "\(end)")
  }

  @Test func actIsDoneUpToADayLateAndThenMissed() throws {
    for (late, expected) in [(0, "done"), (1, "missed")] as [(Int64, String)] {
      let origin = try opened()
      let id = try schedule(origin, "releases", origin.release(["a.js": "second"]))
      now.withLock { $0 += 25 * Self.hour + late }
      run(origin)
      #expect(try state(origin, id)["state"]?.string == expected, "\(description(origin, id))")
      #expect(try version(origin) == (expected == "done" ? "2" : "1"))
    }
  }

  @Test func acceptedTimes() throws {
    let origin = try opened()
    let year: Int64 = 366 * 86_400_000
    for (ahead, status) in [(0, 400), (-1, 400), (1, 202), (year, 202), (year + 1, 400)] as [(Int64, Int)] {
      var body = try origin.release(["a.js": "second"]).object ?? JSONObject()
      body["schedule"] = .string(Timestamp.text(now.withLock { $0 } + ahead))
      #expect(try origin.api("POST", "\(Self.online)/releases", .object(body)).status == status, "\(ahead)")
    }
    // The same time in any zone, including the hour that occurs twice when summer time ends.
    for (text, moment) in [
      ("2026-12-01T02:00+08:00", "2026-11-30T18:00:00.000Z"),
      ("2027-10-31T02:30+02:00", "2027-10-31T00:30:00.000Z"),
      ("2027-10-31T02:30+01:00", "2027-10-31T01:30:00.000Z"),
      ("2027-03-28T02:30-03:30", "2027-03-28T06:00:00.000Z"),
    ] {
      var body = try origin.release(["a.js": "third"]).object ?? JSONObject()
      body["schedule"] = .string(text)
      let answer = try origin.api("POST", "\(Self.online)/releases", .object(body))
      #expect(answer.json["scheduled"]?["due"]?.string == moment, "\(answer.text)")
    }
  }

  @Test func clockSetBack() throws {
    let origin = try opened()
    let done = try schedule(origin, "releases", origin.release(["a.js": "second"]))
    let later = try schedule(origin, "releases", origin.release(["a.js": "third"]), in: 3)
    pass(origin, hours: 2)
    #expect(try version(origin) == "2")
    pass(origin, hours: -2)
    pass(origin, hours: 2)
    #expect(try version(origin) == "2" && state(origin, done)["version"]?.string == "2")
    pass(origin)
    #expect(try version(origin) == "3" && state(origin, later)["state"]?.string == "done")
  }

  @Test func failedPushIsRetriedUnlessSuperseded() throws {
    let fails = Locked(true)
    let origin = try TestOrigin(
      { options in
        options.push = ReleasePush(names: { $0.version.number < 2 ? [] : ["file"] }) {
          (_) throws(StoreError) in
          if fails.withLock({ $0 }) { throw .pushFailed(place: "the CDN", reason: "a test") }
        }
      }, clock: { [now] in now.withLock { $0 } })
    #expect(try origin.publish(["a.js": "one"]).status == 201)
    #expect(try origin.publish(["a.js": "tested"], channel: "test").status == 201)
    let late = try schedule(origin, "releases", origin.release(["a.js": "second"]))
    pass(origin)
    let waiting = try state(origin, late)
    #expect(waiting["state"]?.string == "waiting" && waiting["code"]?.string == "push-failed", "\(waiting)")
    #expect(
      waiting["reason"]?.string?.contains("a test") == true && waiting["version"]?.isNull == true,
      "\(waiting)")
    // Later, and then once.
    let tries = Locked(0)
    let service = ScheduleService(api: origin.origin.api, secondsBetweenAttempts: 1) { _ in
      tries.withLock { $0 += 1 }
    }
    service.run()
    fails.withLock { $0 = false }
    service.run()
    #expect(try state(origin, late)["state"]?.string == "waiting" && tries.withLock { $0 } == 1)
    // A staged release is retried by itself.
    for _ in 0..<100 where try state(origin, late)["state"]?.string == "waiting" {
      Clock.sleep(for: .milliseconds(100))
      service.run()
    }
    #expect(try state(origin, late)["state"]?.string == "done", "\(description(origin, late))")
    fails.withLock { $0 = true }
    let overtaken = try schedule(origin, "releases", origin.release(["a.js": "third"]))
    pass(origin)
    #expect(try state(origin, overtaken)["state"]?.string == "waiting", "\(description(origin, overtaken))")
    fails.withLock { $0 = false }
    #expect(try origin.publish(["a.js": "a hotfix"]).status == 201)
    run(try origin.restarted())
    let end = try state(origin, overtaken)
    #expect(end["state"]?.string == "failed" && end["code"]?.string == "overtaken", "\(end)")
  }

  /// If the act were retried, it would replace what was staged after it.
  @Test func laterStagedReleaseSupersedesTheAct() throws {
    let fails = Locked(true)
    let origin = try TestOrigin(
      { options in
        options.push = ReleasePush(names: { $0.version.number < 2 ? [] : ["file"] }) {
          (_) throws(StoreError) in
          if fails.withLock({ $0 }) { throw .pushFailed(place: "the CDN", reason: "a test") }
        }
      }, clock: { [now] in now.withLock { $0 } })
    #expect(try origin.publish(["a.js": "one"]).status == 201)
    let old = try schedule(origin, "releases", origin.release(["a.js": "old"]))
    now.withLock { $0 += Self.hour }
    let service = ScheduleService(api: origin.origin.api, secondsBetweenAttempts: 0.2) { _ in }
    service.run()
    // Alone, it stays staged.
    Clock.sleep(for: .milliseconds(300))
    service.run()
    #expect(try state(origin, old)["state"]?.string == "waiting", "\(description(origin, old))")
    #expect(try origin.publish(["a.js": "a hotfix"]).status >= 500)
    Clock.sleep(for: .milliseconds(300))
    service.run()
    let end = try state(origin, old)
    #expect(end["state"]?.string == "failed" && end["code"]?.string == "overtaken", "\(end)")
    fails.withLock { $0 = false }
    var isLive = false
    for _ in 0..<100 where !isLive {
      Clock.sleep(for: .milliseconds(100))
      isLive = try bytes(origin) == "a hotfix".utf8.count
    }
    #expect(isLive)
  }

  @Test func channelHasAtMostAHundred() throws {
    let origin = try opened()
    var body = try origin.release(["a.js": "second"]).object ?? JSONObject()
    body["schedule"] = time(in: 1)
    let path = "\(Self.online)/releases"
    for _ in 0..<ScheduleLimits.waiting { #expect(try origin.api("POST", path, .object(body)).status == 202) }
    let refused = try origin.api("POST", path, .object(body))
    #expect(refused.status == 409 && refused.json["code"]?.string == "too-many-schedules", "\(refused.text)")
    pass(origin)
    #expect(try origin.store.dueAct() == nil)
    #expect(try origin.api("POST", path, .object(body)).status == 400)
    body["schedule"] = time(in: 1)
    #expect(try origin.api("POST", path, .object(body)).status == 202)
    // The newest finished ones are listed, and no others are kept.
    pass(origin)
    #expect(try schedule(origin, "releases", .object(body)) > 101)
    let ids = try origin.api("GET", "\(Self.online)/schedules").json["schedules"]?.array?.compactMap {
      $0["id"]?.integer
    }
    #expect(ids?.count == 1 + ScheduleLimits.ended && ids?.contains(1) == false, "\(ids ?? [])")
    let rows = try origin.store.connections.reading { (db) throws(StoreError) in
      try db.value(Int.self, "SELECT count(*) FROM scheduled_act WHERE state <> 'waiting'")
    }
    #expect(rows == ScheduleLimits.ended)
  }

  @Test func finishedActsKeepNothing() throws {
    let origin = try opened()
    let ids = [
      try schedule(origin, "releases", origin.release(["a.js": "second"])),
      try schedule(origin, "releases", origin.release(["a.js": "third"])),
    ]
    #expect(try origin.api("DELETE", "\(Self.online)/schedules/\(ids[1])").status == 200)
    pass(origin)
    let kept = try origin.store.connections.reading { (db) throws(StoreError) in
      try db.value(
        Int.self,
        """
        SELECT (SELECT sum(length(request)) FROM scheduled_act) + (SELECT count(*) FROM scheduled_blob)
          + (SELECT count(*) FROM scheduled_version)
        """)
    }
    #expect(kept == 0)
  }

  /// A freeze scheduled for that time refuses a step, but neither a pause nor a halt.
  @Test func plannedFreezeAndRolloutSteps() throws {
    let origin = try opened()
    #expect(try origin.candidate(["a.js": "second"]).status == 201)
    let plan: JSONValue = ["from": time(in: 1), "reason": "holidays", "to": time(in: 5)]
    #expect(try origin.api("POST", "\(Self.online)/freeze", plan).status == 200)
    func step(_ verb: String, _ more: JSONObject = JSONObject(), in hours: Int64) throws -> Int {
      var body = more
      body["schedule"] = time(in: hours)
      return try origin.api("POST", "\(Self.online)/rollout/\(verb)", .object(body)).status
    }
    var halt = JSONObject()
    halt["message"] = "broken"
    var anyway = JSONObject()
    anyway["breakGlass"] = "it burns"
    #expect(
      try step("resume", in: 2) == 409 && step("complete", in: 1) == 409 && step("complete", in: 5) == 202)
    #expect(
      try step("complete", anyway, in: 2) == 202 && step("pause", in: 2) == 202
        && step("halt", halt, in: 2) == 202)
  }
}
