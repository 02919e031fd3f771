/// The requests that timed out, and whether further ones are worth sending: each would cost its sender as much time again.
struct RequestTimeouts {
  /// The number of timeouts in a row after which a job considers the network down.
  static let maxInRow = 2
  /// The seconds for which a page waits for the next chunk of a missing file.
  static let pageSeconds = 5
  /// The nanoseconds for which pages don't wait for missing files after one of their requests has timed out.
  private static let pagePause: UInt64 = 30_000_000_000

  private var inRow = 0
  /// The time until which pages don't wait, in nanoseconds of the clock that keeps running during sleep.
  private var pagesWaitAgain: UInt64 = 0

  /// Whether too many requests of the job in a row have timed out.
  var isNetworkDown: Bool { inRow >= Self.maxInRow }

  /// Counts a timeout of the job's.
  mutating func add() { inRow += 1 }

  /// Begins anew: another job has begun, or a chunk has arrived.
  mutating func reset() { inRow = 0 }

  /// Whether a page's request has timed out within the last half minute.
  func hasPageTimedOut(at now: UInt64) -> Bool { now < pagesWaitAgain }

  /// Records that a page's request timed out.
  mutating func recordPage(at now: UInt64) { pagesWaitAgain = now + Self.pagePause }
}
