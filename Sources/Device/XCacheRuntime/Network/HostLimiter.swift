import System

/// Limits how many requests to one server run at a time, to a higher number if they share a connection; the others wait for
/// their turn, in order.
final class HostLimiter: Sendable {
  private struct Host {
    var running = 0
    /// By number, in order of arrival.
    var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
  }

  private struct State {
    var hosts: [String: Host] = [:]
    var last: UInt64 = 0
    /// Requests that were cancelled before they started to wait.
    var cancelled: Set<UInt64> = []
    /// Servers whose requests share a connection.
    var multiplexed: Set<String> = []
  }

  private let width: Int
  /// The most requests that share a connection; servers allow some 100 (RFC 9113 §6.5.2).
  private static let sharedWidth = 100
  /// The most servers that are remembered; beyond that all are forgotten, and each gets `width` again until it is known.
  private static let limit = 1_000
  private let state = Locked(State())

  init(width: Int) { self.width = width }

  /// The number of requests that wait for their turn.
  var waiting: Int { state.withLock { $0.hosts.values.reduce(0) { $0 + $1.waiting.count } } }

  /// Waits for the caller's turn; call `leave` exactly once afterwards. Returns false, without a turn, if the calling task
  /// is cancelled before.
  func enter(_ host: String) async -> Bool {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    // A request may be cancelled when it already has its turn.
    defer { state.withLock { _ = $0.cancelled.remove(number) } }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let turn = state.withLock { state -> Bool? in
          if state.cancelled.remove(number) != nil { return false }
          guard state.hosts[host, default: Host()].running >= width(of: host, state) else {
            state.hosts[host, default: Host()].running += 1
            return true
          }
          state.hosts[host]?.waiting.append((number, continuation))
          return nil
        }
        if let turn { continuation.resume(returning: turn) }
      }
    } onCancel: {
      let waiting = state.withLock { state -> CheckedContinuation<Bool, Never>? in
        guard let index = state.hosts[host]?.waiting.firstIndex(where: { $0.number == number }) else {
          state.cancelled.insert(number)
          return nil
        }
        return state.hosts[host]?.waiting.remove(at: index).continuation
      }
      waiting?.resume(returning: false)
    }
  }

  private func width(of host: String, _ state: State) -> Int {
    state.multiplexed.contains(host) ? max(width, Self.sharedWidth) : width
  }

  /// Gives the turn to the next request.
  func leave(_ host: String) {
    change(host) { state in state.hosts[host]?.running -= 1 }
  }

  /// Whether a server is known to take several requests on one connection.
  func isMultiplexed(_ host: String) -> Bool { state.withLock { $0.multiplexed.contains(host) } }

  /// Records whether a server takes several requests on one connection.
  func setMultiplexed(_ host: String, _ value: Bool) {
    change(host) { state in
      if value {
        if state.multiplexed.count >= Self.limit { state.multiplexed = [] }
        state.multiplexed.insert(host)
      } else {
        state.multiplexed.remove(host)
      }
    }
  }

  /// Applies a change, then resumes the requests whose turn it is.
  private func change(_ host: String, _ change: (inout State) -> Void) {
    let next = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
      change(&state)
      guard var own = state.hosts[host] else { return [] }
      let free = max(0, min(width(of: host, state) - own.running, own.waiting.count))
      let next = own.waiting.prefix(free).map(\.continuation)
      own.waiting.removeFirst(free)
      own.running += free
      state.hosts[host] = own.running == 0 ? nil : own
      return next
    }
    for continuation in next { continuation.resume(returning: true) }
  }
}
