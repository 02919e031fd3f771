import System
import Values

/// The network that a report came from: the first 24 bits of an IPv4 address, or the first 48 of an IPv6 one. Nobody has to have
/// more than one address to have all of these.
package struct NetworkPrefix: Hashable, Sendable {
  private let bits: UInt64

  /// Creates the prefix of an address.
  package init(_ address: IPAddress) {
    let address = address.unmapped
    // An IPv4 prefix has the highest bit, which no 48 bits have.
    bits = address.isV6 ? address.high >> 16 : 1 << 63 | (address.low & 0xFFFF_FFFF) >> 8
  }

  /// Stands for all networks that aren't told apart.
  static let others: UInt64 = 0

  /// What is stored instead of the prefix. With the key gone, nothing tells which prefix it was.
  func digest(_ key: [UInt8]) -> UInt64 {
    let message = (0..<8).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
    let digest = HMAC.sha256(key, message).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return digest == Self.others ? 1 : digest
  }
}
