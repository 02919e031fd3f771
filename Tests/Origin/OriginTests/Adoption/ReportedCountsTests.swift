import Manifests
import Store
import Testing
import Values

@testable import Origin

/// Counts reported by devices, from `POST /report` to the status.
@Suite struct ReportedCountsTests {
  private static let adoption = "apps/shop/channels/online/adoption"
  private let origin: TestOrigin

  init() throws {
    origin = try TestOrigin()
    for text in ["one", "two", "three"] { try origin.publish(["a.js": text]) }
  }

  private func report(_ counts: JSONValue, version: String = "3", app: String = "shop") throws
    -> TestOrigin.Reply
  {
    let body: JSONValue = ["counts": counts, "version": .string(version)]
    return try origin.ask("POST", "/report?app=\(app)", body: body.canonical)
  }

  /// The counts in the status, as `version name=count …`.
  private func shownCounts() throws -> [String] {
    origin.origin.adoption.flush()
    return (try origin.api("GET", Self.adoption).json["reports"]?.array ?? []).map { report in
      let counts = (report["counts"]?.object?.members ?? []).map { "\($0.key)=\($0.value.integer ?? -1)" }
      return ([report["version"]?.string ?? ""] + counts).joined(separator: " ")
    }
  }

  @Test func countsAreKeptPerRelease() throws {
    #expect(try shownCounts() == [])
    #expect(try report(["local": 12, "passed": 3]).text == #"{"code":200}"#)
    #expect(try report(["local": 1, "status-5xx": 2, "whatever": 7]).status == 200)
    #expect(try report(["page-failed": 1], version: "2").status == 200)
    #expect(try shownCounts() == ["3 local=13 passed=3 status-5xx=2", "2 page-failed=1"])
    #expect(try report(["local": 1]).status == 200)
    #expect(try shownCounts().first == "3 local=14 passed=3 status-5xx=2")
    let metrics = try origin.ask("GET", "/metrics").text
    #expect(
      metrics.contains(
        #"xcache_device_events_total{app="shop",channel="online",version="3",event="local"} 14"# + "\n"))
  }

  @Test func countsOfUnknownVersionsAreDropped() throws {
    for version in ["0", "4", "9007199254740991"] {
      #expect(try report(["local": 1], version: version).status == 200)
    }
    #expect(try shownCounts() == [])
    // A version that is removed before its counts are written.
    #expect(try report(["local": 1], version: "1").status == 200)
    #expect(try report(["local": 1], version: "2").status == 200)
    #expect(try shownCounts() == ["2 local=1", "1 local=1"])
    #expect(try report(["local": 1], version: "1").status == 200)
    var policy = RetentionPolicy()
    policy.versions = 1
    _ = try origin.store.collect(policy)
    #expect(try shownCounts() == [])
    #expect(try report(["local": 1]).status == 200)
    #expect(try shownCounts() == ["3 local=1"])
  }

  @Test func invalidBatchesAreRefused() throws {
    for counts: JSONValue in [["local": -1], ["local": 1_000_001], ["local": "1"], [], "x", .null] {
      let reply = try report(counts)
      #expect(reply.status == 400 && reply.text.contains("counts"), "\(reply.text)")
    }
    #expect(try report(["local": 1], version: "x").status == 400)
    #expect(try report(["local": 1], app: "none").status == 404)
    let names = JSONObject((0..<200).map { .init(key: "n\($0)", value: 1) })
    #expect(try report(.object(names)).status == 400)
    guard case .receive(let limit, _) = try origin.answer("POST", "/report?app=shop", [], length: 1 << 20)
    else {
      Issue.record("a report isn't received")
      return
    }
    #expect(limit == 8 << 10)
    #expect(try shownCounts() == [])
  }

  @Test func sumsAreBounded() throws {
    var counts = DeviceCounts()
    counts.add(.local, .max)
    let channel = try origin.store.channels()[0]
    for _ in 0..<3 {
      try origin.store.count([ReportedCounts(channel: channel.id, version: channel.version, counts: counts)])
    }
    #expect(try origin.store.reported(of: channel, limit: 1).first?.counts[.local] == 1 << 53 - 1)
    // Versions that no device has make no row.
    for number in 0..<2_000 as Range<Int64> {
      origin.origin.adoption.record(
        DeviceBatch(version: ManifestVersion(number), counts: counts), of: channel.id)
    }
    #expect(try shownCounts().count == 3)
  }

  @Test func reportShareIsInEveryAnswer() throws {
    let settings = "apps/shop/channels/online/settings"
    #expect(try origin.api("POST", settings, ["reports": 2500]).json["reports"]?.integer == 2500)
    for poll in ["version=3", "version=2&patch=1", "version=1"] {
      let data = try origin.ask("GET", "/configure.json?app=shop&\(poll)").json["data"]
      #expect(data?["reports"]?.integer == 2500, "\(poll)")
    }
    #expect(try origin.api("GET", "apps/shop/channels/online").json["reports"]?.integer == 2500)
    #expect(try origin.api("POST", settings, ["reports": .null]).status == 200)
    #expect(
      try origin.ask("GET", "/configure.json?app=shop&version=3").text
        == #"{"code":200,"data":{"update":false,"version":"3"}}"#)
  }
}
