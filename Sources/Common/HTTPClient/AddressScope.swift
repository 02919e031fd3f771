/// Who can be reached at an address. What others name must not lead a server into its own network.
package enum AddressScope: Hashable, Sendable {
  /// Anyone on the internet.
  case global
  /// A host of this network: private (RFC 1918, RFC 4193), loopback, or behind a provider's NAT (RFC 6598).
  case network
  /// Nobody to send to: unspecified, link-local (where clouds keep their machines' credentials), multicast, reserved, or an
  /// IPv4 address in the form of an IPv6 one.
  case special

  /// The scope of an address of 4 or 16 bytes, in network order (the special-purpose registries of RFC 6890).
  package init(_ bytes: [UInt8]) {
    switch bytes.count {
    case 4: self = Self.v4(bytes)
    case 16: self = Self.v6(bytes)
    default: self = .special
    }
  }

  private static func v4(_ a: [UInt8]) -> AddressScope {
    switch (a[0], a[1]) {
    case (10, _), (127, _), (172, 16...31), (192, 168), (100, 64...127): .network
    // "This network", link-local, benchmarking, multicast and above.
    case (0, _), (169, 254), (198, 18...19), (224..., _): .special
    // Protocol assignments and documentation.
    case (192, 0) where a[2] == 0 || a[2] == 2: .special
    case (198, 51) where a[2] == 100: .special
    case (203, 0) where a[2] == 113: .special
    // Relays of 6to4, which lead on to other IPv4 addresses.
    case (192, 88) where a[2] == 99: .special
    default: .global
    }
  }

  private static func v6(_ a: [UInt8]) -> AddressScope {
    if a == [UInt8](repeating: 0, count: 15) + [1] { return .network }
    // fc00::/7
    if a[0] & 0xFE == 0xFC { return .network }
    // 64:ff9b::/96, an IPv4 address behind a translator (RFC 6052).
    if a.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return v4(Array(a[12...])) }
    // Global unicast is 2000::/3; within it are Teredo and other protocols (2001::/23), documentation, and 6to4.
    guard a[0] & 0xE0 == 0x20 else { return .special }
    if a[0] == 0x20, a[1] == 0x01, a[2] < 2 || (a[2] == 0x0D && a[3] == 0xB8) { return .special }
    if a[0] == 0x20, a[1] == 0x02 { return .special }
    // 3fff::/20, documentation (RFC 9637).
    if a[0] == 0x3F, a[1] == 0xFF, a[2] < 0x10 { return .special }
    return .global
  }
}
