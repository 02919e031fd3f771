import System

/// Limits the memory of all documents being received or processed, across all connections.
///
/// Only bytes that have arrived count: announcing them takes nothing from others. A token gets a quarter of the limit. A
/// larger document, such as a first release, goes outside the budget; there is one of those at a time. While it is another
/// token's, a single document may take what is left of the budget; while it is the same token's, half of the budget.
final class BodyBudget: Sendable {
  /// The bytes that every document may have, whatever others hold: a small call doesn't wait for large ones.
  static let free = 65_536
  /// How long a larger document may take to arrive, in nanoseconds: slow senders must not hold memory.
  static let longest: UInt64 = 300_000_000_000

  enum Verdict {
    case granted
    /// Others hold the memory.
    case full
    /// The document has been arriving for too long.
    case late
  }

  fileprivate struct State {
    var used = 0
    /// Bytes in use by token.
    var parts: [String: Int] = [:]
    /// The token whose document is outside the budget.
    var extra: String?
  }

  private let limit: Int
  private let clock: @Sendable () -> UInt64
  private let state = Locked(State())

  /// - Parameters:
  ///   - limit: in bytes.
  ///   - clock: returns monotonic nanoseconds.
  init(limit: Int, clock: @escaping @Sendable () -> UInt64 = Clock.monotonicNanoseconds) {
    self.limit = limit
    self.clock = clock
  }

  /// Returns a share of the budget for a token's document; it is given back when deallocated.
  func share(of token: String) -> Share { Share(self, token) }

  final class Share {
    private let budget: BodyBudget
    private let token: String
    private let begin: UInt64
    private var held = 0
    private var isExtra = false

    private enum Grant { case within, extra }

    fileprivate init(_ budget: BodyBudget, _ token: String) {
      self.budget = budget
      self.token = token
      begin = budget.clock()
    }

    deinit {
      budget.state.withLock { [token, held, isExtra] state in
        if isExtra { state.extra = nil } else { state.change(token, by: -held) }
      }
    }

    /// Reserves memory for `count` bytes in total.
    func hold(_ count: Int) -> Verdict {
      guard count > max(held, BodyBudget.free) else { return .granted }
      guard budget.clock() &- begin <= BodyBudget.longest else { return .late }
      if isExtra { return .granted }
      let grant = budget.state.withLock { [token, held, limit = budget.limit] state -> Grant? in
        let (more, own) = (count - held, state.parts[token] ?? 0)
        let fits = state.used + more <= limit
        let maxHeld = state.extra == nil ? limit / 4 : state.extra == token ? limit / 2 : limit
        if fits, own + more <= limit / 4 || own == held && own + more <= maxHeld {
          state.change(token, by: more)
          return .within
        }
        guard state.extra == nil else { return nil }
        state.extra = token
        state.change(token, by: -held)
        return .extra
      }
      guard let grant else { return .full }
      held = grant == .within ? count : 0
      isExtra = grant == .extra
      return .granted
    }
  }
}

extension BodyBudget.State {
  fileprivate mutating func change(_ token: String, by count: Int) {
    used += count
    let part = (parts[token] ?? 0) + count
    parts[token] = part == 0 ? nil : part
  }
}
