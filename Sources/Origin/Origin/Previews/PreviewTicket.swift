import System

/// The secret name of a preview: the first label of its host.
enum PreviewTicket {
  /// Characters: 16 bytes in base32 without padding.
  static let length = 26
  /// RFC 4648 §6, in lowercase, as browsers write hosts.
  private static let digits = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

  /// A new one, of 128 random bits.
  static func make() -> String { text(of: Secrets.random(16)) }

  /// The bytes in base32.
  static func text(of bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    var (bits, count) = (UInt32(0), 0)
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 5 {
        count -= 5
        text.append(digits[Int(bits >> UInt32(count) & 31)])
      }
      bits &= 1 << UInt32(count) - 1
    }
    if count > 0 { text.append(digits[Int(bits << UInt32(5 - count) & 31)]) }
    return String(decoding: text, as: UTF8.self)
  }
}
