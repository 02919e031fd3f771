import Manifests
import OriginAPI
import Store
import System
import Testing
import Values

@testable import Origin

/// Acts that are scheduled and carried out later, by an origin with a clock that the test sets.
@Suite struct ScheduleTests {
  static let online = "apps/shop/channels/online"
  let now = Locked<Int64>(1_796_000_000_000)
  let logged = Locked<[String]>([])
  static let hour: Int64 = 3_600_000

  /// Version 1 has `a.js`.
  func opened() throws -> TestOrigin {
    let origin = try TestOrigin(clock: { [now] in now.withLock { $0 } })
    #expect(try origin.publish(["a.js": "one"]).status == 201)
    return origin
  }

  func time(in hours: Int64) -> JSONValue {
    .string(Timestamp.text(now.withLock { $0 } + hours * Self.hour))
  }

  /// Schedules an act, and returns its id.
  @discardableResult
  func schedule(
    _ origin: TestOrigin, _ route: String, _ body: JSONValue, in hours: Int64 = 1, token: String? = nil,
    channel: String = "online"
  ) throws -> Int64 {
    var body = body.object ?? JSONObject()
    body["schedule"] = time(in: hours)
    let reply = try origin.api("POST", "apps/shop/channels/\(channel)/\(route)", .object(body), token: token)
    #expect(reply.status == 202, "\(reply.text)")
    #expect(reply.json["changed"]?.bool == false && reply.json["scheduled"]?["state"]?.string == "waiting")
    return try #require(reply.json["scheduled"]?["id"]?.integer.map { Int64($0) })
  }

  /// Advances the clock, and carries out what is due.
  func pass(_ origin: TestOrigin, hours: Int64 = 1) {
    now.withLock { $0 += hours * Self.hour }
    run(origin)
  }

  func run(_ origin: TestOrigin) {
    ScheduleService(api: origin.origin.api) { [logged] line in logged.withLock { $0.append(line) } }.run()
  }

  func state(_ origin: TestOrigin, _ id: Int64) throws -> JSONValue {
    try origin.api("GET", "\(Self.online)/schedules/\(id)").json
  }

  /// The same as a message.
  func description(_ origin: TestOrigin, _ id: Int64) -> String {
    (try? state(origin, id)).map { "\($0)" } ?? "unknown"
  }

  func version(_ origin: TestOrigin, _ query: String = "") throws -> String? {
    try origin.ask("GET", "/configure.json?app=shop\(query)").json["data"]?["version"]?.string
  }

  func bytes(_ origin: TestOrigin, _ path: String = "a.js", _ query: String = "") throws -> Int? {
    try origin.ask("GET", "/configure.json?app=shop\(query)")
      .json["data"]?["resourcemap"]?["https://m.example.com/\(path)"]?["size"]?.integer.map { Int($0) }
  }

  func acts(_ origin: TestOrigin) throws -> [String] {
    try origin.store.auditRows(after: 0, limit: 1000).map(\.act)
  }

  @Test func publishIsMadeOnceAtItsTime() throws {
    let origin = try opened()
    let id = try schedule(origin, "releases", origin.release(["a.js": "second"]))
    #expect(try version(origin) == "1")
    now.withLock { $0 += Self.hour - 1 }
    run(origin)
    #expect(try version(origin) == "1")
    now.withLock { $0 += 1 }
    run(origin)
    run(origin)
    #expect(try version(origin) == "2" && bytes(origin) == 6)
    let end = try state(origin, id)
    #expect(end["state"]?.string == "done" && end["version"]?.string == "2", "\(end)")
    #expect(end["endedBy"]?.string == "admin")
    #expect(try acts(origin).suffix(3) == ["schedule.add", "publish", "schedule.run"])
    #expect(try origin.store.verifyAudit().0 == nil)
    // Nothing of the schedule remains in the status.
    #expect(try origin.api("GET", Self.online).json["scheduled"] == nil)
    #expect(try origin.api("DELETE", "\(Self.online)/schedules/\(id)").status == 409)
  }

  /// The end of an act is written in its release's transaction, a moment before polls are answered from that.
  @Test func whatIsDoneIsInPolls() throws {
    let origin = try opened()
    let id = try schedule(origin, "releases", origin.release(["a.js": "second"]))
    let other = try origin.restarted()
    pass(other)
    let made = try #require(other.origin.catalog.current.channel(AppName("shop"), ChannelName("online")))
    #expect(try version(origin) == "1")
    _ = try OSThread(name: "catalog") { [catalog = origin.origin.catalog] in
      Clock.sleep(for: .milliseconds(100))
      catalog.update { $0.put(made) }
    }
    #expect(try state(origin, id)["state"]?.string == "done")
    #expect(try version(origin) == "2")
  }

  @Test func publishReplacesItsBundleAndKeepsOthers() throws {
    let origin = try opened()
    let body = try origin.release(["a.js": "second"])
    try schedule(origin, "releases", body)
    #expect(try origin.publish(["a.js": "meanwhile", "new.js": "n"]).status == 201)
    #expect(try origin.publish(["b.js": "b"], bundle: "other").status == 201)
    pass(origin)
    #expect(try version(origin) == "4" && bytes(origin) == 6)
    #expect(try bytes(origin, "new.js") == nil && bytes(origin, "b.js") == 1)
  }

  @Test func ifVersionIsCheckedAtTheDueTime() throws {
    let origin = try opened()
    var body = try origin.release(["a.js": "second"]).object ?? JSONObject()
    body["ifVersion"] = "1"
    let id = try schedule(origin, "releases", .object(body))
    #expect(try origin.publish(["a.js": "meanwhile"]).status == 201)
    pass(origin)
    let end = try state(origin, id)
    #expect(end["state"]?.string == "failed" && end["code"]?.string == "if-version", "\(end)")
    #expect(try version(origin) == "2")
    #expect(try acts(origin).last == "schedule.fail")
    let answer = try origin.api("GET", Self.online).json["scheduled"]?.array?.first
    #expect(answer?["state"]?.string == "failed" && answer?["reason"]?.string != nil)
    // For a week.
    pass(origin, hours: 7 * 24)
    #expect(try origin.api("GET", Self.online).json["scheduled"] == nil)
  }

  @Test func gcKeepsBytesAndVersionsOfScheduledActs() throws {
    let origin = try opened()
    let id = try schedule(origin, "releases", origin.release(["a.js": "second"]), in: 24 * 30)
    let back = try schedule(origin, "rollback", ["bundle": "main", "to": "1"], in: 24 * 30)
    for number in 0..<4 { #expect(try origin.publish(["a.js": "x\(number)"]).status == 201) }
    func collect() throws -> CollectionReport {
      // Reservations of uploads expire, and unused uploads are old.
      now.withLock { $0 += 48 * Self.hour }
      var policy = RetentionPolicy()
      (policy.versions, policy.days) = (1, 1)
      return try origin.store.collect(policy)
    }
    _ = try collect()
    let report = try collect()
    let kept = try #require(report.channels.first?.kept)
    #expect(kept.first { $0.version.number == 1 }?.reasons.contains(.scheduled(id)) == true, "\(kept)")
    pass(origin, hours: 24 * 30 - 96)
    #expect(
      try state(origin, id)["version"]?.string == "6", "\(description(origin, id)) \(logged.withLock { $0 })")
    #expect(try state(origin, back)["version"]?.string == "7")
    #expect(try bytes(origin) == 3)
    #expect(try origin.store.checkup(deep: true).isClean)
    // Nothing keeps them any more.
    #expect(try collect().channels.first?.kept.contains { $0.version.number == 1 } == false)
  }

  @Test func cancelledActIsNotDone() throws {
    let origin = try opened()
    let id = try schedule(origin, "releases", origin.release(["a.js": "second"]))
    let answer = try origin.api("DELETE", "\(Self.online)/schedules/\(id)")
    #expect(answer.status == 200 && answer.json["state"]?.string == "cancelled")
    pass(origin)
    #expect(try version(origin) == "1")
    #expect(try acts(origin).last == "schedule.cancel")
    #expect(try origin.api("DELETE", "\(Self.online)/schedules/99").status == 404)
    #expect(try origin.api("GET", "\(Self.online)/schedules").json["schedules"]?.array?.count == 1)
  }

  @Test func actsAtTheSameTimeAreDoneInOrder() throws {
    let origin = try opened()
    let last = try schedule(origin, "releases", origin.release(["a.js": "the last"]), in: 2)
    let first = try schedule(origin, "releases", origin.release(["a.js": "1st"]))
    let second = try schedule(origin, "releases", origin.release(["a.js": "second"]))
    pass(origin, hours: 2)
    #expect(
      try [first, second, last].map { try state(origin, $0)["version"]?.string } == ["2", "3", "4"],
      "\(logged.withLock { $0 })")
  }

  @Test func tokenThatLostItsRightIsRefused() throws {
    let origin = try opened()
    func token(_ name: String, _ more: JSONValue = [:]) throws -> (id: String, text: String) {
      var body = more.object ?? JSONObject()
      (body["name"], body["scope"]) = (.string(name), "publish")
      let made = try origin.api("POST", "tokens", .object(body))
      #expect(made.status == 201, "\(made.text)")
      return (name, try #require(made.json["token"]?.string))
    }
    let (one, two) = (try token("one"), try token("two"))
    let revoked = try schedule(
      origin, "releases", origin.release(["a.js": "second"]), token: one.text)
    let other = try schedule(origin, "releases", origin.release(["a.js": "third"]), token: two.text)
    #expect(try origin.api("DELETE", "tokens/one").status == 200)
    pass(origin)
    let end = try state(origin, revoked)
    #expect(end["state"]?.string == "failed" && end["reason"]?.string?.contains("one") == true, "\(end)")
    #expect(try state(origin, other)["version"]?.string == "2")
    #expect(
      try origin.store.auditRows(after: 0, limit: 1000).last { $0.act == "publish" }?.author == "two")
  }

  @Test func tokenIsCheckedInTheTransaction() throws {
    let origin = try opened()
    let made = try origin.api("POST", "tokens", ["name": "one", "scope": "publish"]).json
    let text = try #require(made["token"]?.string)
    let id = try schedule(origin, "releases", origin.release(["a.js": "second"]), token: text)
    now.withLock { $0 += Self.hour }
    let due = try #require(try origin.store.dueAct())
    let token = try #require(try origin.store.tokenInUse(id: due.act.token))
    #expect(try origin.api("DELETE", "tokens/one").status == 200)
    let (app, channel) = (try AppName("shop"), ChannelName.online)
    let record = AnswerRecord<ChannelFreezing>(ScheduledRun(id: id, token: token)) { _ in
      StoredAnswer(status: 200, body: Array("{}".utf8))
    }
    #expect {
      try origin.store.freezeChannel(app, channel, reason: "x", by: .local, record: record)
    } throws: {
      if case StoreError.tokenEnded = $0 { true } else { false }
    }
    #expect(try origin.store.freeze(of: origin.store.channel(app, channel)) == nil)
  }

  @Test func freezeAtTheDueTimeRefuses() throws {
    let origin = try opened()
    let id = try schedule(origin, "releases", origin.release(["a.js": "second"]))
    var body = try origin.release(["a.js": "emergency"]).object ?? JSONObject()
    body["breakGlass"] = "it burns"
    let urgent = try schedule(origin, "releases", .object(body), in: 2)
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": "sale"]).status == 200)
    // Scheduling during a freeze without an end returns a warning.
    let beside = try origin.release(["a.js": "beside"]).object ?? JSONObject()
    var later = beside
    later["schedule"] = time(in: 5)
    let answer = try origin.api("POST", "\(Self.online)/releases", .object(later))
    #expect(answer.status == 202 && answer.json["freeze"]?["reason"]?.string == "sale")
    pass(origin)
    let end = try state(origin, id)
    #expect(end["state"]?.string == "failed" && end["code"]?.string == "frozen", "\(end)")
    #expect(end["reason"]?.string?.contains("sale") == true)
    pass(origin)
    #expect(try state(origin, urgent)["version"]?.string == "2")
    #expect(try origin.api("POST", "\(Self.online)/thaw", [:]).status == 200)
    // A scheduled freeze is known now.
    let plan: JSONValue = ["from": time(in: 10), "reason": "holidays", "to": time(in: 20)]
    #expect(try origin.api("POST", "\(Self.online)/freeze", plan).status == 200)
    later["schedule"] = time(in: 11)
    #expect(
      try origin.api("POST", "\(Self.online)/releases", .object(later)).json["code"]?.string == "frozen")
    later["breakGlass"] = "it burns"
    #expect(try origin.api("POST", "\(Self.online)/releases", .object(later)).status == 202)
    later["breakGlass"] = nil
    later["schedule"] = time(in: 20)
    #expect(try origin.api("POST", "\(Self.online)/releases", .object(later)).status == 202)
  }

  @Test func purgedBytesAreRefused() throws {
    let origin = try opened()
    let id = try schedule(origin, "releases", origin.release(["a.js": "a secret"]))
    let purge = try origin.api(
      "POST", "purge", ["content": .string(SHA256.of(Array("a secret".utf8)).hex), "reason": "leak"])
    #expect(purge.status == 200 || purge.status == 201, "\(purge.text)")
    pass(origin)
    let end = try state(origin, id)
    #expect(end["state"]?.string == "failed" && end["code"]?.string == "purged", "\(end)")
    #expect(try version(origin) == "1")
  }

  @Test func permanentErrorsAreRefusedWhenScheduling() throws {
    let origin = try opened()
    func refused(_ change: (inout JSONObject) -> Void) throws -> TestOrigin.Reply {
      var body = try origin.release(["a.js": "second"]).object ?? JSONObject()
      body["schedule"] = time(in: 1)
      change(&body)
      return try origin.api("POST", "\(Self.online)/releases", .object(body))
    }
    #expect(try refused { $0["schedule"] = time(in: 0) }.status == 400)
    #expect(try refused { $0["schedule"] = time(in: -1) }.status == 400)
    #expect(try refused { $0["schedule"] = time(in: 24 * 367) }.status == 400)
    #expect(try refused { $0["schedule"] = "2026-12-01T02:00" }.status == 400)
    #expect(try refused { $0["dryRun"] = true }.status == 400)
    #expect(try refused { $0["ifVersion"] = "0" }.json["code"]?.string == "if-version")
    let none: JSONValue = [
      "bundle": "main",
      "set": [
        "https://m.example.com/x.js": [
          "ctype": "text/plain", "md5": .string(MD5.of([1]).hex), "sha256": .string(SHA256.of([1]).hex),
          "size": 1,
        ]
      ],
    ]
    #expect(try refused { $0["bundles"] = [none] }.json["code"]?.string == "missing-blobs")
    var body = try origin.release(["a.js": "second"]).object ?? JSONObject()
    body["schedule"] = time(in: 1)
    #expect(
      try origin.api("POST", "apps/shop/channels/test/releases", .object(body)).json["code"]?.string
        == "unknown-base")
    #expect(
      try origin.api("POST", "\(Self.online)/rollout/complete", ["schedule": time(in: 1)]).status == 409)
    #expect(try acts(origin).contains("schedule.add") == false)
  }

  @Test func repeatedRequestSchedulesOnce() throws {
    let origin = try opened()
    var body = try origin.release(["a.js": "second"]).object ?? JSONObject()
    body["schedule"] = time(in: 1)
    let lines = ["Authorization: Bearer \(origin.token)", "Idempotency-Key: 0123456789abcdef"]
    let replies = try (0..<2).map { _ in
      try origin.ask("POST", "/api/v1/\(Self.online)/releases", lines, body: JSONValue.object(body).canonical)
    }
    #expect(replies[0].status == 202 && replies[0].body == replies[1].body, "\(replies[1].text)")
    #expect(try origin.api("GET", "\(Self.online)/schedules").json["schedules"]?.array?.count == 1)
    pass(origin)
    #expect(try version(origin) == "2")
  }

  @Test func stepsOfARollout() throws {
    let origin = try opened()
    #expect(try origin.candidate(["a.js": "second"]).status == 201)
    let set = try schedule(origin, "rollout/set", ["share": 2500])
    let pause = try schedule(origin, "rollout/pause", [:], in: 2)
    let resume = try schedule(origin, "rollout/resume", [:], in: 3)
    let complete = try schedule(origin, "rollout/complete", [:], in: 4)
    func open() throws -> JSONValue? { try origin.api("GET", "\(Self.online)/rollout").json["open"] }
    pass(origin)
    #expect(try open()?["share"]?.integer == 2500)
    pass(origin)
    #expect(try open()?["paused"]?.bool == true)
    // Remade on top of another bundle's release, it is the same candidate.
    #expect(try origin.publish(["b.js": "b"], bundle: "other").status == 201)
    pass(origin)
    #expect(try open()?["paused"]?.bool == false, "\(logged.withLock { $0 })")
    pass(origin)
    #expect(try open()?.isNull == true)
    for id in [set, pause, resume, complete] {
      #expect(try state(origin, id)["state"]?.string == "done", "\(description(origin, id))")
    }
    #expect(try version(origin) == "4" && bytes(origin) == 6)
  }

  /// Before it is due: nobody waits for it any more.
  @Test func stepOfAnEndedRolloutFailsAtOnce() throws {
    let origin = try opened()
    #expect(try origin.candidate(["a.js": "second"]).status == 201)
    let set = try schedule(origin, "rollout/set", ["share": 2500], in: 5)
    try ScheduleService(api: origin.origin.api) { _ in }.endLostSteps()
    #expect(try state(origin, set)["state"]?.string == "waiting")
    #expect(try origin.candidate(["a.js": "another"]).status == 201)
    let complete = try schedule(origin, "rollout/complete", [:], in: 6)
    try ScheduleService(api: origin.origin.api) { _ in }.endLostSteps()
    #expect(try state(origin, set)["code"]?.string == "other-rollout")
    #expect(try state(origin, complete)["state"]?.string == "waiting")
    #expect(try origin.api("POST", "\(Self.online)/rollout/halt", ["message": "broken"]).status == 201)
    try ScheduleService(api: origin.origin.api) { _ in }.endLostSteps()
    #expect(try state(origin, set)["state"]?.string == "failed")
    #expect(try state(origin, complete)["code"]?.string == "no-rollout")
  }

  @Test func stepFailsIfAnotherCandidateIsOpen() throws {
    let origin = try opened()
    #expect(try origin.candidate(["a.js": "second"]).status == 201)
    let complete = try schedule(origin, "rollout/complete", [:])
    let halt = try schedule(origin, "rollout/halt", ["message": "no"])
    #expect(try origin.candidate(["a.js": "another"]).status == 201)
    pass(origin)
    for id in [complete, halt] {
      let end = try state(origin, id)
      #expect(end["state"]?.string == "failed" && end["code"]?.string == "other-rollout", "\(end)")
    }
    #expect(try origin.api("GET", "\(Self.online)/rollout").json["open"]?["version"]?.string == "3")
    let again = try schedule(origin, "rollout/halt", ["message": "broken"])
    // A freeze never prevents a halt.
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": "sale"]).status == 200)
    pass(origin)
    #expect(try state(origin, again)["version"]?.string == "4")
    #expect(try bytes(origin) == 3)
  }

  @Test func rollbacksAndPromotionsUseTheVersionsAtScheduling() throws {
    let origin = try opened()
    #expect(try origin.publish(["a.js": "second"]).status == 201)
    #expect(try origin.publish(["a.js": "tested"], channel: "test").status == 201)
    let promote = try schedule(origin, "promote", ["from": "test"])
    let back = try schedule(origin, "rollback", ["allBundles": true, "steps": 1], in: 2)
    #expect(try origin.publish(["a.js": "untested yet"], channel: "test").status == 201)
    #expect(try origin.publish(["a.js": "a hotfix"]).status == 201)
    pass(origin)
    #expect(try state(origin, promote)["version"]?.string == "4", "\(description(origin, promote))")
    #expect(try bytes(origin) == "tested".utf8.count)
    pass(origin)
    #expect(try state(origin, back)["version"]?.string == "5", "\(description(origin, back))")
    #expect(try bytes(origin) == "one".utf8.count)
  }

  @Test func tooLateActsAreMissed() throws {
    let origin = try opened()
    let missed = try schedule(origin, "releases", origin.release(["a.js": "missed"]))
    let late = try schedule(origin, "releases", origin.release(["a.js": "late"]), in: 2)
    now.withLock { $0 += 26 * Self.hour }
    run(try origin.restarted())
    #expect(try state(origin, missed)["state"]?.string == "missed", "\(description(origin, missed))")
    #expect(try state(origin, late)["state"]?.string == "done", "\(description(origin, late))")
    #expect(try bytes(try origin.restarted()) == "late".utf8.count)
    #expect(try acts(origin).contains("schedule.fail"))
  }

  @Test func publishOfLiveFilesIsDone() throws {
    let origin = try opened()
    let id = try schedule(origin, "releases", origin.release(["a.js": "one"]))
    pass(origin)
    let end = try state(origin, id)
    #expect(end["state"]?.string == "done" && end["version"]?.isNull == true, "\(end)")
    #expect(try acts(origin).last == "schedule.run")
  }

  @Test func tokenForABundleCancelsOnlyItsOwn() throws {
    let origin = try opened()
    let body: JSONValue = ["app": "shop", "bundles": "main", "name": "team", "scope": "publish"]
    let token = try #require(try origin.api("POST", "tokens", body).json["token"]?.string)
    let own = try schedule(origin, "releases", origin.release(["a.js": "second"]), token: token)
    let other = try schedule(origin, "releases", origin.release(["a.js": "third"]))
    #expect(try origin.api("DELETE", "\(Self.online)/schedules/\(other)", token: token).status == 403)
    #expect(try origin.api("DELETE", "\(Self.online)/schedules/\(own)", token: token).status == 200)
  }

  @Test func removedChannelCancelsPendingActs() throws {
    let origin = try opened()
    #expect(try origin.publish(["a.js": "tested"], channel: "test").status == 201)
    let body = try origin.release(["a.js": "later"], channel: "test")
    try schedule(origin, "releases", body, channel: "test")
    #expect(
      try origin.api(
        "POST", "apps/shop/channels/test/releases", ["bundles": [["bundle": "main", "unpublish": true]]]
      ).status == 201)
    #expect(try origin.api("POST", "apps/shop/channels/test/remove", [:]).status == 200)
    #expect(try acts(origin).contains("schedule.cancel"))
    pass(origin)
    #expect(try origin.store.dueAct() == nil)
  }
}
