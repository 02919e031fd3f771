import System

/// Keeps the memory of all documents that are received or carried out at once under a limit, over all connections.
///
/// What counts are bytes that arrived: announcing them takes nothing from others. A token has a quarter of the limit. A
/// document that is larger, as a first release may be, goes beside the budget; there is one of those at a time. While
/// that one is another token's, a single document may take what is left of the budget, and half of it while it is the
/// same token's.
final class BodyBudget: Sendable {
  /// Bytes that every document may have, whatever others hold: a small call doesn't wait for large ones.
  static let free = 65_536
  /// How long a document that is larger may take to arrive, in nanoseconds: nobody keeps room by sending slowly.
  static let longest: UInt64 = 300_000_000_000

  enum Verdict {
    case granted
    /// Others have taken the room.
    case full
    /// It has been arriving for too long.
    case late
  }

  fileprivate struct State {
    var used = 0
    /// Of that, by token.
    var parts: [String: Int] = [:]
    /// The token whose document goes beside the budget.
    var extra: String?
  }

  private let limit: Int
  private let clock: @Sendable () -> UInt64
  private let state = Locked(State())

  /// - Parameters:
  ///   - limit: bytes.
  ///   - clock: nanoseconds that never go back.
  init(limit: Int, clock: @escaping @Sendable () -> UInt64 = Clock.monotonicNanoseconds) {
    self.limit = limit
    self.clock = clock
  }

  /// The part of the budget that a token's document takes, which it gives back when it is let go of.
  func share(of token: String) -> Share { Share(self, token) }

  final class Share {
    private let budget: BodyBudget
    private let token: String
    private let begin: UInt64
    private var held = 0
    private var isExtra = false

    private enum Place { case within, extra }

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

    /// Makes room for so many bytes in all.
    func hold(_ count: Int) -> Verdict {
      guard count > max(held, BodyBudget.free) else { return .granted }
      guard budget.clock() &- begin <= BodyBudget.longest else { return .late }
      if isExtra { return .granted }
      let place = budget.state.withLock { [token, held, limit = budget.limit] state -> Place? in
        let (more, own) = (count - held, state.parts[token] ?? 0)
        let fits = state.used + more <= limit
        let most = state.extra == nil ? limit / 4 : state.extra == token ? limit / 2 : limit
        if fits, own + more <= limit / 4 || own == held && own + more <= most {
          state.change(token, by: more)
          return .within
        }
        guard state.extra == nil else { return nil }
        state.extra = token
        state.change(token, by: -held)
        return .extra
      }
      guard let place else { return .full }
      held = place == .within ? count : 0
      isExtra = place == .extra
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
