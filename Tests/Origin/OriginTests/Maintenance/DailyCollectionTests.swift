import Store
import Testing

@testable import Origin

@Suite struct DailyCollectionTests {
  /// For two hours from its minute, also over midnight: a round delayed by a lease is retried for that long.
  @Test(arguments: [
    (180, 180, true), (180, 299, true), (180, 300, false), (180, 179, false), (180, 0, false), (0, 0, true),
    (0, 119, true), (0, 120, false), (0, 1439, false), (1439, 1439, true), (1439, 0, true), (1439, 118, true),
    (1439, 119, false), (1439, 1438, false), (1380, 59, true), (1380, 60, false),
  ])
  func isDue(minute: Int, now: Int, isDue: Bool) {
    #expect(DailyCollection(minute: minute, policy: RetentionPolicy()).isDue(atMinute: now) == isDue)
  }

  /// Exactly one round a day, whatever its minute.
  @Test(arguments: [0, 1, 719, 1320, 1439]) func oneRoundADay(minute: Int) {
    let gc = DailyCollection(minute: minute, policy: RetentionPolicy())
    #expect((0..<1440).count { gc.isDue(atMinute: $0) } == 120)
    let begins = (0..<1440).filter { gc.isDue(atMinute: $0) && !gc.isDue(atMinute: ($0 + 1439) % 1440) }
    #expect(begins == [minute])
  }
}
