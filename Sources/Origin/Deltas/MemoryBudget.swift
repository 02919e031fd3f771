import System

/// Keeps the memory of all deltas that are made at once under a limit; what is too large for it is made alone.
final class MemoryBudget: Sendable {
  private let limit: Int
  private let used = Monitor(0)

  /// - Parameter limit: bytes.
  init(limit: Int) { self.limit = limit }

  /// Runs `body` when `cost` bytes are free.
  func withRoom<Result>(for cost: Int, _ body: () -> Result) -> Result {
    let limit = self.limit
    used.waiting { used -> Void? in
      guard used == 0 || used + cost <= limit else { return nil }
      used += cost
      return ()
    }
    defer { used.broadcasting { $0 -= cost } }
    return body()
  }

  /// About what libzstd needs at its best level for a file and its base, besides both and the result.
  static func cost(target: Int, base: Int) -> Int {
    let input = target + base
    return 3 * input + min(96 << 20, 16 * input)
  }
}
