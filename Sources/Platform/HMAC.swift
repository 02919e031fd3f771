/// Keyed hashes (RFC 2104).
package enum HMAC {
  /// HMAC-SHA-256 of a message; 32 bytes.
  package static func sha256(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    let block = 64
    var padded = key.count > block ? SHA256.of(key).bytes : key
    padded += [UInt8](repeating: 0, count: block - padded.count)
    let inner = SHA256.of(padded.map { $0 ^ 0x36 } + message).bytes
    return SHA256.of(padded.map { $0 ^ 0x5C } + inner).bytes
  }
}
