import System

/// Notices that the system slept for so long that connections which were kept are of no use: servers have closed them, and the address
/// translators in between have forgotten them without a word.
struct SleepWatch {
  private let slept: @Sendable () -> Int64
  private var last: Int64

  /// Milliseconds of sleep that connections survive.
  private static let limit: Int64 = 20_000

  /// - Parameter slept: milliseconds for which the system slept so far.
  init(_ slept: @escaping @Sendable () -> Int64) {
    self.slept = slept
    last = slept()
  }

  /// Whether it slept since this was asked the last time.
  mutating func hasSlept() -> Bool {
    let now = slept()
    defer { last = now }
    return now - last >= Self.limit
  }
}
