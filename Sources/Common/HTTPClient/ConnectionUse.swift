import System

/// Tracks which requests use which connection, which shows before any response whether one takes several at once.
final class ConnectionUse: Sendable {
  private struct Request: Sendable {
    let number: Int
    let onShared: @Sendable (Bool) -> Void
  }

  private struct State {
    var requests: [String: [Request]] = [:]
    var last = 0
  }

  private let state = Locked(State())

  /// Returns a number for a new request.
  func begin() -> Int {
    state.withLock { state in
      state.last += 1
      return state.last
    }
  }

  /// Records that a request is about to go out on the connection that `line` names.
  func sent(_ number: Int, on line: String, _ onShared: @escaping @Sendable (Bool) -> Void) {
    let sharing = state.withLock { state -> [Request] in
      Self.remove(number, &state)
      state.requests[line, default: []].append(Request(number: number, onShared: onShared))
      return state.requests[line] ?? []
    }
    if sharing.count > 1 { for request in sharing { request.onShared(true) } }
  }

  func end(_ number: Int) { state.withLock { Self.remove(number, &$0) } }

  private static func remove(_ number: Int, _ state: inout State) {
    for (line, requests) in state.requests where requests.contains(where: { $0.number == number }) {
      let rest = requests.filter { $0.number != number }
      state.requests[line] = rest.isEmpty ? nil : rest
    }
  }
}
