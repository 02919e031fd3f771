import HTTPDNS
import System

/// A certificate made on this device for one host, in DER (X.690), which Security can't generate: self-signed, not a
/// certificate authority, and valid only for a server of that host.
enum OwnCertificate {
  /// Returns the part that is signed, `TBSCertificate` (RFC 5280 §4.1).
  ///
  /// - Parameters:
  ///   - host: the DNS name or IP address.
  ///   - key: a point of P-256, 65 bytes in X9.63 form.
  ///   - serial: 1 to 20 random bytes.
  ///   - seconds: the period of validity, in seconds since 1970.
  static func body(host: String, key: [UInt8], serial: [UInt8], seconds: Range<Int64>) -> [UInt8] {
    let name = DER.sequence(
      DER.set(DER.sequence(DER.object([2, 5, 4, 3]), DER.tagged(0x0C, Array("xcache".utf8)))))
    let publicKey = DER.sequence(
      DER.sequence(DER.object([1, 2, 840, 10045, 2, 1]), DER.object([1, 2, 840, 10045, 3, 1, 7])),
      DER.tagged(0x03, [0] + key))
    let extensions = DER.sequence(
      // basicConstraints: not a certificate authority.
      extensions([2, 5, 29, 19], isCritical: true, DER.sequence()),
      // keyUsage: digitalSignature, the first bit.
      extensions([2, 5, 29, 15], isCritical: true, DER.tagged(0x03, [7, 0x80])),
      // extKeyUsage: serverAuth.
      extensions([2, 5, 29, 37], isCritical: false, DER.sequence(DER.object([1, 3, 6, 1, 5, 5, 7, 3, 1]))),
      extensions([2, 5, 29, 17], isCritical: false, DER.sequence(alternative(host))))
    return DER.sequence(
      DER.tagged(0xA0, DER.integer([2])), DER.integer(serial), signature, name,
      DER.sequence(DER.time(seconds.lowerBound), DER.time(seconds.upperBound)), name, publicKey,
      DER.tagged(0xA3, extensions))
  }

  /// Returns the certificate. `bytes` is the signature of `body` by ECDSA with SHA-256, in X9.62 form.
  static func whole(_ body: [UInt8], signature bytes: [UInt8]) -> [UInt8] {
    DER.sequence(body, signature, DER.tagged(0x03, [0] + bytes))
  }

  /// ecdsa-with-SHA256.
  private static let signature = DER.sequence(DER.object([1, 2, 840, 10045, 4, 3, 2]))

  private static func extensions(_ name: [UInt64], isCritical: Bool, _ value: [UInt8]) -> [UInt8] {
    DER.sequence(DER.object(name), isCritical ? DER.tagged(0x01, [0xFF]) : [], DER.tagged(0x04, value))
  }

  /// subjectAltName: a DNS name, or an address.
  private static func alternative(_ host: String) -> [UInt8] {
    let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    if let address = IPAddress(bare) { return DER.tagged(0x87, address.bytes) }
    return DER.tagged(0x82, Array(bare.utf8))
  }
}

/// Values in DER.
enum DER {
  static func tagged(_ tag: UInt8, _ value: [UInt8]) -> [UInt8] {
    if value.count < 0x80 { return [tag, UInt8(value.count)] + value }
    var length: [UInt8] = []
    var rest = value.count
    while rest > 0 {
      length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
      rest >>= 8
    }
    return [tag, 0x80 | UInt8(length.count)] + length + value
  }

  static func sequence(_ parts: [UInt8]...) -> [UInt8] { tagged(0x30, parts.flatMap { $0 }) }
  static func set(_ part: [UInt8]) -> [UInt8] { tagged(0x31, part) }

  /// Encodes a non-negative number from its bytes, most significant first.
  static func integer(_ bytes: [UInt8]) -> [UInt8] {
    var value = Array(bytes.drop { $0 == 0 })
    if value.first.map({ $0 >= 0x80 }) ?? true { value.insert(0, at: 0) }
    return tagged(0x02, value)
  }

  static func object(_ numbers: [UInt64]) -> [UInt8] {
    guard numbers.count >= 2 else { return tagged(0x06, []) }
    let all = [numbers[0] * 40 + numbers[1]] + numbers.dropFirst(2)
    return tagged(
      0x06,
      all.flatMap { number -> [UInt8] in
        var bytes = [UInt8(truncatingIfNeeded: number & 0x7F)]
        var rest = number >> 7
        while rest > 0 {
          bytes.insert(UInt8(truncatingIfNeeded: rest & 0x7F) | 0x80, at: 0)
          rest >>= 7
        }
        return bytes
      })
  }

  /// Encodes a time, up to 2049 as UTCTime, later as GeneralizedTime (RFC 5280 §4.1.2.5).
  static func time(_ seconds: Int64) -> [UInt8] {
    let time = CivilTime(seconds: seconds)
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let rest = [time.month, time.day, time.hour, time.minute, time.second].map(two).joined() + "Z"
    return time.year < 2050
      ? tagged(0x17, Array((two(time.year % 100) + rest).utf8))
      : tagged(0x18, Array(("\(time.year)" + rest).utf8))
  }
}
