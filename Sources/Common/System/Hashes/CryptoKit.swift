// Everything that we use of CryptoKit; `Libcrypto.swift` has the same names for Linux.
#if canImport(CryptoKit)
  import CryptoKit

  /// A running digest, computed by CryptoKit.
  struct DigestContext: ~Copyable {
    enum Algorithm {
      case md5, sha256
    }

    private enum State {
      // CryptoKit rightly calls MD5 insecure: clients in the field use it to detect accidental damage, never for trust.
      case md5(Insecure.MD5)
      case sha256(CryptoKit.SHA256)
    }

    private var state: State

    /// Writes the digest of `bytes` to `digest`, whose size must fit.
    static func digest(_ bytes: RawSpan, _ algorithm: Algorithm, into digest: UnsafeMutableRawBufferPointer) {
      var context = DigestContext(algorithm)
      context.update(bytes)
      digest.copyBytes(from: context.value(count: digest.count))
    }

    init(_ algorithm: Algorithm) {
      state = algorithm == .md5 ? .md5(Insecure.MD5()) : .sha256(CryptoKit.SHA256())
    }

    mutating func update(_ bytes: RawSpan) {
      bytes.withUnsafeBytes { buffer in
        switch state {
        case .md5(var hasher):
          hasher.update(bufferPointer: buffer)
          state = .md5(hasher)
        case .sha256(var hasher):
          hasher.update(bufferPointer: buffer)
          state = .sha256(hasher)
        }
      }
    }

    /// Returns the digest of everything so far; the context can continue.
    func value(count: Int) -> [UInt8] {
      let digest =
        switch state {
        case .md5(let hasher): Array(hasher.finalize())
        case .sha256(let hasher): Array(hasher.finalize())
        }
      precondition(digest.count == count)
      return digest
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
      guard signature.count == signatureCount, publicKey.count == keyCount,
        let key = try? Curve25519.Signing.PublicKey(rawRepresentation: publicKey)
      else { return false }
      return key.isValidSignature(signature, for: message)
    }
  }

  /// ECDSA signatures on P-256 with SHA-256 (FIPS 186-5).
  package enum ECDSAP256 {
    /// Whether `signature`, in DER, is a valid signature of `message` by `publicKey`, a SubjectPublicKeyInfo in DER.
    package static func verifies(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
      guard let key = try? P256.Signing.PublicKey(derRepresentation: publicKey),
        let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature)
      else { return false }
      return key.isValidSignature(signature, for: message)
    }
  }

  /// Random bytes, and constant-time comparison.
  package enum Secrets {
    /// Returns `count` bytes from the operating system's generator.
    package static func random(_ count: Int) -> [UInt8] {
      var generator = SystemRandomNumberGenerator()
      return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// Whether both hold the same bytes. The time taken reveals only their lengths.
    package static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
      guard a.count == b.count else { return false }
      var difference: UInt8 = 0
      for index in a.indices { difference |= a[index] ^ b[index] }
      return difference == 0
    }
  }
#endif
