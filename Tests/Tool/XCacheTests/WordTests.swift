import Testing

@testable import xcache

@Suite("Time arguments") struct TimeArgumentTests {
  /// 2026-11-22T12:00:00Z
  private static let now: Int64 = 1_795_348_800_000

  @Test(
    "Relative times",
    arguments: [
      ("now", 0), ("90s ago", 90), ("10m ago", 600), ("2h ago", 7200), ("3D AGO", 259_200),
      ("1w ago", 604_800),
    ] as [(String, Int64)])
  func ago(_ text: String, _ seconds: Int64) {
    #expect(TimeArgument.parse(text, now: Self.now) == Self.now - seconds * 1000)
  }

  @Test("A time with an offset is absolute") func absolute() {
    #expect(TimeArgument.parse("2026-11-22T20:00+08:00", now: 0) == Self.now)
    #expect(TimeArgument.wireText("2026-11-22T20:00+08:00") == "2026-11-22T20:00+08:00")
    // The form in which the program prints times.
    #expect(TimeArgument.parse("2026-11-22 12:00:00 UTC", now: 0) == Self.now)
    #expect(TimeArgument.parse("2026-11-22 12:00 utc", now: 0) == Self.now)
  }

  /// Tables omit the milliseconds of releases.
  @Test("A printed time means the end of its second where a version is meant") func printed() {
    func wire(_ text: String, _ now: Int64 = Self.now + 60_000) -> String? {
      TimeArgument.wireText(text, isWholeSecond: true, now: now)
    }
    #expect(wire("2026-11-22 12:00:00 UTC") == "2026-11-22T12:00:00.999Z")
    #expect(wire("2026-11-22T20:00:00+08:00") == "2026-11-22T12:00:00.999Z")
    #expect(wire("2026-11-22T12:00:00.250Z") == "2026-11-22T12:00:00.250Z")
    #expect(wire("1m ago") == "2026-11-22T12:00:00.000Z" && wire("1M AGO") == wire("1m ago"))
    // A past time must not become a future one.
    #expect(wire("2026-11-22 12:00:00 UTC", Self.now + 300) == "2026-11-22T12:00:00.300Z")
    #expect(wire("2026-11-22 12:00:00 UTC", Self.now - 1) == "2026-11-22T12:00:00.000Z")
    #expect(TimeArgument.wireText("2026-11-22 12:00:00 UTC") == "2026-11-22T12:00:00.000Z")
  }

  @Test("Days and hours are in the local time zone") func local() throws {
    let today = try #require(TimeArgument.parse("today 14:05", now: Self.now))
    #expect(TimeArgument.parse("14:05", now: Self.now) == today)
    #expect(abs(today - Self.now) < 26 * 3_600_000)
    #expect(TimeArgument.parse("today 14:05:30", now: Self.now) == today + 30_000)
    let yesterday = try #require(TimeArgument.parse("yesterday 14:05", now: Self.now))
    // 23 to 25 hours, as clocks may have changed.
    #expect([23, 24, 25].contains((today - yesterday) / 3_600_000))
  }

  @Test(
    "Invalid times",
    arguments: [
      "", "soon", "10m", "ago", "10x ago", "-1m ago", "0m ago", "yesterday", "yesterday 24:00",
      "yesterday 1:5",
      "25:00", "1:2:3", "1:02:60", "2026-11-22 25:00 UTC", "soon 12:00 UTC", "9999999999999m ago",
      "10m ago now", "2026-11-22T20:00", "٣m ago", "+5m ago", "+1:30", "-0:30", "14:+5", "today 14:05:-0",
    ])
  func invalidTimes(_ text: String) { #expect(TimeArgument.parse(text, now: Self.now) == nil) }
}

@Suite("Progress lines") struct ProgressMeterTests {
  private static let second: UInt64 = 1_000_000_000

  @Test("At most ten lines a second, however often it is updated") func pace() {
    var meter = ProgressMeter()
    let lines = (0..<10_000).compactMap { step in
      meter.line("sending", Int64(step), of: 10_000, .bytes, now: UInt64(step) * 100_000 + 1)
    }
    #expect(lines.count == 10)
  }

  @Test("Rate and remaining time after a second, and no percentage of an empty total") func words() {
    var meter = ProgressMeter()
    #expect(meter.line("sending", 0, of: 0, .bytes, now: 1) == "sending")
    meter = ProgressMeter()
    #expect(
      meter.line("sending", 0, of: 10_000_000, .bytes, now: 1)
        == "sending [························] 0 B of 10.0 MB")
    #expect(
      meter.line("sending", 5_000_000, of: 10_000_000, .bytes, now: 1 + 5 * Self.second)
        == "sending [############············] 5.0 MB of 10.0 MB, 1.0 MB/s, 5 s left")
    // A new step starts again.
    #expect(
      meter.line("hashing", 1, of: 1, .files, now: 2 + 5 * Self.second)
        == "hashing [########################] 1 of 1 file")
  }

  @Test("An origin's numbers may have any value") func hostile() {
    var meter = ProgressMeter()
    var now: UInt64 = 1
    for (done, all) in [(Int64.max, Int64.max), (.min, 5), (7, 5), (5, .min), (.max, 1), (0, .max)] {
      _ = meter.line("making", done, of: all, .files, now: now)
      now += 3 * Self.second
    }
  }

  @Test("Times", arguments: [(0.2, "1 s"), (99, "99 s"), (120, "2 min"), (7200, "2 h"), (1e300, "9999 h")])
  func times(_ seconds: Double, _ words: String) { #expect(ProgressMeter.time(seconds) == words) }
}

@Suite("Percentages") struct ShareTests {
  @Test(
    "They are rounded to the nearest tenth, not truncated",
    arguments: [
      (0, 3, "0.0 %"), (1, 3, "33.3 %"), (2, 3, "66.7 %"), (3, 3, "100.0 %"), (1999, 2000, "100.0 %"),
      (1, 1001, "0.1 %"), (.max - 1, .max, "100.0 %"),
    ] as [(Int64, Int64, String)])
  func rounded(_ part: Int64, _ all: Int64, _ text: String) { #expect(Share.text(part, of: all) == text) }
}
