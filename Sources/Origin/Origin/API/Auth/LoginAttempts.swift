import HTTP
import Synchronization
import System
import Values

/// Slows down clients that send wrong tokens, per address; a valid token is always accepted.
///
/// The first few failures cost nothing. After each further one, wrong tokens from the address are refused with 429 for
/// twice as long as before, up to half a minute; after ten minutes without failures the address is forgotten.
final class LoginAttempts: Sendable {
  private let addresses = Locked<[IPAddress: Record]>([:])
  private let failures = Atomic<Int>(0)
  private let refusals = Atomic<Int>(0)
  private let now: @Sendable () -> Int64

  static let freeFailures = 10
  static let maxLockout: Int64 = 30_000
  private static let resetAfter: Int64 = 600_000
  private static let maxAddresses = 4096

  private struct Record {
    var failures = 0
    var last: Int64 = 0
    var lockedUntil: Int64 = 0
  }

  /// - Parameter now: returns monotonic milliseconds.
  init(now: @escaping @Sendable () -> Int64 = { Int64(Clock.monotonicNanoseconds() / 1_000_000) }) {
    self.now = now
  }

  /// Returns the whole seconds for which an address is locked out, or nil if it may try.
  func retryDelay(_ peer: IPAddress) -> Int? {
    let now = now()
    let until = addresses.withLock { $0[peer.holder]?.lockedUntil ?? 0 }
    guard until > now else { return nil }
    refusals.add(1, ordering: .relaxed)
    return Int((until - now + 999) / 1000)
  }

  func noteFailure(_ peer: IPAddress) {
    failures.add(1, ordering: .relaxed)
    let now = now()
    addresses.withLock { addresses in
      if addresses.count >= Self.maxAddresses, addresses[peer.holder] == nil {
        Self.makeRoom(&addresses, now)
      }
      var record = addresses[peer.holder] ?? Record()
      if now - record.last > Self.resetAfter { record = Record() }
      record.failures += 1
      record.last = now
      let over = record.failures - Self.freeFailures
      if over > 0 { record.lockedUntil = now + min(Self.maxLockout, 1000 << Int64(min(over - 1, 20))) }
      addresses[peer.holder] = record
    }
  }

  /// Forgets addresses without recent failures; if all have some, the one that failed longest ago.
  private static func makeRoom(_ addresses: inout [IPAddress: Record], _ now: Int64) {
    addresses = addresses.filter { now - $0.value.last <= resetAfter }
    guard addresses.count >= maxAddresses, let oldest = addresses.min(by: { $0.value.last < $1.value.last })
    else { return }
    addresses[oldest.key] = nil
  }

  /// The metrics in Prometheus text format.
  var metrics: String {
    """
    # HELP xcache_token_failures_total Requests with an invalid token.
    # TYPE xcache_token_failures_total counter
    xcache_token_failures_total \(failures.load(ordering: .relaxed))
    # HELP xcache_token_refusals_total Wrong tokens from addresses that failed too often.
    # TYPE xcache_token_refusals_total counter
    xcache_token_refusals_total \(refusals.load(ordering: .relaxed))

    """
  }
}
