/// A block of addresses in CIDR form, such as `10.0.0.0/8` or `2001:db8::/32`.
package struct AddressRange: Sendable, Equatable {
  private let base: PeerAddress
  private let highMask: UInt64
  private let lowMask: UInt64

  /// The block that `text` spells; a lone address is a block of one. Nil for anything else.
  package init?(_ text: String) {
    let bytes = [UInt8](text.utf8)
    let span = bytes.span.bytes
    let slash = span.firstIndex(of: 0x2F)
    guard let address = PeerAddress(span.extracting(0..<(slash ?? span.byteCount))) else { return nil }
    var bits: UInt64 = 128
    if let slash {
      guard let length = span.extracting((slash + 1)..<span.byteCount).decimal,
        length <= (address.isIPv4 ? 32 : 128)
      else { return nil }
      bits = address.isIPv4 ? length + 96 : length
    }
    highMask = bits == 0 ? 0 : bits >= 64 ? .max : .max << (64 - bits)
    lowMask = bits <= 64 ? 0 : .max << (128 - bits)
    base = PeerAddress(high: address.high & highMask, low: address.low & lowMask)
  }

  package func contains(_ address: PeerAddress) -> Bool {
    address.high & highMask == base.high && address.low & lowMask == base.low
  }
}
