import System

/// What comes behind the head of a redirect that is followed: a little of it is read, since a connection whose answer is whole is used
/// again. One that is long, or long in coming, ends with its connection.
struct RedirectBody {
  /// When the head was there, in monotonic nanoseconds.
  private var start: UInt64?
  private var count = 0

  private static let limit = 64 << 10
  /// Nanoseconds; a transport that waits for bytes asks every half a second, so that a redirect is followed after that at the latest.
  private static let patience: UInt64 = 250_000_000

  /// The head is there; false: what comes behind it is too long.
  mutating func begins(_ head: NetworkHead, isHEAD: Bool) -> Bool {
    start = Clock.monotonicNanoseconds()
    let length = head.values("content-length").first.flatMap { Int64($0) } ?? 0
    return isHEAD || length <= Int64(Self.limit)
  }

  /// Bytes came; false: they are enough.
  mutating func takes(_ bytes: Int) -> Bool {
    count += min(bytes, Self.limit + 1)
    return count <= Self.limit && !isOver
  }

  /// Whether no more of it is waited for.
  var isOver: Bool { start.map { Clock.monotonicNanoseconds() - $0 > Self.patience } ?? false }
}
