// What servers verify that devices don't has no counterpart on Apple's systems.
#if !canImport(CryptoKit)
  import CCrypto

  /// A public key made of its numbers, as JSON Web Keys have them (RFC 7518 §6), that verifies signatures in the form of JSON
  /// Web Signatures (RFC 7518 §3).
  package final class SignatureKey: @unchecked Sendable {  // libcrypto's key is immutable once it is made
    /// The one signature that a key of its kind verifies.
    package enum Algorithm: Hashable, Sendable {
      /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8.2).
      case rsaSHA256
      /// ECDSA on P-256 with SHA-256 (FIPS 186-5), as r and s of 32 bytes each.
      case ecdsaP256
      /// Ed25519 (RFC 8032).
      case ed25519
    }

    package let algorithm: Algorithm
    private let key: OpaquePointer
    /// The length of a signature, in bytes.
    private let signatureCount: Int

    /// The sizes of RSA keys that are accepted, in bits: smaller ones can be factored (NIST SP 800-131A), larger ones take too
    /// long.
    package static let rsaBits = 2048...8192

    private init(_ algorithm: Algorithm, _ key: OpaquePointer, signatureCount: Int) {
      self.algorithm = algorithm
      self.key = key
      self.signatureCount = signatureCount
    }

    deinit { EVP_PKEY_free(key) }

    /// Makes a key of an RSA modulus and exponent, most significant byte first; nil unless the modulus is odd and of a size that
    /// is accepted, and the exponent odd, at least 3 and at most 64 bits long.
    package convenience init?(modulus: [UInt8], exponent: [UInt8]) {
      let (n, e) = (modulus.drop { $0 == 0 }, exponent.drop { $0 == 0 })
      guard let first = n.first, let last = n.last, let lowest = e.last else { return nil }
      let bits = n.count * 8 - first.leadingZeroBitCount
      guard Self.rsaBits.contains(bits), last & 1 == 1, lowest & 1 == 1, e.count <= 8,
        e.count > 1 || lowest >= 3
      else { return nil }
      Libcrypto.keepUntilEnd()
      let made = CCrypto_rsa_key(Array(n), n.count, Array(e), e.count)
      ERR_clear_error()
      guard let made else { return nil }
      self.init(.rsaSHA256, made, signatureCount: n.count)
    }

    /// Makes a key of a point's coordinates on P-256, 32 bytes each; nil if it isn't on the curve.
    package convenience init?(x: [UInt8], y: [UInt8]) {
      guard x.count == 32, y.count == 32 else { return nil }
      Libcrypto.keepUntilEnd()
      let made = CCrypto_p256_key([4] + x + y, 65)
      ERR_clear_error()
      guard let made else { return nil }
      self.init(.ecdsaP256, made, signatureCount: 64)
    }

    /// Makes an Ed25519 key of its 32 bytes; nil for any other count.
    package convenience init?(ed25519 bytes: [UInt8]) {
      guard bytes.count == Ed25519.keyCount else { return nil }
      Libcrypto.keepUntilEnd()
      guard let made = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count) else {
        return nil
      }
      self.init(.ed25519, made, signatureCount: Ed25519.signatureCount)
    }

    /// Whether `signature` is a valid signature of `message` by this key.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
      guard signature.count == signatureCount else { return false }
      guard algorithm == .ecdsaP256 else { return check(signature, message) }
      // libcrypto wants DER (RFC 3279 §2.2.3).
      guard let der = Self.der(signature) else { return false }
      return check(der, message)
    }

    private func check(_ signature: [UInt8], _ message: [UInt8]) -> Bool {
      guard let context = EVP_MD_CTX_new() else { return false }
      defer {
        EVP_MD_CTX_free(context)
        // What it says of the failure would be found by the next call that looks.
        ERR_clear_error()
      }
      let digest = algorithm == .ed25519 ? nil : EVP_sha256()
      guard EVP_DigestVerifyInit(context, nil, digest, nil, key) == 1 else { return false }
      return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// The signature in DER; nil if r or s is 0, which no signature has (FIPS 186-5 §6.4.2).
    private static func der(_ signature: [UInt8]) -> [UInt8]? {
      let halves = [signature.prefix(32), signature.suffix(32)]
      guard halves.allSatisfy({ $0.contains { $0 != 0 } }) else { return nil }
      let numbers = halves.flatMap { half -> [UInt8] in
        let digits = half.drop { $0 == 0 }
        // A first bit of 1 would make it negative.
        let number = digits.first.map { $0 >= 0x80 } ?? false ? [0] + digits : Array(digits)
        return [2, UInt8(number.count)] + number
      }
      return [0x30, UInt8(numbers.count)] + numbers
    }
  }
#endif
