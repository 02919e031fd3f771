/// An IP address as 128 bits; IPv4 as `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2).
package struct PeerAddress: Sendable, Hashable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The IPv4 address whose four bytes are `address`, first byte highest.
  package init(ipv4 address: UInt32) {
    self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(address))
  }

  /// Whom to hold to a limit: an IPv4 address, or the 64 bits of an IPv6 one that name a network, for its holder has
  /// all addresses below.
  package var holder: PeerAddress { high == 0 ? self : PeerAddress(high: high, low: 0) }

  /// No address is known, as on a Unix socket.
  package static let unknown = PeerAddress(high: 0, low: 0)

  package var isIPv4: Bool { high == 0 && low &>> 32 == 0xFFFF }

  /// 127.0.0.0/8 or ::1.
  package var isLoopback: Bool {
    isIPv4 ? low &>> 24 & 0xFF == 127 : high == 0 && low == 1
  }
}

extension PeerAddress: CustomStringConvertible {
  /// Dotted for IPv4, RFC 5952 for IPv6.
  package var description: String {
    if isIPv4 {
      return [24, 16, 8, 0].map { String(low &>> UInt64($0) & 0xFF) }.joined(separator: ".")
    }
    let groups = (0..<8).map { group in
      UInt16(truncatingIfNeeded: (group < 4 ? high : low) &>> UInt64(48 - 16 * (group & 3)))
    }
    let text = groups.map { String($0, radix: 16) }
    guard let zeros = longestZeros(groups) else { return text.joined(separator: ":") }
    return text[..<zeros.lowerBound].joined(separator: ":") + "::"
      + text[zeros.upperBound...].joined(separator: ":")
  }

  /// The first longest run of two or more zero groups, which `::` stands for.
  private func longestZeros(_ groups: [UInt16]) -> Range<Int>? {
    var best = 0..<1
    var start: Int?
    for index in 0...8 {
      if index < 8, groups[index] == 0 {
        start = start ?? index
      } else if let from = start {
        if index - from > best.count { best = from..<index }
        start = nil
      }
    }
    return best.count > 1 ? best : nil
  }
}
