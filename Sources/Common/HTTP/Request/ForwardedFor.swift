import Backports
import Values

/// Determines a client's address behind trusted proxies.
package enum ForwardedFor {
  /// Returns the client's address according to the proxies, or the peer's if that isn't a trusted proxy.
  package static func client(of request: borrowing Request, trusted: [AddressRange]) -> IPAddress {
    guard request.head.isRepeated(.xForwardedFor) else {
      return client(of: request.peer, request.field(.xForwardedFor), trusted: trusted)
    }
    // Lines with the same name form one list: the last line is the one that the nearest proxy added.
    var address = request.peer
    var left = request.fieldLines.count(of: .xForwardedFor)
    while left > 0, trusted.contains(where: { $0.contains(address) }) {
      left -= 1
      var lines = request.fieldLines
      for _ in 0..<left { _ = lines.next(.xForwardedFor) }
      address = client(of: address, lines.next(.xForwardedFor), trusted: trusted)
    }
    return address
  }

  /// Returns the first address, from the right end of X-Forwarded-For, that isn't a trusted proxy.
  ///
  /// Each proxy appends the address it saw, so an untrusted one could have forged everything to its left.
  /// Returns `peer` if the field is missing, and stops at anything that isn't an address.
  package static func client(of peer: IPAddress, _ field: RawSpan?, trusted: [AddressRange]) -> IPAddress {
    guard let field else { return peer }
    var client = peer
    var end = field.byteCount
    while end > 0, trusted.contains(where: { $0.contains(client) }) {
      var start = end
      while start > 0, field[start &- 1] != 0x2C { start &-= 1 }
      guard let address = address(field.extracting(start..<end).trimmed) else { return client }
      client = address
      end = max(start &- 1, 0)
    }
    return client
  }

  /// Parses an address with or without a port, and an IPv6 one with or without brackets.
  private static func address(_ text: RawSpan) -> IPAddress? {
    if text.starts(with: "["), let end = text.firstIndex(of: 0x5D) {
      return IPAddress(text.extracting(1..<end))?.unmapped
    }
    if let colon = text.firstIndex(of: 0x3A), text.firstIndex(of: 0x3A, from: colon &+ 1) == nil {
      return IPAddress(text.extracting(0..<colon))
    }
    return IPAddress(text)?.unmapped
  }
}

/// A block of addresses in CIDR form, such as `10.0.0.0/8` or `2001:db8::/32`.
package struct AddressRange: Sendable, Equatable {
  private let base: IPAddress
  private let highMask: UInt64
  private let lowMask: UInt64

  /// Parses a block; a single address is a block of one. nil for anything else.
  package init?(_ text: String) {
    let bytes = [UInt8](text.utf8)
    let span = bytes.span.bytes
    let slash = span.firstIndex(of: 0x2F)
    guard let address = IPAddress(span.extracting(0..<(slash ?? span.byteCount)))?.unmapped else {
      return nil
    }
    var bits: UInt64 = 128
    if let slash {
      guard let length = span.extracting((slash + 1)..<span.byteCount).decimal,
        length <= (address.isV6 ? 128 : 32)
      else { return nil }
      bits = address.isV6 ? length : length + 96
    }
    highMask = bits == 0 ? 0 : bits >= 64 ? .max : .max << (64 - bits)
    lowMask = bits <= 64 ? 0 : .max << (128 - bits)
    base = IPAddress(high: address.high & highMask, low: address.low & lowMask)
  }

  /// Whether the block contains an address.
  package func contains(_ address: IPAddress) -> Bool {
    address.high & highMask == base.high && address.low & lowMask == base.low
  }
}
