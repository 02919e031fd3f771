import CCrypto

/// One running digest of libcrypto's; freed with its owner.
struct DigestContext: ~Copyable {
  private let context: OpaquePointer

  init(_ algorithm: OpaquePointer) {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, algorithm, nil) == 1 else {
      fatalError("libcrypto has no memory for a digest")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  func update(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { buffer in
      _ = EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
    }
  }

  /// The digest of what was put in so far; the context goes on.
  func value(count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { out, initialized in
      var length: UInt32 = 0
      guard let copy = EVP_MD_CTX_new(), EVP_MD_CTX_copy_ex(copy, context) == 1,
        EVP_DigestFinal_ex(copy, out.baseAddress, &length) == 1, length == count
      else { fatalError("libcrypto could not finish a digest") }
      EVP_MD_CTX_free(copy)
      initialized = count
    }
  }
}

/// SHA-256 over bytes that arrive in pieces.
package struct SHA256Hasher: ~Copyable {
  private let context = DigestContext(EVP_sha256())

  package init() {}

  package mutating func update(_ bytes: RawSpan) { context.update(bytes) }

  /// The digest of all bytes so far; more may follow.
  package func finish() -> SHA256 {
    guard let digest = SHA256(bytes: context.value(count: SHA256.byteCount).span.bytes) else {
      fatalError("a SHA-256 digest has 32 bytes")
    }
    return digest
  }
}

/// What is known of a file's bytes after one pass over them.
package struct FileDigest: Hashable, Sendable {
  package let md5: MD5
  package let sha256: SHA256
  /// Bytes.
  package let size: Int64

  package init(md5: MD5, sha256: SHA256, size: Int64) {
    self.md5 = md5
    self.sha256 = sha256
    self.size = size
  }
}

/// MD5, SHA-256 and size in one pass.
package struct FileHasher: ~Copyable {
  private let md5 = DigestContext(EVP_md5())
  private let sha256 = DigestContext(EVP_sha256())
  private var size: Int64 = 0

  package init() {}

  package mutating func update(_ bytes: RawSpan) {
    md5.update(bytes)
    sha256.update(bytes)
    size += Int64(bytes.byteCount)
  }

  package func finish() -> FileDigest {
    guard let md5 = MD5(bytes: md5.value(count: MD5.byteCount).span.bytes),
      let sha256 = SHA256(bytes: sha256.value(count: SHA256.byteCount).span.bytes)
    else { fatalError("digests of fixed sizes") }
    return FileDigest(md5: md5, sha256: sha256, size: size)
  }
}
