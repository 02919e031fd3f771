/// An IPv4 or IPv6 address.
public struct IPAddress: Hashable, Sendable {
  /// The first 64 of 128 bits; 0 for IPv4.
  package let high: UInt64
  /// The last 64 bits; an IPv4 address is mapped as `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2).
  package let low: UInt64
  /// Whether it is an IPv6 address, among them those that an IPv4 address can be mapped to.
  public let isV6: Bool

  /// Creates an IPv6 address from its bits.
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
    isV6 = true
  }

  /// Creates an IPv4 address from its four bytes, the first byte highest.
  package init(v4 address: UInt32) {
    high = 0
    low = Self.mapped | UInt64(address)
    isV6 = false
  }

  private static let mapped: UInt64 = 0xFFFF_0000_0000

  /// Creates an address from 4 or 16 bytes in network order; nil for any other count.
  public init?(bytes: some Collection<UInt8>) {
    switch bytes.count {
    case 4: self.init(v4: bytes.reduce(0) { $0 << 8 | UInt32($1) })
    case 16:
      self.init(
        high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
        low: bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) })
    default: return nil
    }
  }

  /// 4 or 16 bytes, in network order.
  public var bytes: [UInt8] {
    let all = [high, low].flatMap { word in (0..<8).map { UInt8(word >> (56 - 8 * $0) & 255) } }
    return isV6 ? all : Array(all.suffix(4))
  }

  /// The IPv4 address if this is an IPv6 address that it is mapped to, as sockets for both families give it; else this one.
  package var unmapped: IPAddress {
    isV6 && high == 0 && low >> 32 == 0xFFFF ? IPAddress(v4: UInt32(truncatingIfNeeded: low)) : self
  }

  /// `::`, for when no address is known, as on a Unix socket.
  package static let unknown = IPAddress(high: 0, low: 0)
  /// 127.0.0.1.
  package static let loopback = IPAddress(v4: 0x7F00_0001)

  /// Whether it is the machine itself: `::1`, or 127.0.0.0/8 (RFC 1122 §3.2.1.3).
  package var isLoopback: Bool {
    isV6 ? high == 0 && low == 1 : low >> 24 & 0xFF == 127
  }

  /// Whether it can be the address of a host: neither unspecified nor multicast.
  package var isOfOneHost: Bool {
    if isV6 { return high >> 56 != 0xFF && (high != 0 || low != 0) }
    let first = low >> 24 & 0xFF
    return first != 0 && first < 224
  }

  /// The address that rate limits count by: an IPv4 address, or the 64-bit network prefix of an IPv6 one, since its
  /// holder has all addresses in it.
  package var holder: IPAddress { isV6 && high != 0 ? IPAddress(high: high, low: 0) : self }

  /// Returns the addresses in order, but with the families alternating (RFC 8305 §4).
  package static func inTurns(_ addresses: [IPAddress], beginningWithV6: Bool) -> [IPAddress] {
    let own = addresses.filter { $0.isV6 == beginningWithV6 }
    let other = addresses.filter { $0.isV6 != beginningWithV6 }
    return (0..<max(own.count, other.count)).flatMap { place in
      own.dropFirst(place).prefix(1) + other.dropFirst(place).prefix(1)
    }
  }
}
