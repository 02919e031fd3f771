import System
import Testing

@Suite struct CivilTimeTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (951_825_599, "2000-02-29T11:59:59Z"),
      (-62_167_219_200, "0000-01-01T00:00:00Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
      // Years outside 0 to 9999 are clamped.
      (.max, "9999-12-31T23:59:59Z"), (.min, "0000-01-01T00:00:00Z"),
    ] as [(Int64, String)])
  func timesAreFormatted(seconds: Int64, text: String) {
    #expect(CivilTime(seconds: seconds).text == text)
  }

  @Test(arguments: [(2026, 2, 29), (2026, 4, 31), (2026, 13, 1), (2026, 0, 1), (2026, 1, 0), (10_000, 1, 1)])
  func invalidDatesAreRefused(year: Int, month: Int, day: Int) {
    #expect(CivilTime.seconds(year: year, month: month, day: day) == nil)
  }

  @Test func datesRoundTrip() throws {
    for day in stride(from: Int64(-719_528), to: 2_932_896, by: 97) {
      let time = CivilTime(seconds: day * 86_400)
      #expect(CivilTime.seconds(year: time.year, month: time.month, day: time.day) == day * 86_400)
    }
  }

  @Test func timesBefore1970AreRoundedDown() {
    #expect(Timestamp.text(-1) == "1969-12-31T23:59:59.999Z")
    #expect(Timestamp.wholeSeconds(-1) == -1 && Timestamp.wholeSeconds(.min) < 0)
  }
}
