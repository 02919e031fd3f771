import Backports

/// An IP address as 128 bits; IPv4 is mapped as `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2).
package struct PeerAddress: Sendable, Hashable {
  /// The first 64 bits.
  package let high: UInt64
  /// The last 64 bits.
  package let low: UInt64

  /// Creates an address from its bits.
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Creates an IPv4 address from its four bytes, first byte highest.
  package init(ipv4 address: UInt32) {
    self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(address))
  }

  /// The address that rate limits count by: an IPv4 address, or the 64-bit network prefix of an IPv6 one, since its
  /// holder has all addresses in it.
  package var holder: PeerAddress { high == 0 ? self : PeerAddress(high: high, low: 0) }

  /// The address when none is known, as on a Unix socket.
  package static let unknown = PeerAddress(high: 0, low: 0)

  /// Whether it is a mapped IPv4 address.
  package var isIPv4: Bool { high == 0 && low &>> 32 == 0xFFFF }

  /// Whether it is in 127.0.0.0/8 or ::1.
  package var isLoopback: Bool {
    isIPv4 ? low &>> 24 & 0xFF == 127 : high == 0 && low == 1
  }
}

extension PeerAddress: CustomStringConvertible {
  /// The address in dotted form for IPv4, as in RFC 5952 for IPv6.
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

  /// Returns the first of the longest runs of two or more zero groups, which `::` replaces.
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

extension PeerAddress {
  /// Parses an address: `192.0.2.1` or `2001:db8::1`; nil for anything else.
  package init?(_ text: RawSpan) {
    if text.firstIndex(of: 0x3A) == nil {
      guard let address = PeerAddress.ipv4(text) else { return nil }
      self.init(ipv4: address)
    } else {
      guard let address = PeerAddress.ipv6(text) else { return nil }
      self = address
    }
  }

  /// Parses an address; nil for anything else.
  package init?(_ text: String) {
    let bytes = [UInt8](text.utf8)
    self.init(bytes.span.bytes)
  }

  private static func ipv4(_ text: RawSpan) -> UInt32? {
    var address: UInt32 = 0
    var start = 0
    for part in 0..<4 {
      let end = part == 3 ? text.byteCount : text.firstIndex(of: 0x2E, from: start)
      guard let end, end > start, end &- start <= 3,
        let value = text.extracting(start..<end).decimal, value <= 255
      else { return nil }
      address = address << 8 | UInt32(value)
      start = end &+ 1
    }
    return address
  }

  private static func ipv6(_ text: RawSpan) -> PeerAddress? {
    #if canImport(Darwin)
      // InlineArray needs iOS 26.
      var groups = [UInt16](repeating: 0, count: 8)
    #else
      var groups = InlineArray<8, UInt16>(repeating: 0)
    #endif
    var count = 0
    var gap: Int?
    var index = 0
    if text.starts(with: "::") {
      gap = 0
      index = 2
    }
    while index < text.byteCount {
      let end = text.firstIndex(of: 0x3A, from: index) ?? text.byteCount
      let part = text.extracting(index..<end)
      if end == text.byteCount, count <= 6, let tail = ipv4(part) {
        groups[count] = UInt16(truncatingIfNeeded: tail >> 16)
        groups[count &+ 1] = UInt16(truncatingIfNeeded: tail)
        count &+= 2
        index = end
        break
      }
      guard count < 8, let group = hexGroup(part) else { return nil }
      groups[count] = group
      count &+= 1
      index = end
      guard index < text.byteCount else { break }
      index &+= 1
      if index == text.byteCount { return nil }
      if text[index] == 0x3A {
        guard gap == nil else { return nil }
        gap = count
        index &+= 1
      }
    }
    guard gap == nil ? count == 8 : count < 8 else { return nil }
    return joined(groups.span, count, gap ?? 8)
  }

  private static func hexGroup(_ part: RawSpan) -> UInt16? {
    guard (1...4).contains(part.byteCount) else { return nil }
    var value: UInt16 = 0
    for index in 0..<part.byteCount {
      guard let digit = part[index].hexadecimal else { return nil }
      value = value << 4 | UInt16(digit)
    }
    return value
  }

  /// Joins the groups: those before the gap at the front, the rest at the back.
  private static func joined(_ groups: Span<UInt16>, _ count: Int, _ gap: Int) -> PeerAddress {
    var high: UInt64 = 0
    var low: UInt64 = 0
    for index in 0..<count {
      let place = index < gap ? index : 8 &- count &+ index
      let shift = UInt64(48 &- 16 &* (place & 3))
      if place < 4 {
        high |= UInt64(groups[index]) &<< shift
      } else {
        low |= UInt64(groups[index]) &<< shift
      }
    }
    return PeerAddress(high: high, low: low)
  }
}
