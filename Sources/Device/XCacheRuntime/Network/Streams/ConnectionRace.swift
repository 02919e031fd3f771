/// Decides when each address of a host is tried, and when an attempt is given up (RFC 8305 §5).
///
/// It does no I/O and reads no clock; all times are in nanoseconds.
struct ConnectionRace {
  enum Step: Equatable {
    /// Start an attempt at the address with this index.
    case start(Int)
    /// Give up the attempt with this index, which took too long.
    case giveUp(Int)
    /// Do nothing until then, unless an attempt ends.
    case wait(until: UInt64)
    /// No address and no attempt is left.
    case over
  }

  private let count: Int
  private let limit: UInt64
  private let delay: UInt64
  private var next = 0
  /// The running attempts, and when each is given up.
  private var running: [Int: UInt64] = [:]
  /// When the next attempt starts, whatever the others do.
  private var due: UInt64 = 0

  /// "Connection Attempt Delay (Section 5): The time to wait between connection attempts … Recommended to be 250 ms" (RFC 8305 §8).
  static let delay: UInt64 = 250_000_000

  /// - Parameters:
  ///   - count: the number of addresses, best first.
  ///   - limit: how long one attempt may take.
  ///   - delay: the time between two attempts while none has failed.
  init(count: Int, limit: UInt64, delay: UInt64 = ConnectionRace.delay) {
    self.count = count
    self.limit = limit
    self.delay = delay
  }

  /// Returns what to do now; call it until it returns `wait` or `over`.
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

  /// Records a failed attempt, so that the next one needn't wait. Returns false if it was given up before.
  @discardableResult mutating func failed(_ index: Int) -> Bool {
    guard running.removeValue(forKey: index) != nil else { return false }
    due = 0
    return true
  }
}
