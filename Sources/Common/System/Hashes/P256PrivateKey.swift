// What makes signatures with a private key has no counterpart on Apple's systems: devices never have one.
#if !canImport(CryptoKit)
  import CCrypto

  /// A key that makes ECDSA signatures on P-256 with SHA-256 (FIPS 186-5).
  package struct P256PrivateKey: Sendable {
    /// Why bytes aren't a key.
    package enum FormError: Error, Hashable, Sendable {
      /// It isn't PEM of a private key (RFC 7468 §10, §11).
      case notAKey
      /// It is a private key, but not one on P-256.
      case otherAlgorithm
      /// It is encrypted, and no passphrase was given.
      case needsPassphrase
      /// It is encrypted, and not with this passphrase.
      case wrongPassphrase
    }

    /// The key as PrivateKeyInfo in DER (RFC 5208).
    private let der: [UInt8]
    /// The public key, as SubjectPublicKeyInfo in DER with an uncompressed point (RFC 5480): 91 bytes.
    package let publicKey: [UInt8]

    /// Generates a new key.
    package init() {
      Libcrypto.keepUntilEnd()
      guard let key = CCrypto_generate_p256() else { fatalError("libcrypto could not make a key") }
      defer { EVP_PKEY_free(key) }
      guard let made = Self(key) else { fatalError("libcrypto could not write a key") }
      self = made
    }

    /// Reads a key from PEM: PKCS#8, encrypted or not, or the older form of OpenSSL.
    ///
    /// - Parameters:
    ///   - pem: the file.
    ///   - passphrase: the passphrase, in UTF-8; nil if there is none.
    package init(pem: [UInt8], passphrase: [UInt8]? = nil) throws(FormError) {
      Libcrypto.keepUntilEnd()
      let isEncrypted = Self.isEncrypted(pem)
      if isEncrypted, passphrase == nil { throw .needsPassphrase }
      let read = pem.withUnsafeBytes { bytes -> OpaquePointer? in
        guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
          return nil
        }
        defer { BIO_free(source) }
        return ((passphrase ?? []) + [0]).withUnsafeBufferPointer { phrase in
          PEM_read_bio_PrivateKey(
            source, nil, CCrypto_passphrase, UnsafeMutableRawPointer(mutating: phrase.baseAddress))
        }
      }
      // What it says of the failure would be found by the next call that looks.
      ERR_clear_error()
      guard let read else { throw isEncrypted ? .wrongPassphrase : .notAKey }
      defer { EVP_PKEY_free(read) }
      guard CCrypto_is_p256(read) == 1, let key = Self(read) else { throw .otherAlgorithm }
      self = key
    }

    /// Whether PEM says that its key is encrypted.
    package static func isEncrypted(_ pem: [UInt8]) -> Bool {
      let text = String(decoding: pem, as: UTF8.self)
      return text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
    }

    private init?(_ key: OpaquePointer) {
      guard let der = Self.bytes({ CCrypto_private_der(key, $0) }),
        EVP_PKEY_set_utf8_string_param(key, "point-format", "uncompressed") == 1,
        let spki = Self.bytes({ i2d_PUBKEY(key, $0) }), spki.count == 91
      else { return nil }
      self.der = der
      publicKey = spki
    }

    /// The key as PKCS#8 in PEM.
    ///
    /// - Parameter passphrase: encrypts it with AES-256 and a key that scrypt derives (RFC 7914, RFC 8018 §6.2); nil leaves it as it is.
    package func pem(passphrase: [UInt8]? = nil) -> [UInt8] {
      guard let sink = BIO_new(BIO_s_mem()) else { fatalError("libcrypto has no memory for a key") }
      defer { BIO_free(sink) }
      let isWritten = with { key in
        if let passphrase {
          return CCrypto_write_encrypted(sink, key, passphrase, Int32(clamping: passphrase.count))
        }
        return PEM_write_bio_PKCS8PrivateKey(sink, key, nil, nil, 0, nil, nil)
      }
      guard isWritten == 1 else { fatalError("libcrypto could not write a key") }
      var start: UnsafeMutablePointer<CChar>?
      let count = CCrypto_memory(sink, &start)
      return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Returns the signature of `message`, in DER.
    package func sign(_ message: [UInt8]) -> [UInt8] {
      with { key in
        guard let context = EVP_MD_CTX_new(), EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1
        else {
          fatalError("libcrypto has no memory for a signature")
        }
        defer { EVP_MD_CTX_free(context) }
        var count = 0
        guard EVP_DigestSign(context, nil, &count, message, message.count) == 1 else {
          fatalError("libcrypto could not sign")
        }
        return [UInt8](unsafeUninitializedCapacity: count) { out, initialized in
          guard EVP_DigestSign(context, out.baseAddress, &count, message, message.count) == 1 else {
            fatalError("libcrypto could not sign")
          }
          initialized = count
        }
      }
    }

    private func with<Value>(_ body: (OpaquePointer) -> Value) -> Value {
      let key = der.withUnsafeBufferPointer { bytes in
        var start = bytes.baseAddress
        return d2i_AutoPrivateKey(nil, &start, bytes.count)
      }
      guard let key else { fatalError("libcrypto doesn't take its own key") }
      defer { EVP_PKEY_free(key) }
      return body(key)
    }

    /// What one of OpenSSL's functions of the form `i2d_…` writes.
    private static func bytes(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32)
      -> [UInt8]?
    {
      let count = write(nil)
      guard count > 0 else { return nil }
      return [UInt8](unsafeUninitializedCapacity: Int(count)) { out, initialized in
        var start = out.baseAddress
        initialized = Int(max(0, write(&start)))
      }
    }
  }
#endif
