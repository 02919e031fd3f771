/// An ECDSA signature on P-256 in DER: SEQUENCE { INTEGER r, INTEGER s } (RFC 3279 §2.2.3).
///
/// Libraries differ in what they forgive, so only one form of each pair of numbers is read: DER's own.
package struct P256Signature: Hashable, Sendable {
  /// The maximum length, in bytes.
  package static let limit = 72
  /// The length of a number, in bytes.
  static let numberCount = 32

  /// The signature in DER.
  package let der: [UInt8]
  /// r and s as 32 big-endian bytes each, which is the form that WebCrypto verifies.
  package let raw: [UInt8]

  /// Reads a signature; nil unless it is DER, and both numbers are positive and below 2^256.
  package init?(der: [UInt8]) {
    // A sequence of 70 bytes at most has its length in one byte.
    guard (8...Self.limit).contains(der.count), der[0] == 0x30, Int(der[1]) == der.count - 2 else {
      return nil
    }
    var rest = der[2...]
    guard let r = Self.number(&rest), let s = Self.number(&rest), rest.isEmpty else { return nil }
    self.der = der
    raw = r + s
  }

  /// Takes an INTEGER from the front.
  private static func number(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    guard rest.popFirst() == 0x02, let length = rest.popFirst(), (1...numberCount + 1).contains(Int(length)),
      rest.count >= Int(length)
    else { return nil }
    var bytes = rest.prefix(Int(length))
    rest = rest.dropFirst(Int(length))
    // X.690 §8.3.2: the first nine bits are neither all ones nor all zeros; and a set first bit is a minus.
    guard let first = bytes.first, first < 0x80 else { return nil }
    if first == 0 {
      bytes = bytes.dropFirst()
      guard let next = bytes.first, next >= 0x80 else { return nil }
    }
    guard bytes.count <= numberCount else { return nil }
    return Array(repeating: 0, count: numberCount - bytes.count) + bytes
  }
}
