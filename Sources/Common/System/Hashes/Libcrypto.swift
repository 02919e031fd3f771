// Everything that we use of libcrypto; `CryptoKit.swift` has the same names for Apple's systems.
#if !canImport(CryptoKit)
  import CCrypto

  /// The lifetime of libcrypto in this process.
  package enum Libcrypto {
    /// Keeps libcrypto from cleaning up at exit, if nothing in this process has used it yet. Has to be called before each
    /// first use of ours.
    ///
    /// "OPENSSL_INIT_NO_ATEXIT: By default OpenSSL will attempt to clean itself up when the process exits via an
    /// "atexit" handler" (OPENSSL_init_crypto(3)). A thread that is still hashing or receiving then, in a program that can't
    /// wait for it or an app that we are part of, would use what was freed. The system frees all of it a moment later anyway.
    package static func keepUntilEnd() { _ = isKept }

    /// Whether libcrypto stays usable until the process has ended: false where another part of the process used it first,
    /// and had it register its handler.
    package static let isKept: Bool = {
      // "CRYPTO_set_mem_functions() … return 0 on failure (almost always because allocations have already happened)"
      // (OPENSSL_malloc(3)). Those that are set remain.
      let isUnused = CCrypto_is_unused() == 1
      OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
      if !isUnused { guardExit() }
      return isUnused
    }()
  }

  /// A running digest, computed by libcrypto; freed with its owner.
  struct DigestContext: ~Copyable {
    enum Algorithm {
      case md5, sha256

      // "If you perform the same operation many times then it is recommended to use "Explicit fetching" to prefetch an
      // algorithm once initially" (crypto(7)): EVP_md5 is looked up anew, under locks, for each digest, which for a small
      // file takes longer than the digest itself. An EVP_MD is immutable, and any thread may use it.
      nonisolated(unsafe) private static let fetchedMD5 = fetched("MD5")
      nonisolated(unsafe) private static let fetchedSHA256 = fetched("SHA256")

      private static func fetched(_ name: String) -> OpaquePointer? {
        Libcrypto.keepUntilEnd()
        return EVP_MD_fetch(nil, name, nil)
      }

      fileprivate var method: OpaquePointer? {
        switch self {
        case .md5: Self.fetchedMD5 ?? EVP_md5()
        case .sha256: Self.fetchedSHA256 ?? EVP_sha256()
        }
      }
    }

    private let context: OpaquePointer

    /// Writes the digest of `bytes` to `digest`, whose size must fit.
    static func digest(_ bytes: RawSpan, _ algorithm: Algorithm, into digest: UnsafeMutableRawBufferPointer) {
      var length: UInt32 = 0
      let result = bytes.withUnsafeBytes {
        EVP_Digest(
          $0.baseAddress, $0.count, digest.baseAddress?.assumingMemoryBound(to: UInt8.self), &length,
          algorithm.method, nil)
      }
      guard result == 1, length == digest.count else { fatalError("libcrypto could not make a digest") }
    }

    init(_ algorithm: Algorithm) {
      guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, algorithm.method, nil) == 1 else {
        fatalError("libcrypto has no memory for a digest")
      }
      self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    mutating func update(_ bytes: RawSpan) {
      bytes.withUnsafeBytes { buffer in
        _ = EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
      }
    }

    /// Returns the digest of everything so far; the context can continue.
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

  /// Ed25519 signatures (RFC 8032).
  package enum Ed25519 {
    /// The length of a public key, in bytes.
    package static let keyCount = 32
    /// The length of a signature, in bytes.
    package static let signatureCount = 64

    /// Whether `signature` is a valid signature of `message` by `publicKey`.
    package static func verifies(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
      Libcrypto.keepUntilEnd()
      guard signature.count == signatureCount, publicKey.count == keyCount,
        let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, publicKey, publicKey.count)
      else { return false }
      defer { EVP_PKEY_free(key) }
      guard let context = EVP_MD_CTX_new() else { return false }
      defer { EVP_MD_CTX_free(context) }
      // EVP_SIGNATURE-ED25519(7): "the digest … must be set to NULL", and the message is passed in one call.
      guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
      return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
  }

  /// ECDSA signatures on P-256 with SHA-256 (FIPS 186-5).
  package enum ECDSAP256 {
    /// Whether `signature`, in DER, is a valid signature of `message` by `publicKey`, a SubjectPublicKeyInfo in DER.
    package static func verifies(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
      Libcrypto.keepUntilEnd()
      let key = publicKey.withUnsafeBufferPointer { bytes in
        var start = bytes.baseAddress
        return d2i_PUBKEY(nil, &start, bytes.count)
      }
      guard let key else { return false }
      defer { EVP_PKEY_free(key) }
      // Whoever chooses the key chooses no other algorithm with it.
      guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC, EVP_PKEY_get_bits(key) == 256,
        let context = EVP_MD_CTX_new()
      else { return false }
      defer { EVP_MD_CTX_free(context) }
      guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
      return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
  }

  /// A key that makes Ed25519 signatures. Devices never have one, so Apple's systems have no counterpart.
  package struct SigningKey: Sendable {
    /// The seed that the key is derived from: 32 bytes (RFC 8032 §5.1.5).
    package let seed: [UInt8]

    /// Generates a new key.
    package init() { seed = Secrets.random(Ed25519.keyCount) }

    /// Restores a key from its seed; nil unless that has 32 bytes.
    package init?(seed: [UInt8]) {
      guard seed.count == Ed25519.keyCount else { return nil }
      self.seed = seed
    }

    /// The public key that verifies signatures: 32 bytes.
    package var publicKey: [UInt8] {
      with { key in
        [UInt8](unsafeUninitializedCapacity: Ed25519.keyCount) { out, initialized in
          var length = Ed25519.keyCount
          guard EVP_PKEY_get_raw_public_key(key, out.baseAddress, &length) == 1 else {
            fatalError("libcrypto could not tell a public key")
          }
          initialized = length
        }
      }
    }

    /// Returns the signature of `message`: 64 bytes.
    package func sign(_ message: [UInt8]) -> [UInt8] {
      with { key in
        guard let context = EVP_MD_CTX_new(), EVP_DigestSignInit(context, nil, nil, nil, key) == 1 else {
          fatalError("libcrypto has no memory for a signature")
        }
        defer { EVP_MD_CTX_free(context) }
        return [UInt8](unsafeUninitializedCapacity: Ed25519.signatureCount) { out, initialized in
          var length = Ed25519.signatureCount
          guard EVP_DigestSign(context, out.baseAddress, &length, message, message.count) == 1 else {
            fatalError("libcrypto could not sign")
          }
          initialized = length
        }
      }
    }

    private func with<Value>(_ body: (OpaquePointer) -> Value) -> Value {
      Libcrypto.keepUntilEnd()
      guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count) else {
        fatalError("libcrypto takes no key of \(seed.count) bytes")
      }
      defer { EVP_PKEY_free(key) }
      return body(key)
    }
  }

  /// Random bytes, and constant-time comparison.
  package enum Secrets {
    /// Returns `count` bytes from the operating system's generator.
    package static func random(_ count: Int) -> [UInt8] {
      Libcrypto.keepUntilEnd()
      return [UInt8](unsafeUninitializedCapacity: count) { out, initialized in
        guard RAND_bytes(out.baseAddress, Int32(count)) == 1 else { fatalError("no random bytes to be had") }
        initialized = count
      }
    }

    /// Whether both hold the same bytes. The time taken reveals only their lengths.
    package static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
      a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
    }
  }
#endif
