import System

/// Detects that the system slept for so long that idle connections are useless: servers have closed them, and NATs in
/// between have silently dropped them.
struct SleepWatch {
  private let slept: @Sendable () -> Int64
  private var last: Int64

  /// Milliseconds of sleep that connections survive.
  private static let limit: Int64 = 20_000

  /// - Parameter slept: returns the milliseconds that the system has slept so far.
  init(_ slept: @escaping @Sendable () -> Int64) {
    self.slept = slept
    last = slept()
  }

  /// Whether the system slept since the last call.
  mutating func hasSlept() -> Bool {
    let now = slept()
    defer { last = now }
    return now - last >= Self.limit
  }
}
