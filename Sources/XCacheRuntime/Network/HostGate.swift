import System

/// Lets so many requests to one server be under way; the others wait for their turn, in order.
final class HostGate: Sendable {
  private struct Host {
    var running = 0
    /// In the order in which they came, by their numbers.
    var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
  }

  private struct State {
    var hosts: [String: Host] = [:]
    var last: UInt64 = 0
    /// Those who were cancelled before they began to wait.
    var gone: Set<UInt64> = []
  }

  private let width: Int
  private let state = Locked(State())

  init(width: Int) { self.width = width }

  /// Comes back when it is the caller's turn; then `leave` is called once. False, and no turn, where the calling task is cancelled
  /// before.
  func enter(_ host: String) async -> Bool {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    // Those who were cancelled when they had their turn already.
    defer { state.withLock { _ = $0.gone.remove(number) } }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let turn = state.withLock { state -> Bool? in
          if state.gone.remove(number) != nil { return false }
          guard state.hosts[host, default: Host()].running >= width else {
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
        guard let place = state.hosts[host]?.waiting.firstIndex(where: { $0.number == number }) else {
          state.gone.insert(number)
          return nil
        }
        return state.hosts[host]?.waiting.remove(at: place).continuation
      }
      waiting?.resume(returning: false)
    }
  }

  /// Hands the place on.
  func leave(_ host: String) {
    let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard var own = state.hosts[host] else { return nil }
      defer { state.hosts[host] = own.running == 0 ? nil : own }
      if own.waiting.isEmpty {
        own.running -= 1
        return nil
      }
      return own.waiting.removeFirst().continuation
    }
    next?.resume(returning: true)
  }
}
