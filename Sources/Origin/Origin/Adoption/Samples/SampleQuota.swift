import Values

/// How many error samples each address may still send in this minute.
struct SampleQuota {
  /// The most samples of an address in a minute. Of IPv6 it is the network of 64 bits that counts, which one device can have.
  static let perMinute = 30
  /// The most addresses that are told apart in a minute; samples of further ones are ignored.
  static let addresses = 16_384

  private struct Peer: Hashable {
    let isV6: Bool
    let bits: UInt64
  }

  private var minute: UInt64 = 0
  private var taken: [Peer: Int] = [:]

  /// Counts a sample.
  /// - Parameter now: monotonic nanoseconds.
  /// - Returns: false if it is one too many.
  mutating func take(from peer: IPAddress, now: UInt64) -> Bool {
    if now / 60_000_000_000 != minute { (minute, taken) = (now / 60_000_000_000, [:]) }
    let peer = peer.unmapped
    let key = Peer(isV6: peer.isV6, bits: peer.isV6 ? peer.high : peer.low)
    guard let count = taken[key] else {
      guard taken.count < Self.addresses else { return false }
      taken[key] = 1
      return true
    }
    guard count < Self.perMinute else { return false }
    taken[key] = count + 1
    return true
  }
}
