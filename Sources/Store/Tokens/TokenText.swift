import Platform

/// A token as its holder has it: `xcache_<id>_<secret>`, the secret 32 bytes in base64url.
struct TokenText {
  let id: String
  let secret: [UInt8]

  private static let secretCount = 32
  private static let idCount = 6

  /// A new one.
  init() {
    id = Hex.encode(Secrets.random(Self.idCount).span.bytes)
    secret = Secrets.random(Self.secretCount)
  }

  init?(_ text: String) {
    guard text.utf8.count <= 128, text.hasPrefix("xcache_") else { return nil }
    // The secret's alphabet has an underscore; an id's has not.
    let parts = text.dropFirst("xcache_".count).split(
      separator: "_", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, Hex.decode(parts[0], count: Self.idCount) != nil,
      let secret = Base64URL.decode(parts[1].utf8), secret.count == Self.secretCount
    else { return nil }
    id = String(parts[0])
    self.secret = secret
  }

  var text: String { "xcache_\(id)_\(Base64URL.encode(secret))" }

  /// What is kept of the secret.
  var hash: SHA256 { SHA256.of(secret) }
}

/// RFC 4648, section 5, without padding.
enum Base64URL {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var out: [UInt8] = []
    var bits = 0
    var count = 0
    for byte in bytes {
      bits = bits << 8 | Int(byte)
      count += 8
      while count >= 6 {
        count -= 6
        out.append(alphabet[bits >> count & 63])
      }
      bits &= (1 << count) - 1
    }
    if count > 0 { out.append(alphabet[bits << (6 - count) & 63]) }
    return String(decoding: out, as: UTF8.self)
  }

  /// nil for any text that `encode` doesn't give.
  static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var out: [UInt8] = []
    var bits = 0
    var count = 0
    for byte in text {
      guard let value = alphabet.firstIndex(of: byte) else { return nil }
      bits = bits << 6 | value
      count += 6
      if count >= 8 {
        count -= 8
        out.append(UInt8(bits >> count & 255))
      }
      bits &= (1 << count) - 1
    }
    return count < 6 && bits == 0 ? out : nil
  }
}
