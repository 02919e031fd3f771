import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

/// Evidence that devices report, from `POST /report` to the sums.
@Suite struct EvidenceReportTests {
  private let origin: TestOrigin

  /// Full version 2, and candidate 3.
  init() throws {
    // Noon: two hours before are of the same day.
    origin = try TestOrigin(clock: { 1_763_553_600_000 })
    try origin.publish(["a.js": "one"])
    try origin.publish(["b.js": "b"], bundle: "other")
    #expect(try origin.candidate(["a.js": "two"]).status == 201)
  }

  private func report(
    _ body: JSONValue, from network: UInt32 = 0, _ lines: [String] = [], to other: TestOrigin? = nil
  ) throws -> TestOrigin.Reply {
    try (other ?? origin).ask(
      "POST", "/report?app=shop", lines, body: body.canonical, from: IPAddress(v4: 0x0A00_0001 | network << 8)
    )
  }

  private func evidence(
    _ version: String = "3", _ arm: String = "candidate", opened: Int = 1, failed: Int = 0
  ) -> JSONValue {
    [
      "arm": .string(arm), "failed": .integer(failed), "opened": .integer(opened),
      "version": .string(version),
    ]
  }

  private func sums() throws -> [String] {
    origin.origin.adoption.flush()
    let channel = try #require(try origin.store.channels().first)
    let evidence = try origin.store.evidence(of: try #require(channel.rollout), in: channel)
    return RolloutArm.allCases.map {
      "\($0) \(Int(evidence.sums($0).opened.rounded())) \(Int(evidence.sums($0).failed.rounded()))"
    }
  }

  @Test func reportsAreSummed() throws {
    for network in 0..<10 as Range<UInt32> {
      #expect(try report(["evidence": evidence()], from: network).text == #"{"code":200}"#)
      #expect(try report(["evidence": evidence("3", "control")], from: network).status == 200)
    }
    let late: JSONValue = ["age": 2, "arm": "candidate", "failed": 1, "opened": 0, "version": "3"]
    #expect(try report(["evidence": late], from: 3).status == 200)
    #expect(try sums() == ["candidate 10 1", "control 10 0"])
    // Again from one address: that network counts once.
    for _ in 0..<50 { _ = try report(["evidence": evidence(opened: 1, failed: 1)], from: 3) }
    #expect(try sums() == ["candidate 10 1", "control 10 0"])
  }

  /// Nobody opened before the rollout began: hours of which the fleet knows nothing aren't for those who invent devices.
  @Test func noHourIsBeforeTheRollout() throws {
    for age in 0...24 as ClosedRange<Int64> {
      let early: JSONValue = [
        "age": .integer(age), "arm": "control", "failed": 0, "opened": 1, "version": "3",
      ]
      #expect(try report(["evidence": early], from: UInt32(age)).status == 200)
    }
    #expect(try sums() == ["candidate 0 0", "control 25 0"])
    let channel = try #require(try origin.store.channels().first)
    let evidence = try origin.store.evidence(of: try #require(channel.rollout), in: channel)
    #expect(evidence.hours.map(\.hour) == [1_763_553_600_000 / 3_600_000])
  }

  /// At 100 % control's devices go to the candidate and count nothing more. The candidate's failures of a whole day aren't compared with
  /// what was left of control's.
  @Test func lateFailuresAtAllAreNotCompared() throws {
    let now = Locked<Int64>(1_763_553_600_000)
    let other = try TestOrigin(clock: { now.withLock { $0 } })
    try other.publish(["a.js": "one"])
    #expect(try other.candidate(["a.js": "two"]).status == 201)
    for network in 0..<30 as Range<UInt32> {
      for arm in ["candidate", "control"] {
        _ = try report(["evidence": evidence("2", arm)], from: network, to: other)
      }
    }
    let path = "apps/shop/channels/online/rollout/set"
    #expect(try other.api("POST", path, ["share": 10_000]).status == 200)
    now.withLock { $0 += 3 * 3_600_000 }
    let late: JSONValue = ["age": 3, "arm": "candidate", "failed": 1, "opened": 0, "version": "2"]
    for network in 0..<20 as Range<UInt32> { _ = try report(["evidence": late], from: network, to: other) }
    other.origin.adoption.flush()
    let channel = try #require(try other.store.channels().first)
    let hours = try other.store.evidence(of: try #require(channel.rollout), in: channel).hours
    #expect(hours.map(\.candidate.failed) == [0, 20])
    #expect(!EValue(hours).reaches(2))
  }

  /// Above a half, a step takes devices out of control. Whatever either arm tells later of openings before it isn't compared, and what is
  /// told of openings after it is.
  @Test func lateFailuresAcrossAStepAreNotCompared() throws {
    let now = Locked<Int64>(1_763_553_600_000)
    let other = try TestOrigin(clock: { now.withLock { $0 } })
    try other.publish(["a.js": "one"])
    #expect(try other.candidate(["a.js": "two"]).status == 201)
    let path = "apps/shop/channels/online/rollout/set"
    for share: JSONValue in [5_000, 9_000] {
      #expect(try other.api("POST", path, ["share": share]).status == 200)
      now.withLock { $0 += 3 * 3_600_000 }
    }
    for (age, networks) in [(6, 0..<20), (3, 20..<40), (2, 40..<45)] as [(JSONValue, Range<UInt32>)] {
      for (network, arm) in networks.flatMap({ network in ["candidate", "control"].map { (network, $0) } }) {
        let late: JSONValue = ["age": age, "arm": .string(arm), "failed": 1, "opened": 0, "version": "2"]
        #expect(try report(["evidence": late], from: network, to: other).status == 200)
      }
    }
    other.origin.adoption.flush()
    let channel = try #require(try other.store.channels().first)
    let hours = try other.store.evidence(of: try #require(channel.rollout), in: channel).hours
    #expect(hours.map { [$0.candidate.failed, $0.control.failed] } == [[5, 5]])
  }

  @Test func otherVersionsAreIgnored() throws {
    for version in ["0", "1", "2", "4", "9007199254740991"] {
      #expect(try report(["evidence": evidence(version)]).status == 200, "\(version)")
    }
    #expect(try sums() == ["candidate 0 0", "control 0 0"])
    // A candidate that was made again goes on under its old number.
    try origin.publish(["b.js": "b2"], bundle: "other")
    for (network, version) in ["3", "5", "4"].enumerated() {
      #expect(try report(["evidence": evidence(version)], from: UInt32(network)).status == 200)
    }
    #expect(try sums() == ["candidate 2 0", "control 0 0"])
    #expect(try origin.api("POST", "apps/shop/channels/online/rollout/complete", [:]).status == 200)
    #expect(try report(["evidence": evidence("5")]).status == 200)
  }

  @Test func whatIsNoEvidenceIsRefused() throws {
    for bad: JSONValue in [
      [], .null, "x", [:], ["arm": "candidate", "failed": 0, "opened": 1],
      ["arm": "both", "failed": 0, "opened": 1, "version": "3"],
      ["arm": "candidate", "failed": 0, "opened": 2, "version": "3"],
      ["arm": "candidate", "failed": -1, "opened": 1, "version": "3"],
      ["arm": "candidate", "failed": 0, "opened": 1, "version": 3],
      ["age": 25, "arm": "candidate", "failed": 0, "opened": 1, "version": "3"],
      ["age": "1", "arm": "candidate", "failed": 0, "opened": 1, "version": "3"],
    ] {
      let reply = try report(["evidence": bad])
      #expect(reply.status == 400 && reply.text.contains("evidence"), "\(reply.text)")
    }
    #expect(try sums() == ["candidate 0 0", "control 0 0"])
  }

  /// A page has its visitors' networks. Only the channel's own pages may use them.
  @Test func pagesOfOtherSitesDoNotCount() throws {
    let foreign = [
      ["Origin: https://evil.example", "Content-Type: text/plain", "Sec-Fetch-Mode: no-cors"],
      ["Origin: null"], ["Origin: "], ["Origin: http://m.example.com"],
      ["Origin: https://m.example.com:8443"],
      ["Origin: https://m.example.com.evil.example"], ["Origin: https://m.example.com/"],
      ["Origin: https://cdn.example.com"], ["Origin: https://evil.example", "Sec-Fetch-Site: same-origin"],
      ["Sec-Fetch-Site: cross-site"], ["sec-fetch-site: same-site"],
    ]
    for (network, lines) in foreign.enumerated() {
      let reply = try report(["evidence": evidence(failed: 1)], from: UInt32(network), lines)
      #expect(reply.text == #"{"code":200}"#, "\(lines)")
    }
    #expect(try sums() == ["candidate 0 0", "control 0 0"])
    #expect(
      try origin.ask("GET", "/metrics").text.contains(
        "xcache_rollout_foreign_reports_total \(foreign.count)\n"))
    let own = [
      ["Origin: https://m.example.com", "Sec-Fetch-Site: cross-site"], ["origin: https://m.example.com"], [],
      ["Sec-Fetch-Site: same-origin"], ["Sec-Fetch-Site: none"],
    ]
    for (network, lines) in own.enumerated() {
      #expect(try report(["evidence": evidence()], from: UInt32(network), lines).status == 200, "\(lines)")
    }
    #expect(try sums() == ["candidate 5 0", "control 0 0"])
    // What a page of another site says of failures is counted as before: that decides nothing.
    let failure: JSONValue = [
      "evidence": evidence(opened: 0, failed: 1), "reason": "download", "url": "https://m.example.com/a.js",
      "version": "3",
    ]
    #expect(try report(failure, ["Origin: https://evil.example"]).status == 200)
    #expect(try sums() == ["candidate 5 0", "control 0 0"])
    let shown = try origin.api("GET", "apps/shop/channels/online/adoption").json["failures"]?.array ?? []
    #expect(shown.compactMap { $0["reason"]?.string } == ["download"])
  }

  /// The origins of a channel's URLs are those of all its releases, also after a restart, and of a candidate that was made again.
  @Test func pagesOfTheChannelCount() throws {
    let page: [String] = ["Origin: http://shop.example:8080"]
    #expect(try report(["evidence": evidence()], from: 1, page).status == 200)
    #expect(try sums() == ["candidate 0 0", "control 0 0"])
    var body = try origin.release(["c.js": "c"], bundle: "third")
    guard var bundle = body["bundles"]?.array?.first?.object, let set = bundle["set"]?.object?.members.first
    else {
      throw JSONError.member("set")
    }
    var other = JSONObject()
    other["http://shop.example:8080/c.js"] = set.value
    bundle["set"] = .object(other)
    body = ["bundles": [.object(bundle)], "message": "test"]
    #expect(try origin.api("POST", "apps/shop/channels/online/releases", body).status == 201)
    for (network, origin) in [origin, try origin.restarted()].enumerated() {
      let evidence: JSONValue = ["evidence": evidence("5")]
      #expect(try report(evidence, from: UInt32(network), page, to: origin).status == 200)
      #expect(try report(evidence, from: 5, ["Origin: https://evil.example"], to: origin).status == 200)
      origin.origin.adoption.flush()
    }
    #expect(try sums() == ["candidate 2 0", "control 0 0"])
  }

  @Test func devicesThatWentBack() throws {
    let url = "https://m.example.com/a.js"
    for cause in ["page", "start", "start", "rejected", "whim"] {
      let body: JSONValue = [
        "cause": .string(cause), "reason": "returned", "url": .string(url), "version": "3",
      ]
      #expect(try report(body).status == 200, "\(cause)")
    }
    // The same report may say that the device has failed.
    #expect(
      try report([
        "cause": "page", "evidence": evidence(opened: 0, failed: 1), "reason": "returned",
        "url": .string(url),
        "version": "3",
      ]).status == 200)
    #expect(try sums() == ["candidate 0 1", "control 0 0"])
    let shown = try origin.api("GET", "apps/shop/channels/online/adoption").json["failures"]?.array ?? []
    let failures = Set(
      shown.map { "\($0["reason"]?.string ?? "") \($0["failures"]?.integer ?? 0) \($0["url"]?.string ?? "")" }
    )
    #expect(
      failures == [
        "returned 1 \(url)", "returned-page 2 \(url)", "returned-start 2 \(url)",
        "returned-rejected 1 \(url)",
      ])
    // Only the origin says so.
    #expect(try report(["reason": "returned-page", "url": "", "version": "3"]).status == 400)
  }

  @Test func bufferIsBounded() {
    var buffer = EvidenceBuffer()
    for number in 0..<100_000 as Range<UInt32> {
      buffer.add(
        opened: 1, failed: 0,
        EvidenceBuffer.Key(
          channel: 1, seed: "s", hour: 1, arm: .control, network: NetworkPrefix(IPAddress(v4: number << 8))))
    }
    let counts = buffer.take()
    #expect(counts.count == EvidenceBuffer.limit + 1)
    #expect(counts.reduce(0) { $0 + $1.opened } == 100_000)
    #expect(buffer.take().isEmpty)
  }
}
