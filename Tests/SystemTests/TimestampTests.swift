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
  func timesAreRead(text: String, same: String) throws {
    #expect(Timestamp.text(try #require(Timestamp.parse(text))) == same)
  }

  @Test(arguments: [
    "", "553", "2026-11-19", "2026-11-19T14:05", "2026-02-29T00:00Z", "2026-13-01T00:00Z",
    "2026-11-19T24:00Z",
    "2026-11-19T14:60Z", "2026-11-19T14:05:60Z", "2026-11-19T14:05:00.Z", "2026-11-19T14:05+0800",
    "2026-11-19T14:05Zx",
    " 2026-11-19T14:05Z", "26-11-19T14:05Z",
  ])
  func whatIsNoTime(text: String) { #expect(Timestamp.parse(text) == nil) }
}
