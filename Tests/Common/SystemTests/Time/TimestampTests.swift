import System
import Testing

@Suite struct TimestampTests {
  @Test(arguments: [
    ("2026-11-19T14:05+08:00", "2026-11-19T06:05:00.000Z"),
    ("2026-11-19T14:05:09Z", "2026-11-19T14:05:09.000Z"),
    ("2026-01-01t00:30:00.5+01:00", "2025-12-31T23:30:00.500Z"),
    ("2024-02-29 00:00-00:30", "2024-02-29T00:30:00.000Z"),
    ("1970-01-01T00:00:00.1239Z", "1970-01-01T00:00:00.123Z"),
    ("0001-01-01T00:00Z", "0001-01-01T00:00:00.000Z"),
  ])
  func timesAreParsed(text: String, same: String) throws {
    #expect(Timestamp.text(try #require(Timestamp.parse(text))) == same)
  }

  @Test(arguments: [
    "", "553", "2026-11-19", "2026-11-19T14:05", "2026-02-29T00:00Z", "2026-13-01T00:00Z",
    "2026-11-19T24:00Z",
    "2026-11-19T14:60Z", "2026-11-19T14:05:60Z", "2026-11-19T14:05:00.Z", "2026-11-19T14:05+0800",
    "2026-11-19T14:05Zx",
    " 2026-11-19T14:05Z", "26-11-19T14:05Z",
  ])
  func invalidTimesAreRefused(text: String) { #expect(Timestamp.parse(text) == nil) }

  /// Times outside the years 0 to 9999 are clamped.
  @Test(
    arguments: [
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (253_402_300_800_000, "9999-12-31T23:59:59.000Z"),
      (.max, "9999-12-31T23:59:59.807Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
      (-62_167_219_200_001, "0000-01-01T00:00:00.999Z"), (.min, "0000-01-01T00:00:00.192Z"),
      (-1000, "1969-12-31T23:59:59.000Z"), (-999, "1969-12-31T23:59:59.001Z"),
    ] as [(Int64, String)])
  func timesOutsideTheRangeAreClamped(milliseconds: Int64, text: String) {
    #expect(Timestamp.text(milliseconds) == text)
    #expect(Timestamp.parse(text) != nil)
  }

  /// With its offset, a time may be outside the years 0 to 9999.
  @Test func offsetsBeyondTheRange() {
    #expect(Timestamp.parse("0000-01-01T00:00:00+00:01") == -62_167_219_260_000)
    #expect(Timestamp.parse("9999-12-31T23:59:59.999-23:59") == 253_402_387_139_999)
  }

  @Test func secondsCanBeRequired() {
    #expect(
      Timestamp.parse("2026-11-19T14:05Z") == Timestamp.parse("2026-11-19T14:05:00Z", needsSeconds: true))
    #expect(Timestamp.parse("2026-11-19T14:05Z", needsSeconds: true) == nil)
  }

  @Test(
    arguments: [(0, 0), (999, 0), (1000, 1), (-1, -1), (-999, -1), (-1000, -1), (-1001, -2)]
      as [(Int64, Int64)])
  func secondsAreRoundedDown(milliseconds: Int64, second: Int64) {
    #expect(Timestamp.wholeSeconds(milliseconds) == second)
  }
}
