import HTTP
import Manifests
import OriginAPI
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// The console's overview: all channels, their problems, and what changed since the last request.
@Suite struct FleetTests {
  let now = Locked<Int64>(Clock.unixMilliseconds())
  let origin: TestOrigin
  private static let online = "apps/shop/channels/online"

  init() throws {
    let now = now
    origin = try TestOrigin(clock: { now.withLock { $0 } })
    for text in ["one", "two", "three"] { try origin.publish(["a.js": text, "b.js": "b"]) }
  }

  private func overview(token: String? = nil) throws -> FleetOverview {
    let reply = try origin.api("GET", "overview", token: token)
    #expect(reply.status == 200)
    return try reply.json.decode(FleetOverview.self)
  }

  private func problems() throws -> [String] { try overview().problems.map(\.code) }

  @Test func scheduledActsAreCounted() throws {
    #expect(try overview().channels.first?.planned == nil)
    func time(_ hours: Int64) -> JSONValue {
      .string(Timestamp.text(now.withLock { $0 } + hours * 3_600_000))
    }
    for hours in [3, 2] as [Int64] {
      var body = try origin.release(["a.js": "in \(hours)"]).object ?? JSONObject()
      (body["schedule"], body["ifVersion"]) = (time(hours), "3")
      #expect(try origin.api("POST", "\(Self.online)/releases", .object(body)).status == 202)
    }
    let freezes = [("from", 5), ("from", 1), ("to", 4)] as [(String, Int64)]
    for (name, hours) in freezes {
      var body = JSONObject()
      (body["reason"], body[name]) = ("sale", time(hours))
      #expect(try origin.api("POST", "\(Self.online)/freeze", .object(body)).status == 200)
    }
    let next = Moment(milliseconds: now.withLock { $0 } + 2 * 3_600_000)
    // Not counting the one that has begun.
    #expect(
      try overview().channels.first?.planned
        == FleetOverview.Planned(acts: 2, next: next, freezes: 2, failed: 0))
    now.withLock { $0 += 3 * 3_600_000 }
    ScheduleService(api: origin.origin.api) { _ in }.run()
    #expect(
      try overview().channels.first?.planned
        == FleetOverview.Planned(acts: 0, next: nil, freezes: 1, failed: 2))
    now.withLock { $0 += 7 * 86_400_000 }
    // Answers are cached for a second.
    Clock.sleep(for: .milliseconds(1100))
    #expect(try overview().channels.first?.planned == nil)
  }

  private func report(_ times: Int) throws {
    let body: JSONValue = ["reason": "integrity", "url": "", "version": "3"]
    for _ in 0..<times { _ = try origin.ask("POST", "/report?app=shop", body: body.canonical) }
    origin.origin.adoption.flush()
  }

  /// A file system may report sizes that don't fit into the integer type.
  @Test(
    arguments: [
      (Int64.max, Int64.max, nil), (1, .max, nil), (.max, .max / 20, "warning"), (.max, .max / 100, "error"),
      (0, 300_000_000, nil),
    ] as [(Int64, Int64, String?)])
  func disksOfAnySize(size: Int64, available: Int64, severity: String?) {
    let state = FleetState(
      origin: "o1", health: [], recent: [:], damaged: [], mirrors: [], progress: [:], staged: [],
      disk: DiskUse(at: Moment(milliseconds: 0), size: size, available: available, stored: 0), scrubbed: nil,
      now: 0)
    let problem = state.overview(disk: true, where: { _, _ in true }).problems.first { $0.code == "disk" }
    #expect(problem?.severity == severity)
  }

  /// A disk's free space changes with each write: if it were exact, the console's answer would change every time.
  @Test func smallChangesOfTheDiskAreIgnored() throws {
    func disk(_ at: Int64, _ available: Int64) -> DiskUse? {
      FleetState(
        origin: "o1", health: [], recent: [:], damaged: [], mirrors: [], progress: [:], staged: [],
        disk: DiskUse(at: Moment(milliseconds: at), size: 20_000_000, available: available, stored: 7),
        scrubbed: nil, now: at
      ).overview(disk: true, where: { _, _ in true }).disk
    }
    let state = try #require(disk(120_000, 12_000_000))
    #expect(
      state
        == DiskUse(at: Moment(milliseconds: 120_000), size: 20_000_000, available: 12_000_000, stored: 7)
    )
    #expect(disk(179_999, 12_019_999) == state)
    #expect(disk(180_000, 12_019_999) != state && disk(179_999, 12_020_000) != state)
  }

  @Test func freezeKillSwitchAndFailuresAreProblemsAtOnce() throws {
    #expect(try problems().filter { $0 != "disk" } == [])
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": "an incident"]).status == 200)
    #expect(try problems().contains("frozen"))
    let kill: JSONValue = ["act": "kill", "message": "white pages"]
    #expect(try origin.api("POST", "\(Self.online)/policy", kill).status == 201)
    let killed = try overview()
    #expect(killed.problems.first?.code == "killed" && killed.problems.first?.severity == "error")
    #expect(
      killed.channels[0].kill?.reason == "white pages" && killed.channels[0].freeze?.reason == "an incident")
    // A later policy change doesn't replace the kill's author and reason.
    let bypass: JSONValue = [
      "act": "bypass-add", "pattern": "https://m.example.com/pay/*", "message": "later",
    ]
    let bypassed = try origin.api("POST", "\(Self.online)/policy", bypass)
    #expect(bypassed.status == 201, "\(bypassed.json)")
    let still = try overview().channels[0]
    #expect(still.kill == killed.channels[0].kill && still.bypasses == 1)
    #expect(try origin.api("POST", "\(Self.online)/policy", ["act": "resume"]).status == 201)
    #expect(try origin.api("POST", "\(Self.online)/thaw?reason=it%20is%20over", [:]).status == 200)
    #expect(try problems().filter { $0 != "disk" } == [])
    let rows = try origin.api("GET", "audit?act=channel.thaw").json["rows"]?.array
    #expect(rows?.first?["parameters"]?.string == #"{"reason":"it is over"}"#)
    #expect(try origin.api("POST", "\(Self.online)/thaw?reason=a%07bell", [:]).status == 422)
    try report(9)
    try origin.publish(["a.js": "four"])
    #expect(try !problems().contains("failing"))
    try report(1)
    try origin.publish(["a.js": "five"])
    #expect(try problems().contains("failing"))
    #expect(try overview().channels[0].failures == .init(hour: 10, day: 10))
  }

  @Test func fleetThatStaysBehindIsAProblem() throws {
    for _ in 0..<30 { _ = try origin.ask("GET", "/configure.json?app=shop&version=1") }
    origin.origin.adoption.flush()
    #expect(try !problems().contains("lagging"))
    now.withLock { $0 += 2 * 3_600_000 }
    try origin.publish(["c.js": "other"], bundle: "other", channel: "test")
    #expect(try problems().contains("lagging"))
    let channel = try overview().channels[0]
    #expect(channel.adoption == .init(minutes: 10, polls: 30, newest: 0))
  }

  @Test func overviewIsLimitedToTheTokensRights() throws {
    try origin.publish(["a.js": "x"], app: "bank")
    let made = try origin.api("POST", "tokens", ["app": "bank", "name": "b", "scope": "read"]).json
    let token = try #require(made["token"]?.string)
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": "an incident"]).status == 200)
    let limited = try overview(token: token)
    #expect(limited.channels.map(\.app.text) == ["bank"])
    #expect(limited.problems.isEmpty && limited.disk == nil)
    #expect(try overview().channels.map(\.app.text) == ["shop", "bank"] && overview().disk != nil)
    let own = try origin.api("GET", "token", token: token).json
    #expect(own["name"]?.string == "b" && own["scope"]?.string == "read" && own["app"]?.string == "bank")
    #expect(try origin.api("GET", "disk", token: token).status == 403)
    #expect(try origin.api("GET", "audit/verify", token: token).status == 403)
    #expect(try origin.api("GET", "\(Self.online)/adoption/series", token: token).status == 403)
  }

  @Test(arguments: [
    "apps", "audit", "overview", "token", "tokens", "mirrors", "disk", "audit/verify", online,
    "\(online)/log",
    "\(online)/diff?from=1&to=3", "\(online)/adoption", "\(online)/adoption/series", "\(online)/samples",
    "\(online)/pins",
    "\(online)/policy", "\(online)/settings", "\(online)/releases/3",
    "\(online)/entry?url=https://m.example.com/a.js",
  ])
  func conditionalRequestsAreNotModified(path: String) throws {
    let lines = ["Authorization: Bearer \(origin.token)"]
    let first = try origin.ask("GET", "/api/v1/\(path)", lines)
    let tag = try #require(first.field("ETag"), "\(path)")
    #expect(first.status == 200 && !first.body.isEmpty)
    if path != "disk", path != "overview" {
      let again = try origin.ask("GET", "/api/v1/\(path)", lines + ["If-None-Match: \"x\", \(tag)"])
      #expect(again.status == 304 && again.body.isEmpty, "\(path)")
      #expect(again.field("Content-Type") == nil && again.field("Cache-Control") == "no-store")
    }
    let other = try origin.ask("GET", "/api/v1/\(path)", lines + ["If-None-Match: \"x\""])
    #expect(other.status == 200)
  }

  @Test func largeAnswerIsCoded() throws {
    let files = Dictionary(uniqueKeysWithValues: (0..<100).map { ("f\($0).js", "text \($0)") })
    try origin.publish(files)
    let lines = ["Authorization: Bearer \(origin.token)"]
    let path = "/api/v1/\(Self.online)/diff?from=3&to=4"
    let plain = try origin.ask("GET", path, lines)
    let coded = try origin.ask("GET", path, lines + ["Accept-Encoding: gzip, zstd"])
    #expect(plain.field("Content-Encoding") == nil && coded.field("Content-Encoding") == "zstd")
    #expect(coded.body.count * 3 < plain.body.count && coded.field("ETag") != plain.field("ETag"))
    #expect(coded.field("Content-Length") == "\(coded.body.count)")
    let known = lines + ["Accept-Encoding: gzip, zstd", "If-None-Match: \(coded.field("ETag") ?? "")"]
    #expect(try origin.ask("GET", path, known).status == 304)
  }

  @Test func diffIsPaginated() throws {
    let files = Dictionary(uniqueKeysWithValues: (0..<25).map { ("dir/f\($0 + 10).js", "text \($0)") })
    try origin.publish(files)
    var urls: [String] = []
    var after = ""
    for _ in 0..<10 {
      let page = try origin.api("GET", "\(Self.online)/diff?from=3&to=4&limit=10\(after)").json
        .decode(DiffAnswer.self)
      #expect(page.counts == ChangeCounts(added: 25, changed: 0, removed: 0))
      urls += (page.added + page.changed + page.removed).map(\.url)
      guard let next = page.next else { break }
      after = "&after=\(next)"
    }
    #expect(urls.count == 25 && Set(urls).count == 25)
    let some = try origin.api("GET", "\(Self.online)/diff?from=3&to=4&filter=f1").json.decode(DiffAnswer.self)
    #expect(some.added.count == 10 && some.next == nil && some.counts?.added == 10)
    let none = try origin.api("GET", "\(Self.online)/diff?from=3&to=4&limit=0").json.decode(DiffAnswer.self)
    #expect(none.added.isEmpty && none.counts?.added == 25 && none.cost.total != nil)
  }

  @Test func seriesOfMinutesHoursDaysAndWeeks() throws {
    for version in [3, 3, 2] { _ = try origin.ask("GET", "/configure.json?app=shop&version=\(version)") }
    try report(4)
    for step in ["minute", "hour", "day", "week"] {
      let path = "\(Self.online)/adoption/series?step=\(step)&points=5"
      let series = try origin.api("GET", path).json.decode(AdoptionSeries.self)
      #expect(series.step == step && series.points == 5)
      #expect(series.versions.map(\.version) == ["3", "2"], "\(step)")
      #expect(series.versions.map { $0.polls.last } == [2, 1], "\(step)")
      if step != "minute" { #expect(series.failures.map(\.reason) == ["integrity"]) }
    }
    #expect(try origin.api("GET", "\(Self.online)/adoption/series?step=year").status == 400)
    #expect(try origin.api("GET", "\(Self.online)/adoption/series?points=0").status == 400)
    #expect(try origin.api("GET", "\(Self.online)/adoption/series?step=week&points=14").status == 400)
  }

  @Test func receiptOfAReleaseAndEntryOfAFile() throws {
    let release = try origin.api("GET", "\(Self.online)/releases/2").json
    let row = release["receipt"]?.string?.split(separator: ":").first.map(String.init)
    let trail = try origin.api("GET", "audit?act=publish").json["rows"]?.array ?? []
    #expect(trail.count == 3 && trail.contains { "\($0["id"]?.integer ?? 0)" == row })
    let entry = "\(Self.online)/entry?url=https://m.example.com/a.js"
    let (old, new) = (try origin.api("GET", "\(entry)&version=1").json, try origin.api("GET", entry).json)
    #expect(old["sha256"]?.string == SHA256.of(Array("one".utf8)).hex)
    #expect(new["sha256"]?.string == SHA256.of(Array("three".utf8)).hex)
    #expect(try origin.api("GET", "\(Self.online)/entry?url=https://m.example.com/none.js").status == 404)
    #expect(try origin.api("GET", "\(Self.online)/entry?url=none").status == 400)
    #expect(try origin.api("GET", "audit/verify").json["broken"] == .null)
  }
}
