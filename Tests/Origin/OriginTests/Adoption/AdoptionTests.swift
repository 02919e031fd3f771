import Store
import Testing
import Values

@testable import Origin

@Suite struct AdoptionTests {
  let origin: TestOrigin

  init() throws {
    origin = try TestOrigin()
    for text in ["one", "two", "three"] { try origin.publish(["a.js": text]) }
  }

  private func polls() throws -> [String: Int64] {
    origin.origin.adoption.flush()
    let document = try origin.api("GET", "apps/shop/channels/online/adoption").json
    var polls: [String: Int64] = [:]
    for version in document["hour"]?["versions"]?.array ?? [] {
      polls[version["version"]?.string ?? ""] = version["polls"]?.integer
    }
    return polls
  }

  @Test func pollsAreCountedByReportedVersion() throws {
    for query in ["version=3", "version=3", "version=1&patch=1", "", "version=9", "version=x"] {
      _ = try origin.ask("GET", "/configure.json?app=shop&\(query)")
    }
    _ = try origin.ask("GET", "/xcache/shop/configure.json?version=2")
    #expect(try polls() == ["3": 2, "2": 1, "1": 1, "none": 1, "other": 2])
    _ = try origin.ask("GET", "/configure.json?app=shop&version=3")
    #expect(try polls()["3"] == 3)
    let metrics = try origin.ask("GET", "/metrics").text
    #expect(metrics.contains("xcache_polls_last_hour{app=\"shop\",channel=\"online\",version=\"3\"} 3\n"))
  }

  /// A preview isn't made by a device.
  @Test func previewIsAnsweredButNotCounted() throws {
    let device = try origin.ask("GET", "/configure.json?app=shop&version=2&patch=1").json
    for path in [
      "/configure.json?app=shop&version=2&patch=1&preview=1",
      // From the answer memoised for the previous poll.
      "/configure.json?app=shop&version=2&patch=1&preview=1", "/configure.json?preview=1&app=shop",
      "/xcache/shop/configure.json?preview=1",
    ] {
      let answer = try origin.ask("GET", path)
      #expect(answer.status == 200, "\(path)")
      if path.contains("version=2") { #expect(answer.json == device) }
    }
    #expect(try polls() == ["2": 1])
    _ = try origin.ask("GET", "/configure.json?app=shop&version=2&patch=1&preview=0")
    #expect(try polls() == ["2": 2])
  }

  @Test func removedVersionCountsAsOther() throws {
    var policy = RetentionPolicy()
    policy.versions = 1
    _ = try origin.store.collect(policy)
    _ = try origin.ask("GET", "/configure.json?app=shop&version=1")
    #expect(try polls() == ["other": 1])
    // It gets the whole manifest, like an unknown version.
    let answer = try origin.ask("GET", "/configure.json?app=shop&version=1&patch=1").json
    #expect(answer["data"]?["resourcemap"]?.object?.count == 1)
  }

  @Test func reportedVersionsAreKept() throws {
    for _ in 1...10 { _ = try origin.ask("GET", "/configure.json?app=shop&version=2") }
    let report = try origin.api("POST", "gc", ["keepVersions": 1]).json
    #expect(report["channels"]?.array?.first?["dropped"]?.array?.compactMap(\.string) == ["1"])
    #expect(
      try origin.api("POST", "gc", ["keepDays": 0, "keepVersions": 1]).json["blobs"]?["files"]?.integer == 1)
  }

  @Test func pinsKeepVersionsAndAreListedAndRemoved() throws {
    let pins = "apps/shop/channels/online/pins"
    #expect(try origin.api("POST", pins, ["reason": "audit", "version": "1"]).status == 201)
    #expect(try origin.api("POST", pins, ["reason": "audit", "version": "8"]).status == 404)
    #expect(try origin.api("POST", pins, ["reason": "", "version": "1"]).status == 400)
    #expect(try origin.api("GET", pins).json["pins"]?.array?.first?["reason"]?.string == "audit")
    let report = try origin.api("POST", "gc", ["keepVersions": 1]).json
    #expect(report["channels"]?.array?.first?["dropped"]?.array?.compactMap(\.string) == ["2"])
    #expect(try origin.api("DELETE", "\(pins)/1").status == 200)
    #expect(try origin.api("DELETE", "\(pins)/1").status == 404)
  }

  @Test func onlyAnUnrestrictedAdminRunsGC() throws {
    let made = try origin.api("POST", "tokens", ["name": "ci", "scope": "publish"]).json
    #expect(try origin.api("POST", "gc", [:], token: made["token"]?.string).status == 403)
    let lease = try origin.store.acquireLease(holder: "backup", seconds: 60)
    #expect(try origin.api("POST", "gc", [:]).status == 409)
    try origin.store.endLease(lease.id)
  }

  @Test func failuresAreCountedWithinBounds() throws {
    func report(_ reason: String, _ url: String = "", version: String = "3") throws -> Int {
      let body: JSONValue = ["reason": .string(reason), "url": .string(url), "version": .string(version)]
      return try origin.ask("POST", "/report?app=shop", body: body.canonical).status
    }
    for _ in 0..<3 { #expect(try report("integrity", "https://m.example.com/a.js") == 200) }
    #expect(try report("integrity", "https://elsewhere.example.com/private") == 200)
    #expect(try report("timeout", version: "77") == 200)
    #expect(try report("because") == 400)
    #expect(try origin.ask("GET", "/report?app=shop").status == 405)
    #expect(try origin.ask("POST", "/report?app=none", body: []).status == 404)
    origin.origin.adoption.flush()
    let failures = try origin.store.failures(of: origin.store.channels()[0], days: 1)
    #expect(failures.map(\.failures) == [3, 1, 1])
    #expect(failures.map(\.url) == ["https://m.example.com/a.js", "", ""])
    #expect(failures.map(\.version) == [3, 3, PollCount.other])
    for name in 0..<5000 { origin.origin.adoption.record(.other, version: 3, url: "\(name)", of: 1) }
    origin.origin.adoption.flush()
    #expect(
      try origin.store.failures(of: origin.store.channels()[0], days: 1).count <= 4 + Store.urlsOfFailures)
  }

  @Test func unknownVersionsTakeNoMemory() throws {
    let counter = origin.origin.adoption.makeCounter()
    let channel = try #require(origin.origin.catalog.current.channel(id: 1))
    for number in 0..<100_000 as Range<Int64> {
      counter.count(PollCounter.version(.number(number), of: channel), of: 1)
    }
    let polls = counter.drain()
    #expect(polls.count == 5)
    #expect(polls.reduce(0) { $0 + $1.polls } == 100_000)
  }
}
