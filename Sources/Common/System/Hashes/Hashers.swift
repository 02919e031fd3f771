/// Computes the SHA-256 of bytes that arrive in pieces.
package struct SHA256Hasher: ~Copyable {
  private var context = DigestContext(.sha256)

  package init() {}

  /// Adds the next piece.
  package mutating func update(_ bytes: RawSpan) { context.update(bytes) }

  /// Returns the digest of all bytes so far; more may follow.
  package func finish() -> SHA256 {
    guard let digest = SHA256(bytes: context.value(count: SHA256.byteCount).span.bytes) else {
      fatalError("a SHA-256 digest has 32 bytes")
    }
    return digest
  }
}

/// The hashes and size of a file, from one pass over its bytes.
package struct FileDigest: Hashable, Sendable {
  /// Kept because clients in the field check it.
  package let md5: MD5
  /// The hash that trust rests on.
  package let sha256: SHA256
  /// The size in bytes.
  package let size: Int64

  package init(md5: MD5, sha256: SHA256, size: Int64) {
    self.md5 = md5
    self.sha256 = sha256
    self.size = size
  }

  /// The digest of bytes that are all in memory.
  package init(of bytes: RawSpan) {
    self.init(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.byteCount))
  }
}

/// Computes MD5, SHA-256 and size in one pass.
package struct FileHasher: ~Copyable {
  private var md5 = DigestContext(.md5)
  private var sha256 = DigestContext(.sha256)
  private var size: Int64 = 0

  package init() {}

  /// Adds the next piece.
  package mutating func update(_ bytes: RawSpan) {
    md5.update(bytes)
    sha256.update(bytes)
    size += Int64(bytes.byteCount)
  }

  /// Returns the digest of all bytes so far; more may follow.
  package func finish() -> FileDigest {
    guard let md5 = MD5(bytes: md5.value(count: MD5.byteCount).span.bytes),
      let sha256 = SHA256(bytes: sha256.value(count: SHA256.byteCount).span.bytes)
    else { fatalError("digests of fixed sizes") }
    return FileDigest(md5: md5, sha256: sha256, size: size)
  }
}

/// Keyed hashes (RFC 2104).
package enum HMAC {
  /// Returns the HMAC-SHA-256 of a message: 32 bytes.
  package static func sha256(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    let block = 64
    var padded = key.count > block ? SHA256.of(key).bytes : key
    padded += [UInt8](repeating: 0, count: block - padded.count)
    let inner = SHA256.of(padded.map { $0 ^ 0x36 } + message).bytes
    return SHA256.of(padded.map { $0 ^ 0x5C } + inner).bytes
  }
}
