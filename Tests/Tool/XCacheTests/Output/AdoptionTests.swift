import OriginAPI
import Testing
import Values

@testable import xcache

/// The part of `status` about a channel's devices.
@Suite struct AdoptionTests {
  private static func lines(
    hour: String = "", day: String = "", week: String = "", failures: String = "", reports: String = ""
  ) throws -> [String] {
    func polls(_ text: String) -> String {
      let versions = text.split(separator: " ").map { $0.split(separator: ":") }
      let all = versions.reduce(Int64(0)) { $0 &+ (Int64($1[1]) ?? 0) }
      let shares = versions.map { #"{"polls":\#($0[1]),"version":"\#($0[0])"}"# }.joined(separator: ",")
      return #"{"polls":\#(all),"versions":[\#(shares)]}"#
    }
    let text =
      #"{"day":\#(polls(day)),"failures":[\#(failures)],"hour":\#(polls(hour)),"reports":[\#(reports)],"#
      + #""week":\#(polls(week))}"#
    return AdoptionChart.lines(
      try JSONValue.parse(Array(text.utf8)).decode(AdoptionAnswer.self), isBehindCache: false)
  }

  @Test func noPolls() throws { #expect(try Self.lines() == []) }

  /// The version with the most devices comes first.
  @Test func shares() throws {
    #expect(
      try Self.lines(hour: "9:1", day: "none:1 9:3") == [
        "polls last hour: 1", "         9 ████████████████████████ 100.0 %", "polls last day: 4",
        "         9 ██████████████████░░░░░░  75.0 %", "      none ██████░░░░░░░░░░░░░░░░░░  25.0 %",
      ])
  }

  @Test func oldVersionsShareALine() throws {
    let versions = (1...10).map { "\($0):10" }.joined(separator: " ")
    let lines = try Self.lines(week: versions)
    #expect(lines.count == 10 && lines[0] == "polls last week: 100")
    #expect(lines[9] == "   further █████░░░░░░░░░░░░░░░░░░░  20.0 %")
  }

  /// An origin's numbers may be inconsistent: shares above the total, or negative.
  @Test func inconsistentShares() {
    let polls = AdoptionAnswer.Polls(
      polls: 2,
      versions: [.init(polls: .max, version: "a-long-version"), .init(polls: .min, version: "b")])
    let none = AdoptionAnswer.Polls(polls: -1, versions: [.init(polls: 1, version: "c")])
    let lines = AdoptionChart.lines(
      AdoptionAnswer(hour: polls, day: none, week: none, failures: [], reports: []), isBehindCache: false)
    #expect(
      lines == [
        "polls last hour: 2", "  a-long-version ████████████████████████ 100.0 %",
        "         b ░░░░░░░░░░░░░░░░░░░░░░░░   0.0 %",
      ])
  }

  /// Behind a shared cache: how many batches, and how far off the shares may be.
  @Test func pollsThatWereWorkedOut() {
    func polls(_ batches: Int64, _ margin: Int64) -> AdoptionAnswer.Polls {
      .init(
        polls: 400, versions: [.init(polls: 400, version: "9")],
        sample: .init(batches: batches, margin: margin))
    }
    let bar = "         9 ████████████████████████ 100.0 %"
    #expect(
      AdoptionChart.lines(
        AdoptionAnswer(
          hour: polls(1, 2_001), day: polls(41, 2_000), week: polls(7, -5), failures: [], reports: []),
        isBehindCache: true)
        == [
          "polls last hour: about 400, from 1 batch of counts; too few batches to tell", bar,
          "polls last day: about 400, from 41 batches of counts; shares are within 20.0 points", bar,
          "polls last week: about 400, from 7 batches of counts; shares are within 0.0 points", bar,
          "devices without a version aren't in these numbers: a shared cache answers their polls",
        ])
    let none = AdoptionAnswer.Polls(polls: 0, versions: [])
    #expect(
      AdoptionChart.lines(
        AdoptionAnswer(hour: none, day: polls(41, 153), week: none, failures: [], reports: []),
        isBehindCache: false)
        == [
          "polls last day: about 400, partly from 41 batches of counts; shares are within 1.5 points", bar,
          "a shared cache answered polls until recently: devices without a version are missing in that time",
        ])
  }

  private static func failure(_ version: String, _ reason: String, _ count: Int64, _ url: String = "")
    -> String
  {
    #"{"failures":\#(count),"reason":"\#(reason)","url":"\#(url)","version":"\#(version)"}"#
  }

  /// By version, each reason once, followed by the URLs that fail most.
  @Test func failuresByVersion() throws {
    let failures = [
      Self.failure("9", "integrity", 3, "https://m/a"), Self.failure("9", "download", 1),
      Self.failure("8", "integrity", 1, "https://m/a"), Self.failure("9", "integrity", 2, "https://m/b"),
      Self.failure("9", "integrity", 2, "https://m/c"), Self.failure("9", "integrity", 1, "https://m/d"),
      Self.failure("9", "integrity", 1, "https://m/e"),
    ]
    #expect(
      try Self.lines(failures: failures.joined(separator: ",")) == [
        "failures reported by devices, last week:", "  version 9: 9 × integrity, 1 × download",
        "    3 × https://m/a", "    2 × https://m/b", "    2 × https://m/c", "    and 2 more",
        "  version 8: 1 × integrity", "    1 × https://m/a",
      ])
  }

  @Test func overflowingFailures() {
    let failures = [Int64.max, 1].map {
      AdoptionAnswer.Failure(failures: $0, reason: "integrity", url: "u", version: "9")
    }
    let none = AdoptionAnswer.Polls(polls: 0, versions: [])
    let lines = AdoptionChart.lines(
      AdoptionAnswer(hour: none, day: none, week: none, failures: failures, reports: []),
      isBehindCache: false)
    #expect(lines.contains("  version 9: 9223372036854775807 × integrity"))
    #expect(lines.last == "    9223372036854775807 × u")
  }

  // MARK: Reported counts

  private static func report(_ counts: String, version: String = "9") -> String {
    #"{"counts":{\#(counts)},"version":"\#(version)"}"#
  }

  @Test func oneOfEach() throws {
    let counts =
      #""local":1,"damaged":1,"page-failed":1,"script-failed":1,"body-lost":1,"status-2xx":1,"paint-local-128":1"#
    #expect(
      try Self.lines(reports: Self.report(counts)) == [
        "reported by devices, by version:",
        "  version 9: 100.0 % of 1 request from the device, 1 file damaged, 1 page not up, 1 script failed, 1 body lost",
        "    network responses: 1 × 2xx",
        "    first paint: from the device half within 128 ms, 90 % within 128 ms",
        "    why pages failed: `xcache samples --version 9`",
      ])
  }

  @Test func severalOfEach() throws {
    let counts =
      #""local":3,"passed":1,"damaged":2,"page-failed":2,"script-failed":2,"body-lost":2,"status-error":2,"#
      + #""status-5xx":3,"load-local-512":5,"load-local-4096":5,"load-network-more":2"#
    #expect(
      try Self.lines(reports: Self.report(counts)) == [
        "reported by devices, by version:",
        "  version 9: 75.0 % of 4 requests from the device, 2 files damaged, 2 pages not up, 2 scripts failed, "
          + "2 bodies lost",
        "    network responses: 3 × 5xx, 2 × no answer",
        "    load: from the device half within 512 ms, 90 % within 4096 ms; from the network half over 8192 ms, "
          + "90 % over 8192 ms",
        "    why pages failed: `xcache samples --version 9`",
      ])
  }

  /// The three newest versions; only known counts, and only those above zero.
  @Test func omittedCounts() throws {
    let known = #""local":1,"newer-name":5"#
    let reports = [
      Self.report(known, version: "9"), Self.report(#""newer-name":5"#, version: "8"),
      Self.report(#""local":-4"#, version: "7"), Self.report(known, version: "6"),
    ]
    #expect(
      try Self.lines(reports: reports.joined(separator: ",")) == [
        "reported by devices, by version:",
        "  version 9: 100.0 % of 1 request from the device",
      ])
    #expect(try Self.lines(reports: reports.dropFirst().joined(separator: ",")).count == 2)
    #expect(try Self.lines(reports: reports[1...2].joined(separator: ",")) == [])
  }

  /// What is counted for the number of polls isn't shown here, and leaves no line behind.
  @Test func pollsAlone() throws {
    let reports = [
      Self.report(#""polls":12"#), Self.report(#""polls":3,"status-2xx":1"#, version: "8"),
    ]
    #expect(try Self.lines(reports: reports[0]) == [])
    #expect(
      try Self.lines(reports: reports.joined(separator: ",")) == [
        "reported by devices, by version:", "  version 8:", "    network responses: 1 × 2xx",
      ])
  }

  @Test func overflowingCounts() {
    let most = ["local": Int64.max, "passed": .max, "paint-local-128": .max, "paint-local-more": .max]
    let lines = ReportOutput.lines([.init(version: "9", counts: most)])
    #expect(lines[1] == "  version 9: 100.0 % of 9223372036854775807 requests from the device")
    #expect(lines[2] == "    first paint: from the device half within 128 ms, 90 % within 128 ms")
  }
}
