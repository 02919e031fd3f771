import Manifests

/// An IPv4 or IPv6 address.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
  /// 4 or 16 bytes, in network order.
  public let bytes: [UInt8]

  /// Creates an address from 4 or 16 bytes in network order; nil for any other count.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = Array(bytes)
  }

  /// Parses `192.0.2.1`, four decimal numbers without leading zeros, or an IPv6 address, with or without brackets.
  public init?(_ text: String) {
    let text = Array(text.utf8)
    if let v4 = Self.v4(text) {
      bytes = v4
      return
    }
    let isBracketed = text.first == UInt8(ascii: "[") && text.last == UInt8(ascii: "]") && text.count > 2
    guard let v6 = IPv6Address(isBracketed ? text[1..<text.count - 1] : text[...]) else { return nil }
    bytes = v6.pieces.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
  }

  private static func v4(_ text: [UInt8]) -> [UInt8]? {
    guard text.count <= 15 else { return nil }
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
      guard (1...3).contains(part.count), part.allSatisfy({ (0x30...0x39).contains($0) }),
        part.count == 1 || part.first != UInt8(ascii: "0"),
        let number = UInt8(String(decoding: part, as: UTF8.self))
      else { return nil }
      bytes.append(number)
    }
    return bytes
  }

  /// Whether it is an IPv6 address.
  public var isV6: Bool { bytes.count == 16 }

  /// The usual text form, without brackets (RFC 5952 for IPv6).
  public var text: String { isV6 ? String(authority.dropFirst().dropLast()) : authority }

  /// The form used in URLs: an IPv6 address in brackets.
  public var authority: String {
    guard isV6 else { return bytes.map { "\($0)" }.joined(separator: ".") }
    let pieces = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
    return IPv6Address(pieces: pieces).text
  }

  /// The usual text form.
  public var description: String { text }

  /// Returns the addresses in order, but with the families alternating (RFC 8305 §4).
  package static func inTurns(_ addresses: [IPAddress], beginningWithV6: Bool) -> [IPAddress] {
    let own = addresses.filter { $0.isV6 == beginningWithV6 }
    let other = addresses.filter { $0.isV6 != beginningWithV6 }
    return (0..<max(own.count, other.count)).flatMap { place in
      own.dropFirst(place).prefix(1) + other.dropFirst(place).prefix(1)
    }
  }

  /// Whether it can be the address of a host: neither unspecified nor multicast.
  var isOfOneHost: Bool {
    if isV6 { return bytes[0] != 0xFF && bytes.contains { $0 != 0 } }
    return bytes[0] != 0 && bytes[0] < 224
  }
}
