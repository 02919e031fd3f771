/// Decides when each of a host's addresses is tried, and when one is given up (RFC 8305 §5).
///
/// It does no I/O and knows no clock; moments are in nanoseconds.
struct ConnectionRace {
  enum Step: Equatable {
    /// An attempt begins at the address in this place.
    case start(Int)
    /// The attempt in this place took too long.
    case giveUp(Int)
    /// Nothing is to be done until then, unless an attempt ends.
    case wait(until: UInt64)
    /// No address is left, and no attempt.
    case over
  }

  private let count: Int
  private let limit: UInt64
  private let delay: UInt64
  private var next = 0
  /// Attempts under way, and when each is given up.
  private var running: [Int: UInt64] = [:]
  /// When the next attempt begins, whatever the others do.
  private var due: UInt64 = 0

  /// "Connection Attempt Delay (Section 5): The time to wait between connection attempts … Recommended to be 250 ms" (RFC 8305 §8).
  static let delay: UInt64 = 250_000_000

  /// - Parameters:
  ///   - count: addresses, best first.
  ///   - limit: how long one attempt may take.
  ///   - delay: between two attempts of which none failed.
  init(count: Int, limit: UInt64, delay: UInt64 = ConnectionRace.delay) {
    self.count = count
    self.limit = limit
    self.delay = delay
  }

  /// What is to be done now; asked until it says to wait, or that it is over.
  mutating func step(at now: UInt64) -> Step {
    if let late = running.filter({ $0.value <= now }).keys.min() {
      failed(late)
      return .giveUp(late)
    }
    if next < count, running.isEmpty || now >= due {
      defer { next += 1 }
      running[next] = now + limit
      due = now + delay
      return .start(next)
    }
    guard let end = running.values.min() else { return .over }
    return .wait(until: next < count ? min(end, due) : end)
  }

  /// An attempt failed: the next one need not wait. False where it was given up before.
  @discardableResult mutating func failed(_ place: Int) -> Bool {
    guard running.removeValue(forKey: place) != nil else { return false }
    due = 0
    return true
  }
}
