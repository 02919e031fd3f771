import System

/// The body of a redirect that is followed. A little of it is read, since a connection can be reused once its answer is
/// complete; if the body is long or slow, the connection is closed instead.
struct RedirectBody {
  /// When the head arrived, in monotonic nanoseconds.
  private var start: UInt64?
  private var count = 0

  private static let limit = 64 << 10
  /// In nanoseconds. A transport that waits for bytes checks every half a second, so a redirect is followed after that at
  /// the latest.
  private static let patience: UInt64 = 250_000_000

  /// Starts with the head; returns false if the body is too long to read.
  mutating func begin(_ head: NetworkHead, isHEAD: Bool) -> Bool {
    start = Clock.monotonicNanoseconds()
    let length = head.headers["content-length"].flatMap { Int64($0) } ?? 0
    return isHEAD || length <= Int64(Self.limit)
  }

  /// Counts bytes of the body; returns false once there are too many.
  mutating func accept(_ bytes: Int) -> Bool {
    count += min(bytes, Self.limit + 1)
    return count <= Self.limit && !isOver
  }

  /// Whether to stop waiting for the rest.
  var isOver: Bool { start.map { Clock.monotonicNanoseconds() - $0 > Self.patience } ?? false }
}
