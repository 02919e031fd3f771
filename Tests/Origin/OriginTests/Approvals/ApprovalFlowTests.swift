import Manifests
import OriginAPI
import Store
import System
import Testing
import Values

@testable import Origin

/// What waits for approvals, what doesn't, and what becomes of it, through the API.
@Suite struct ApprovalFlowTests {
  private static let online = ProtectedOrigin.online

  @Test func publishWaitsAndIsMadeOnce() throws {
    let site = try ProtectedOrigin()
    let id = try site.publish("two")
    site.run()
    #expect(try site.version == "1")
    // Whoever asked sees why they may not, and others that they may.
    let own = try site.show(id, token: site.author)["approvals"]
    #expect(own?["required"]?.integer == 1 && own?["mayApprove"]?.bool == false, "\(own ?? .null)")
    #expect(own?["why"]?.string?.contains("somebody else") == true)
    let ana = try site.signIn("ana")
    #expect(try site.show(id, token: ana)["approvals"]?["mayApprove"]?.bool == true)
    let refused = try site.approve(id, site.author)
    #expect(refused.status == 403 && refused.json["code"]?.string == "own-act", "\(refused.text)")
    let approved = try site.approve(id, ana)
    #expect(
      approved.status == 200 && approved.json["approvals"]?["missing"]?.integer == 0, "\(approved.text)")
    #expect(try site.approve(id, ana).status == 200, "again")
    site.run()
    site.run()
    #expect(try site.version == "2")
    let done = try site.show(id)
    #expect(done["state"]?.string == "done" && done["version"]?.string == "2", "\(done)")
    #expect(done["approvals"]?["given"]?.array?.first?["name"]?.string == "ana@acme.com")
    #expect(try site.acts("publish") == 2 && site.acts("approval.give") == 1)
    // Her lost answer's retry says what became of it; others are told that it is over.
    #expect(try site.approve(id, ana).json["state"]?.string == "done")
    #expect(try site.approve(id, site.signIn("bob")).json["code"]?.string == "schedule-over")
  }

  @Test func askedForTwiceWaitsOnce() throws {
    let site = try ProtectedOrigin()
    let id = try site.publish("two")
    #expect(try site.publish("two") == id, "without a key, it is the same act")
    #expect(try site.acts("schedule.add") == 1)
    #expect(try site.publish("three") != id)
    let other = try site.ask(
      "releases", site.origin.release(["a.js": "two"]), token: site.signIn("bob", .publish))
    #expect(other != id, "another author's is another act")
    try site.approve(id, site.signIn("ana"))
    site.run()
    #expect(try site.version == "2")
  }

  @Test func ownActIsTakenBackInAnotherSession() throws {
    let site = try ProtectedOrigin()
    let main = try #require(BundleGlob("main"))
    let body = try site.origin.release(["a.js": "two"])
    func cancel(_ id: Int64, _ token: String) throws -> Int {
      try site.origin.api("DELETE", "\(Self.online)/schedules/\(id)", token: token).status
    }
    let id = try site.ask("releases", body, token: site.signIn("bob", .publish, bundles: main))
    #expect(try cancel(id, site.signIn("ana", .publish, bundles: main)) == 403)
    #expect(try cancel(id, site.signIn("bob", .publish, bundles: main)) == 200)
  }

  @Test func whatChangesNothingWaitsForNobody() throws {
    let site = try ProtectedOrigin()
    let same = try site.origin.api(
      "POST", "\(Self.online)/releases", site.origin.release(["a.js": "one"]), token: site.author)
    #expect(same.status == 200 && same.json["changed"]?.bool == false, "\(same.text)")
    var trial = try site.origin.release(["a.js": "two"]).object ?? JSONObject()
    trial["dryRun"] = true
    let reply = try site.origin.api("POST", "\(Self.online)/releases", .object(trial), token: site.author)
    #expect(reply.status == 200 && reply.json["scheduled"] == nil, "\(reply.text)")
    #expect(try site.origin.api("GET", "waiting").json["acts"]?.array?.isEmpty == true)
  }

  @Test func rollbackNeverWaits() throws {
    let site = try ProtectedOrigin()
    let id = try site.publish("two")
    try site.approve(id, site.signIn("ana"))
    site.run()
    let back = try site.origin.api(
      "POST", "\(Self.online)/rollback", ["allBundles": true, "message": "broken", "to": "1"],
      token: site.author)
    #expect(back.status == 201, "\(back.text)")
    #expect(try site.version == "3")
  }

  @Test func killNeverWaitsAndResumeDoes() throws {
    let site = try ProtectedOrigin()
    let ana = try site.signIn("ana")
    func post(_ body: JSONValue) throws -> TestOrigin.Reply {
      try site.origin.api("POST", "\(Self.online)/policy", body, token: site.author)
    }
    #expect(try post(["act": "kill"]).status == 201)
    #expect(try site.policy["policy"]?["intercept"]?.bool == false)
    // A kill switch with an end would be a resume.
    let end = Timestamp.text(Clock.unixMilliseconds() + 60_000)
    #expect(try post(["act": "kill", "until": .string(end)]).status == 202)
    #expect(try post(["act": "bypass-add", "pattern": "https://m.example.com/a/*"]).status == 201)
    let id = try site.ask("policy", ["act": "resume"])
    site.run()
    #expect(try site.policy["policy"]?["intercept"]?.bool == false)
    #expect(try site.approve(id, ana).status == 200)
    site.run()
    let show = try site.show(id)
    #expect(show["state"]?.string == "done" && show["version"]?.isNull == true, "\(show)")
    #expect(try site.policy["policy"]?["intercept"]?.bool == true)
    #expect(try site.policy["author"]?.string == "ci")
  }

  @Test func changeInBetweenIsNotUndone() throws {
    let site = try ProtectedOrigin()
    func post(_ body: JSONValue) throws -> TestOrigin.Reply {
      try site.origin.api("POST", "\(Self.online)/policy", body, token: site.author)
    }
    #expect(try post(["act": "kill", "message": "first"]).status == 201)
    let id = try site.ask("policy", ["act": "resume"])
    #expect(try post(["act": "bypass-add", "pattern": "https://m.example.com/*"]).status == 201)
    try site.approve(id, site.signIn("ana"))
    site.run()
    let show = try site.show(id)
    #expect(show["state"]?.string == "failed" && show["code"]?.string == "if-version", "\(show)")
    #expect(try site.policy["policy"]?["intercept"]?.bool == false)
  }

  @Test func prefetchWaitsAndItsRollbackDoesNot() throws {
    let site = try ProtectedOrigin()
    let config: JSONValue = [
      [
        "interfaces": [["api": "https://m.example.com/a", "method": "get"]], "url": "https://m.example.com/p",
      ]
    ]
    let id = try site.ask("prefetch", ["document": config, "message": "pages"])
    let ana = try site.signIn("ana")
    let preview = try site.origin.api("GET", "\(Self.online)/schedules/\(id)/preview", token: ana)
    #expect(preview.status == 200 && preview.json["answer"]?["changed"]?.bool == true, "\(preview.text)")
    #expect(preview.json["document"]?.array?.count == 1 && preview.json["current"]?.isNull == true)
    #expect(try site.origin.api("GET", "\(Self.online)/prefetch").json["version"]?.string == "0")
    try site.approve(id, ana)
    site.run()
    #expect(try site.origin.api("GET", "\(Self.online)/prefetch").json["version"]?.string == "1")
    let back = try site.origin.api(
      "POST", "\(Self.online)/prefetch/rollback", ["to": "0"], token: site.author)
    #expect(back.status == 201, "\(back.text)")
  }

  @Test func stepsOfARollout() throws {
    let site = try ProtectedOrigin(share: 500)
    let ana = try site.signIn("ana")
    var release = try site.origin.release(["a.js": "two"]).object ?? JSONObject()
    release["rollout"] = ["share": 100]
    let published = try site.ask("releases", .object(release))
    try site.approve(published, ana)
    site.run()
    func post(_ act: String, _ body: JSONValue = [:]) throws -> TestOrigin.Reply {
      try site.origin.api("POST", "\(Self.online)/rollout/\(act)", body, token: site.author)
    }
    #expect(try post("set", ["share": 500]).status == 200)
    #expect(try post("set", ["share": 50]).status == 200)
    #expect(try post("set", ["groups": ["staff"]]).status == 202)
    #expect(try post("pause").status == 200)
    let resume = try post("resume")
    #expect(resume.status == 200, "up to the share: \(resume.text)")
    let complete = try site.ask("rollout/complete", [:])
    #expect(try post("set", ["share": 501]).status == 202)
    #expect(try post("halt", ["message": "broken"]).status == 201)
    // Whoever approves is told that there is nothing left to complete.
    ScheduleService(api: site.origin.origin.api) { _ in }.runIfDue()
    let end = try site.show(complete)
    #expect(end["state"]?.string == "failed" && end["code"]?.string == "no-rollout", "\(end)")
  }

  @Test func previewIsTheDryRunOfItsAuthor() throws {
    let site = try ProtectedOrigin()
    let id = try site.publish("two")
    let ana = try site.signIn("ana")
    func preview() throws -> TestOrigin.Reply {
      try site.origin.api("GET", "\(Self.online)/schedules/\(id)/preview", token: ana)
    }
    let reply = try preview()
    #expect(reply.json["answer"]?["version"]?.string == "2", "\(reply.text)")
    #expect(reply.json["answer"]?["changed"]?.bool == true, "\(reply.text)")
    #expect(try site.version == "1" && site.state(id) == "waiting")
    let steps = try site.ask("policy", ["act": "set", "document": ["httpdns": false, "intercept": true]])
    let policy = try site.origin.api("GET", "\(Self.online)/schedules/\(steps)/preview", token: ana)
    #expect(policy.json["document"]?["httpdns"]?.bool == false, "\(policy.text)")
    #expect(try site.policy["version"]?.string == "0")
    // It isn't the caller's token that has ended.
    _ = try site.store.revokeToken("ci")
    let ended = try preview()
    #expect(ended.status == 409 && ended.json["code"]?.string == "author-ended", "\(ended.text)")
  }

  @Test func rejectionReachesItsAuthor() throws {
    let site = try ProtectedOrigin()
    let id = try site.publish("two")
    let ana = try site.signIn("ana")
    #expect(try site.reject(id, ana, "").status == 400)
    #expect(try site.reject(id, ana, " \n ").status == 400)
    #expect(try site.reject(id, site.author, "no").status == 403)
    let reply = try site.reject(id, ana, "not on Fridays")
    #expect(reply.status == 200 && reply.json["state"]?.string == "cancelled", "\(reply.text)")
    #expect(reply.json["code"]?.string == "rejected" && reply.json["reason"]?.string == "not on Fridays")
    #expect(reply.json["endedBy"]?.string == "ana@acme.com")
    site.run()
    #expect(try site.version == "1")
    #expect(try site.approve(id, site.signIn("bob")).json["code"]?.string == "schedule-over")
  }

  @Test func scopesAndNames() throws {
    let site = try ProtectedOrigin(by: "lead*")
    let id = try site.publish("two")
    let reader = try site.signIn("lead-reader", .read)
    #expect(try site.approve(id, reader).status == 403)
    let other = try site.approve(id, site.signIn("ana"))
    #expect(other.status == 403 && other.json["code"]?.string == "not-approver", "\(other.text)")
    #expect(try site.approve(id, site.signIn("lead-bob")).status == 200)
    // Nobody but an admin protects, within bounds.
    let bad: [JSONValue] = [
      [:], ["approvals": 10], ["approvals": -1], ["approvals": 1, "share": 10_001],
      ["approvals": 0, "by": "*"], ["approvals": 1, "by": ""],
    ]
    for body in bad {
      #expect(try site.origin.api("POST", "\(Self.online)/protect", body).status == 400, "\(body)")
    }
    #expect(
      try site.origin.api("POST", "\(Self.online)/protect", ["approvals": 0], token: site.author).status
        == 403)
    let overview = try site.origin.api("GET", Self.online).json["protection"]
    #expect(overview?["approvals"]?.integer == 1 && overview?["by"]?.string == "lead*")
  }

  @Test func waitingListIsOfReadableChannels() throws {
    let site = try ProtectedOrigin()
    let first = try site.publish("two")
    site.pass(1000)
    let second = try site.ask("policy", ["act": "set", "document": ["httpdns": false, "intercept": true]])
    func ids(_ token: String) throws -> [Int64] {
      (try site.origin.api("GET", "waiting", token: token).json["acts"]?.array ?? []).compactMap {
        $0["id"]?.integer
      }
    }
    let ana = try site.signIn("ana")
    #expect(try ids(ana) == [first, second])
    let acts = try site.origin.api("GET", "waiting", token: ana).json["acts"]?.array
    #expect(acts?.first?["app"]?.string == "shop" && acts?.first?["channel"]?.string == "online")
    #expect(acts?.first?["approvals"]?["mayApprove"]?.bool == true)
    let elsewhere = try site.store.createToken(name: "other", scope: .admin, app: AppName("news")).text
    #expect(try ids(elsewhere) == [])
    try site.approve(first, ana)
    #expect(try ids(ana) == [second])
  }

  @Test func scheduledActsWaitForBoth() throws {
    let site = try ProtectedOrigin()
    let ana = try site.signIn("ana")
    func schedule(_ text: String) throws -> Int64 {
      var body = try site.origin.release([text + ".js": text]).object ?? JSONObject()
      body["schedule"] = .string(Timestamp.text(site.now.withLock { $0 } + ProtectedOrigin.hour))
      return try site.ask("releases", .object(body))
    }
    let (early, late) = (try schedule("early"), try schedule("late"))
    try site.approve(early, ana)
    site.run()
    #expect(try site.version == "1", "its time isn't over")
    site.pass(ProtectedOrigin.hour)
    site.run()
    #expect(try site.version == "2" && site.state(early) == "done" && site.state(late) == "waiting")
    // Days after its time.
    site.pass(5 * 24 * ProtectedOrigin.hour)
    site.run()
    #expect(try site.state(late) == "waiting")
    try site.approve(late, site.signIn("ana"))
    site.run()
    #expect(try site.version == "3" && site.state(late) == "done")
  }

  @Test func actsOfBeforeTheProtectionWaitToo() throws {
    let site = try ProtectedOrigin(approvals: 0)
    var body = try site.origin.release(["a.js": "two"]).object ?? JSONObject()
    body["schedule"] = .string(Timestamp.text(site.now.withLock { $0 } + ProtectedOrigin.hour))
    let reply = try site.origin.api("POST", "\(Self.online)/releases", .object(body), token: site.author)
    let id = try #require(reply.json["scheduled"]?["id"]?.integer)
    try site.protect(1)
    site.pass(ProtectedOrigin.hour)
    site.run()
    #expect(try site.version == "1" && site.state(id) == "waiting")
    try site.protect(0)
    site.run()
    #expect(try site.version == "2")
  }

  @Test func unapprovedActIsMissed() throws {
    let site = try ProtectedOrigin()
    let id = try site.publish("two")
    site.pass(30 * 24 * ProtectedOrigin.hour)
    site.run()
    let show = try site.show(id)
    #expect(show["state"]?.string == "missed" && show["code"]?.string == "unapproved", "\(show)")
    #expect(show["reason"]?.string == "it waited 30 days for approvals")
    #expect(try site.version == "1")
  }

  /// The files of a release that waits are kept, and its conflict after days reaches people.
  @Test func filesAreKeptAndConflictsAreTold() throws {
    let site = try ProtectedOrigin()
    let (kept, other) = (try site.publish("two"), try site.publish("taken", path: "b.js", bundle: "help"))
    let rival = try site.publish("rival", path: "b.js", bundle: "rival")
    site.pass(20 * 24 * ProtectedOrigin.hour)
    #expect(try site.origin.api("POST", "gc", [:]).status == 200)
    let ana = try site.signIn("ana")
    for id in [kept, other, rival] { #expect(try site.approve(id, ana).status == 200) }
    site.run()
    #expect(try site.state(kept) == "done" && site.state(other) == "done")
    let show = try site.show(rival)
    #expect(show["state"]?.string == "failed" && show["code"]?.string == "url-conflict", "\(show)")
  }

  @Test func restartBetweenApprovalAndExecution() throws {
    let site = try ProtectedOrigin()
    let id = try site.publish("two")
    try site.approve(id, site.signIn("ana"))
    let next = try site.origin.restarted()
    for _ in 0..<2 { ScheduleService(api: next.origin.api) { _ in }.run() }
    site.run()
    #expect(try site.version == "2" && site.acts("publish") == 2)
  }

  @Test func authorThatWasRevoked() throws {
    let site = try ProtectedOrigin()
    let (early, late) = (try site.publish("two"), try site.publish("b", path: "b.js"))
    try site.approve(early, site.signIn("ana"))
    _ = try site.store.revokeToken("ci")
    let refused = try site.approve(late, site.signIn("ana"))
    #expect(refused.status == 409 && refused.json["code"]?.string == "author-ended", "\(refused.text)")
    site.run()
    #expect(try site.version == "1" && site.state(early) == "failed")
  }

  @Test func retriesGetTheSameAct() throws {
    let site = try ProtectedOrigin()
    let body = try site.origin.release(["a.js": "two"]).canonical
    func send(_ path: String, _ key: String, _ body: [UInt8], _ token: String) throws -> TestOrigin.Reply {
      try site.origin.ask(
        "POST", "/api/v1/\(Self.online)/\(path)",
        ["Authorization: Bearer \(token)", "Idempotency-Key: \(key)"], body: body)
    }
    let first = try send("releases", "0123456789abcdef", body, site.author)
    #expect(first.status == 202, "\(first.text)")
    #expect(try send("releases", "0123456789abcdef", body, site.author).body == first.body)
    #expect(try site.origin.api("GET", "waiting").json["acts"]?.array?.count == 1)
    let id = try #require(first.json["scheduled"]?["id"]?.integer)
    let ana = try site.signIn("ana")
    let approval = try send("schedules/\(id)/approve", "fedcba9876543210", Array("{}".utf8), ana)
    site.run()
    // After it was carried out, the retry of each gets its answer, and nothing more is done.
    #expect(
      try send("schedules/\(id)/approve", "fedcba9876543210", Array("{}".utf8), ana).body == approval.body)
    #expect(try send("releases", "0123456789abcdef", body, site.author).body == first.body)
    #expect(try site.version == "2")
  }

  @Test func removedChannelTakesItsActsAlong() throws {
    let site = try ProtectedOrigin()
    let ana = try site.signIn("ana")
    let removal = try site.ask("releases", ["bundles": [["bundle": "main", "unpublish": true]]])
    try site.approve(removal, ana)
    site.run()
    let id = try site.publish("back")
    #expect(try site.origin.api("POST", "\(Self.online)/remove", [:]).status == 200)
    #expect(try site.approve(id, ana).status == 404)
    #expect(try site.origin.api("GET", "waiting").json["acts"]?.array?.isEmpty == true)
    site.run()
    #expect(try site.acts("publish") == 1)
  }

  @Test func webhooksTellWhatWaits() throws {
    let site = try ProtectedOrigin()
    let hook = try site.store.addWebhook(WebhookDraft(url: ResourceURL("https://hooks.example.com/x")))
    func delivered() throws -> [JSONValue] {
      var bodies: [JSONValue] = []
      while let head = try site.store.webhookHeads().first(where: { $0.webhook == hook.id }) {
        let job = try #require(try site.store.webhookJob(head.row))
        bodies.append(try JSONValue.parse(job.body))
        _ = try site.store.record(.answered(status: 200), of: job)
      }
      return bodies
    }
    let id = try site.publish("two")
    let needed = try delivered()
    #expect(needed.map { $0["type"]?.string } == ["approval.needed"], "\(needed)")
    let data = needed.first?["data"]
    #expect(data?["schedule"]?.integer == id && data?["missing"]?.integer == 1, "\(needed)")
    #expect(data?["author"]?.string == "ci" && data?["channel"]?.string == "online", "\(needed)")
    _ = try site.reject(id, site.signIn("ana"), "not on Fridays")
    let rejected = try delivered()
    #expect(rejected.map { $0["type"]?.string } == ["schedule"], "\(rejected)")
    #expect(rejected.first?["data"]?["state"]?.string == "cancelled", "\(rejected)")
    #expect(rejected.first?["data"]?["reason"]?.string == "not on Fridays", "\(rejected)")
    #expect(rejected.first?["data"]?["author"]?.string == "ana@acme.com", "\(rejected)")
    // What no one has to approve is nobody's to be told of.
    try site.protect(0)
    var body = try site.origin.release(["a.js": "two"]).object ?? JSONObject()
    body["schedule"] = .string(Timestamp.text(site.now.withLock { $0 } + ProtectedOrigin.hour))
    let reply = try site.origin.api("POST", "\(Self.online)/releases", .object(body), token: site.author)
    #expect(reply.status == 202, "\(reply.text)")
    #expect(try delivered().isEmpty)
  }

  @Test func whatWaitsForADayIsAProblem() throws {
    let site = try ProtectedOrigin()
    try site.publish("two")
    func state() throws -> FleetState? {
      let health = try site.store.channelHealth()
      return FleetState(
        origin: "origin", health: health, recent: [:], damaged: [], mirrors: [], progress: [:], staged: [],
        disk: DiskUse(at: Moment(milliseconds: site.now.withLock { $0 }), size: 1, available: 1, stored: 0),
        scrubbed: nil, now: site.now.withLock { $0 })
    }
    func codes() throws -> [String] {
      try state()?.overview(disk: false, where: { _, _ in true }).problems.map(\.code) ?? []
    }
    site.pass(24 * ProtectedOrigin.hour)
    #expect(try codes().isEmpty)
    site.pass(1)
    #expect(try codes() == ["waiting"])
  }
}
