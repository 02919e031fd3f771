import System

/// Lets so many requests to one server be under way; the others wait for their turn, in order.
final class HostGate: Sendable {
  private struct Host {
    var running = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let width: Int
  private let hosts = Locked<[String: Host]>([:])

  init(width: Int) { self.width = width }

  /// Comes back when it is the caller's turn; then `leave` is called once.
  func enter(_ host: String) async {
    await withCheckedContinuation { continuation in
      let goes = hosts.withLock { hosts -> Bool in
        guard hosts[host, default: Host()].running >= width else {
          hosts[host, default: Host()].running += 1
          return true
        }
        hosts[host]?.waiting.append(continuation)
        return false
      }
      if goes { continuation.resume() }
    }
  }

  /// Hands the place on.
  func leave(_ host: String) {
    let next = hosts.withLock { hosts -> CheckedContinuation<Void, Never>? in
      guard var own = hosts[host] else { return nil }
      defer { hosts[host] = own.running == 0 ? nil : own }
      if own.waiting.isEmpty {
        own.running -= 1
        return nil
      }
      return own.waiting.removeFirst()
    }
    next?.resume()
  }
}
