/// How many rows one transaction of gc takes, so that whoever wants to write waits for it only shortly.
struct Pace {
  /// Rows of the next transaction.
  private(set) var rows = 200
  /// The longest time for which one had the connection that writes, in nanoseconds.
  private(set) var longest: Int64 = 0

  /// What a transaction should take: 15 ms.
  private static let aim: Int64 = 15_000_000
  private static let fewest = 20
  private static let most = 5000

  /// Notes what a transaction of so many rows took.
  mutating func took(_ nanoseconds: Int64, rows count: Int) {
    longest = max(longest, nanoseconds)
    // One that was small tells nothing of a large one.
    guard count >= rows || nanoseconds > Self.aim else { return }
    let wanted = Int64(count) * Self.aim / max(1, nanoseconds)
    rows = min(Self.most, max(Self.fewest, Int(min(wanted, Int64(rows) * 2))))
  }
}
