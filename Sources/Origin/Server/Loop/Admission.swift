import HTTP
import Synchronization
import System
import Values

/// Limits the number of connections, over all loops and per address.
final class Admission: Sendable {
  private let limit: Int
  private let limitPerAddress: Int
  private let trusted: [AddressRange]
  private let open = Atomic(0)
  private let byAddress = Locked<[IPAddress: Int]>([:])

  init(_ limits: ServerLimits, trusted: [AddressRange]) {
    limit = limits.connections
    limitPerAddress = limits.connectionsPerAddress
    self.trusted = trusted
  }

  enum Verdict {
    case admitted(counted: Bool)
    case refused
  }

  /// Admits or refuses a new connection. An admitted one must `leave`.
  func enter(_ peer: IPAddress) -> Verdict {
    guard open.wrappingAdd(1, ordering: .relaxed).newValue <= limit else {
      open.wrappingSubtract(1, ordering: .relaxed)
      return .refused
    }
    // Loopback and proxies stand for many clients.
    if peer.isLoopback || trusted.contains(where: { $0.contains(peer) }) { return .admitted(counted: false) }
    let fits = byAddress.withLock { counts in
      guard counts[peer.holder, default: 0] < limitPerAddress else { return false }
      counts[peer.holder, default: 0] += 1
      return true
    }
    if fits { return .admitted(counted: true) }
    open.wrappingSubtract(1, ordering: .relaxed)
    return .refused
  }

  func leave(_ peer: IPAddress, counted: Bool) {
    open.wrappingSubtract(1, ordering: .relaxed)
    guard counted else { return }
    byAddress.withLock { counts in
      let left = counts[peer.holder, default: 1] - 1
      counts[peer.holder] = left > 0 ? left : nil
    }
  }
}
