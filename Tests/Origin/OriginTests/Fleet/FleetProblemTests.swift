import Manifests
import OriginAPI
import Store
import System
import Testing
import Values

@testable import Origin

/// Since when problems are there, who knows of them, and what devices did in the last hours.
@Suite struct FleetProblemTests {
  private let now = Locked<Int64>(1_796_000_000_000)
  private let origin: TestOrigin
  private static let online = "apps/shop/channels/online"
  private static let path = "problems/acknowledge"
  private static let hour: Int64 = 3_600_000

  init() throws {
    let now = now
    origin = try TestOrigin(clock: { now.withLock { $0 } })
    try origin.publish(["a.js": "one"])
  }

  private func pass(_ time: Int64) { now.withLock { $0 += time } }

  private func time(_ ahead: Int64) -> JSONValue { .string(Timestamp.text(now.withLock { $0 } + ahead)) }

  /// As after a restart, so that no answer is kept.
  private func overview(_ token: String? = nil) throws -> FleetOverview {
    try origin.restarted().api("GET", "overview", token: token).json.decode(FleetOverview.self)
  }

  private func problem(_ code: String) throws -> FleetOverview.Problem? {
    try overview().problems.first { $0.code == code }
  }

  private func freeze(_ reason: String = "an incident") throws {
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": .string(reason)]).status == 200)
  }

  private func acknowledge(
    _ code: String = "frozen", until ahead: Int64 = hour, _ origin: TestOrigin? = nil, token: String? = nil
  ) throws -> TestOrigin.Reply {
    try (origin ?? self.origin).api(
      "POST", Self.path,
      ["app": "shop", "channel": "online", "code": .string(code), "reason": "we know", "until": time(ahead)],
      token: token)
  }

  private func makeToken(_ body: JSONValue) throws -> String {
    try #require(try origin.api("POST", "tokens", body).json["token"]?.string)
  }

  // MARK: - Since when

  @Test func timesOutliveARestart() throws {
    let begun = now.withLock { $0 }
    try freeze()
    pass(60_000)
    // A device's failures have no time of their own: they are a problem since they were seen.
    for _ in 0..<20 {
      let body: JSONValue = ["reason": "integrity", "url": "", "version": "1"]
      _ = try origin.ask("POST", "/report?app=shop", body: body.canonical)
    }
    origin.origin.adoption.flush()
    #expect(try problem("failing")?.since == Moment(milliseconds: begun + 60_000))
    pass(60_000)
    #expect(try problem("frozen")?.since == Moment(milliseconds: begun))
    #expect(try problem("failing")?.since == Moment(milliseconds: begun + 60_000))
  }

  @Test func problemsAreNotedThoughNobodyAsks() throws {
    try origin.origin.api.fleet.watch()
    #expect(try origin.store.problems().contains { $0.name.code == "frozen" } == false)
    try freeze()
    try origin.origin.api.fleet.watch()
    let kept = try origin.store.problems().first { $0.name.code == "frozen" }
    #expect(kept?.severity == .warning && kept?.since == now.withLock { $0 })
    #expect(try origin.api("POST", "\(Self.online)/thaw", [:]).status == 200)
    try origin.origin.api.fleet.watch()
    pass(ProblemRegister.grace)
    try origin.origin.api.fleet.watch()
    #expect(try !origin.store.problems().contains { $0.name.code == "frozen" })
  }

  /// A console polls every few seconds: nothing in the answer may tick.
  @Test func nothingInAnOverviewTicks() throws {
    try freeze()
    #expect(try acknowledge().status == 200)
    func lines() throws -> [JSONValue] {
      let answer = try origin.restarted().api("GET", "overview").json
      let problems = (answer["problems"]?.array ?? []).filter { $0["code"] != "disk" }
      return problems + (answer["channels"]?.array ?? [])
    }
    let first = try lines()
    #expect(first.count >= 2)
    pass(30_000)
    #expect(try lines() == first)
  }

  // MARK: - Acknowledged

  @Test func whoKnowsAndWhy() throws {
    try freeze()
    let reply = try acknowledge()
    #expect(reply.status == 200, "\(reply.text)")
    let known = try #require(try problem("frozen")?.acknowledged)
    #expect(
      known.by == "admin" && known.reason == "we know"
        && known.at == Moment(milliseconds: now.withLock { $0 }))
    #expect(known.until == Moment(milliseconds: now.withLock { $0 } + Self.hour))
    #expect(reply.json["acknowledged"]?["by"] == "admin" && reply.json["code"] == "frozen")
    // Also in the origin that answered it, at once.
    let same = try origin.api("GET", "overview").json.decode(FleetOverview.self)
    #expect(same.problems.first { $0.code == "frozen" }?.acknowledged == known)
    let rows = try origin.api("GET", "audit?act=problem.acknowledge").json["rows"]?.array
    #expect(rows?.count == 1 && rows?.first?["app"] == "shop" && rows?.first?["author"] == "admin")
    let back = "\(Self.path)?code=frozen&app=shop&channel=online"
    for _ in 0..<2 {
      let off = try origin.api("DELETE", back)
      #expect(off.status == 200 && off.json["acknowledged"] == .null, "\(off.text)")
    }
    #expect(try problem("frozen")?.acknowledged == nil)
    #expect(try origin.api("GET", "audit?act=problem.unacknowledge").json["rows"]?.array?.count == 1)
    let told = try origin.api("GET", "apps/shop/channels/online/timeline").json["items"]?.array
    #expect(told?.contains { $0["detail"] == "The problem frozen needs attention again." } == true)
  }

  @Test func isRepeatedOnce() throws {
    try freeze()
    let body: JSONValue = [
      "app": "shop", "channel": "online", "code": "frozen", "reason": "we know", "until": time(Self.hour),
    ]
    let lines = ["Authorization: Bearer \(origin.token)", "Idempotency-Key: 0123456789abcdef"]
    let first = try origin.ask("POST", "/api/v1/\(Self.path)", lines, body: body.canonical)
    pass(1000)
    let again = try origin.ask("POST", "/api/v1/\(Self.path)", lines, body: body.canonical)
    #expect(first.status == 200 && again.body == first.body)
    // Also when its time is over, which a new request is refused for.
    pass(2 * Self.hour)
    let late = try origin.ask("POST", "/api/v1/\(Self.path)", lines, body: body.canonical)
    #expect(late.status == 200 && late.body == first.body)
    #expect(try origin.api("GET", "audit?act=problem.acknowledge").json["rows"]?.array?.count == 1)
  }

  @Test func endsByItself() throws {
    try freeze()
    #expect(try acknowledge(until: Self.hour).status == 200)
    pass(Self.hour - 1)
    #expect(try problem("frozen")?.acknowledged != nil)
    pass(1)
    #expect(try problem("frozen")?.acknowledged == nil)
  }

  /// Another freeze is another problem.
  @Test func endsWithTheProblem() throws {
    try freeze()
    #expect(try acknowledge(until: 24 * Self.hour).status == 200)
    #expect(try origin.api("POST", "\(Self.online)/thaw", [:]).status == 200)
    pass(1000)
    try freeze("another incident")
    let other = try #require(try problem("frozen"))
    #expect(other.acknowledged == nil && other.since == Moment(milliseconds: now.withLock { $0 }))
  }

  @Test func whatIsNotThereIsRefused() throws {
    let reply = try acknowledge("killed")
    #expect(reply.status == 404 && reply.json["code"] == "unknown-problem", "\(reply.text)")
    try freeze()
    for ahead in [-1, 0, 30 * 24 * Self.hour + 1] { #expect(try acknowledge(until: ahead).status == 400) }
    func status(_ change: (inout JSONObject) -> Void) throws -> Int {
      let whole: JSONValue = [
        "app": "shop", "channel": "online", "code": "frozen", "reason": "we know", "until": time(Self.hour),
      ]
      var body = whole.object ?? JSONObject()
      change(&body)
      return try origin.api("POST", Self.path, .object(body)).status
    }
    #expect(try status { $0["reason"] = "" } == 400)
    #expect(try status { $0["reason"] = .string(String(repeating: "x", count: 501)) } >= 400)
    #expect(try status { $0["reason"] = "two\nlines" } >= 400)
    #expect(try status { $0["code"] = "FROZEN" } == 400)
    #expect(try status { $0["channel"] = nil } == 400)
    #expect(try status { $0["channel"] = "none" } == 404)
    #expect(try status { $0["until"] = nil } == 400)
    #expect(try status { _ in } == 200)
  }

  @Test func takesReleaseInTheChannelAndEverythingForTheOrigin() throws {
    try freeze()
    let read = try makeToken(["name": "r", "scope": "read"])
    let bank = try makeToken(["app": "bank", "name": "b", "scope": "release"])
    let shop = try makeToken(["app": "shop", "name": "s", "scope": "release"])
    #expect(try acknowledge(token: read).status == 403)
    #expect(try acknowledge(token: bank).status == 403)
    #expect(try acknowledge(token: shop).status == 200)
    #expect(
      try origin.api("DELETE", "\(Self.path)?code=frozen&app=shop&channel=online", token: bank).status == 403)
    let own: JSONValue = ["code": "disk", "reason": "we know", "until": time(Self.hour)]
    #expect(try origin.api("POST", Self.path, own, token: shop).status == 403)
    #expect([200, 404].contains(try origin.api("POST", Self.path, own).status))
  }

  // MARK: - What becomes of problems

  private static func found(
    _ code: String, _ severity: ProblemSeverity = .warning, since: Int64? = nil, subject: String = ""
  ) -> FoundProblem {
    FoundProblem(
      name: ProblemName(channel: nil, code: code, subject: subject), severity: severity, app: nil,
      channel: nil, detail: "", began: since)
  }

  @Test func aWorseProblemIsNotAcknowledgedAnyMore() {
    var register = ProblemRegister()
    register.update([Self.found("disk")], now: 1000)
    let known = ProblemAcknowledgement(author: "ana", at: 1000, reason: "known", until: 900_000)
    register.acknowledge([
      ProblemRecord(
        name: Self.found("disk").name, severity: .warning, since: 1000, acknowledgement: known)
    ])
    register.update([Self.found("disk")], now: 2000)
    #expect(register.records[Self.found("disk").name]?.acknowledgement == known)
    register.update([Self.found("disk", .error)], now: 3000)
    let worse = register.records[Self.found("disk").name]
    #expect(worse?.acknowledgement == nil && worse?.since == 1000 && worse?.severity == .error)
    register.update([Self.found("disk")], now: 4000)
    #expect(register.records[Self.found("disk").name]?.acknowledgement == nil, "it isn't known again by that")
  }

  @Test func aProblemAroundItsThresholdIsOne() {
    var register = ProblemRegister()
    register.update([Self.found("lagging")], now: 0)
    #expect(register.changes.problems.count == 1)
    register.noteKept()
    register.update([], now: 1000)
    register.update([Self.found("lagging")], now: ProblemRegister.grace)
    #expect(register.records.values.first?.since == 0 && register.changes.isEmpty)
    register.update([], now: 2 * ProblemRegister.grace)
    register.update([], now: 3 * ProblemRegister.grace)
    #expect(register.records.isEmpty && register.changes.over == [Self.found("lagging").name])
  }

  @Test func timesAreNeverInTheFuture() {
    var register = ProblemRegister()
    register.update([Self.found("edge", since: 5000), Self.found("scrub", since: 200)], now: 1000)
    #expect(register.records[Self.found("edge").name]?.since == 1000)
    #expect(register.records[Self.found("scrub").name]?.since == 200)
  }

  /// A clock that was years ahead, and is set back, leaves nothing behind.
  @Test func aClockThatWasAheadIsForgotten() throws {
    var register = ProblemRegister()
    register.update([Self.found("lagging")], now: 9_000_000)
    register.noteKept()
    register.update([Self.found("lagging")], now: 1000)
    #expect(register.records.values.first?.since == 1000 && register.changes.problems.first?.since == 1000)
    register.update([], now: 9_000_000)
    register.update([], now: 2000)
    register.update([], now: 2000 + ProblemRegister.grace)
    #expect(register.records.isEmpty, "it is over ten minutes later, not once the clock is there again")
    try freeze()
    pass(400 * 24 * Self.hour)
    #expect(try acknowledge(until: 20 * 24 * Self.hour).status == 200)
    #expect(try problem("frozen")?.acknowledged != nil)
    // Clocks are set by seconds all the time.
    pass(-60_000)
    #expect(try problem("frozen")?.acknowledged != nil)
    pass(-400 * 24 * Self.hour + 120_000)
    #expect(try problem("frozen")?.acknowledged == nil)
  }

  /// That a problem was over, and came again, may not have been kept, on a full disk: what was said of the one before isn't said of it.
  @Test func whatCameAgainIsNotKnownByThat() throws {
    let found = Self.found("webhook", subject: "one")
    let old = ProblemRecord(name: found.name, severity: .warning, since: 1)
    #expect(try origin.store.keep(problems: [old], over: [], waits: true))
    _ = try origin.store.acknowledgeProblems(
      "webhook", in: nil, reason: "known", until: now.withLock { $0 } + 1000,
      by: Actor(name: "ana", address: ""))
    let kept = try origin.store.problems()
    var register = ProblemRegister()
    register.update([found], now: 5000)
    register.acknowledge(kept)
    #expect(register.records[found.name]?.since == 5000)
    #expect(register.records[found.name]?.acknowledgement == nil)
    #expect(try origin.store.keep(problems: register.changes.problems, over: [], waits: true))
    let again = try origin.store.problems().first { $0.name == found.name }
    #expect(again?.since == 5000 && again?.acknowledgement == nil)
  }

  /// A moment may be over until its transaction begins.
  @Test func acknowledgementsMayBeOverAtOnce() throws {
    let problem = ProblemRecord(
      name: Self.found("webhook", subject: "one").name, severity: .warning, since: 1)
    #expect(try origin.store.keep(problems: [problem], over: [], waits: true))
    let until = now.withLock { $0 }
    let known = try origin.store.acknowledgeProblems(
      "webhook", in: nil, reason: "known", until: until, by: Actor(name: "ana", address: ""))
    #expect(known.at == until - 1 && known.until == until)
    #expect(try origin.store.problems().first { $0.name.subject == "one" }?.acknowledgement == known)
  }

  @Test func severalOfOneCodeAreAcknowledgedEach() throws {
    let problems = ["one", "two"].map { Self.found("webhook", subject: $0) }
    let records = problems.map { ProblemRecord(name: $0.name, severity: .warning, since: 1) }
    #expect(try origin.store.keep(problems: records, over: [], waits: true))
    _ = try origin.store.acknowledgeProblems(
      "webhook", in: nil, reason: "known", until: now.withLock { $0 } + 1000,
      by: Actor(name: "ana", address: ""))
    #expect(try origin.store.problems().filter { $0.acknowledgement?.author == "ana" }.count == 2)
    // One that begins later is nobody's.
    let third = ProblemRecord(
      name: Self.found("webhook", subject: "three").name, severity: .warning, since: 2)
    #expect(try origin.store.keep(problems: [third], over: [], waits: true))
    #expect(try origin.store.problems().first { $0.name.subject == "three" }?.acknowledgement == nil)
    // And one that gets worse isn't known any more, whatever this process knew.
    let worse = ProblemRecord(name: problems[0].name, severity: .error, since: 1)
    #expect(try origin.store.keep(problems: [worse], over: [], waits: true))
    let kept = try origin.store.problems().first { $0.name.subject == "one" }
    #expect(kept?.acknowledgement == nil && kept?.severity == .error)
  }

  // MARK: - Trends

  @Test func trendsAreOfTheHoursThatAreOver() throws {
    #expect(try overview().channels.first?.trend == nil)
    for version in [1, 1, 0] { _ = try origin.ask("GET", "/configure.json?app=shop&version=\(version)") }
    let body: JSONValue = ["reason": "integrity", "url": "", "version": "1"]
    _ = try origin.ask("POST", "/report?app=shop", body: body.canonical)
    origin.origin.adoption.flush()
    #expect(try overview().channels.first?.trend == nil, "the hour isn't over")
    pass(2 * Self.hour)
    let trend = try #require(try overview().channels.first?.trend)
    #expect([trend.polls, trend.newest, trend.failures].allSatisfy { $0.count == 24 })
    #expect(trend.polls.reduce(0, +) == 3 && trend.newest.reduce(0, +) == 2)
    #expect(trend.polls.firstIndex { $0 > 0 } ?? 0 >= 21 && trend.failures.reduce(0, +) == 1)
    // What is the newest decides, not what was then.
    try origin.publish(["a.js": "two"])
    #expect(try overview().channels.first?.trend?.newest.reduce(0, +) == 0)
    pass(24 * Self.hour)
    #expect(try overview().channels.first?.trend == nil)
  }
}
