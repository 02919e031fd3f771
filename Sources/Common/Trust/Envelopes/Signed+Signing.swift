// Devices never sign, so Apple's systems have no counterpart.
#if !canImport(CryptoKit)
  import System

  extension P256PrivateKey {
    /// The public key, as documents name it.
    package var trustKey: TrustKey {
      guard let key = TrustKey(spki: publicKey) else { fatalError("libcrypto wrote another form of a key") }
      return key
    }
  }

  extension Signed {
    /// Returns the same document with one more signature, in the place of an earlier one by the same key.
    /// - Throws: `TrustFormError`, if it has too many.
    package func signed(by key: P256PrivateKey) throws(TrustFormError) -> Signed {
      guard let signature = P256Signature(der: key.sign(envelope.message)) else {
        fatalError("libcrypto wrote another form of a signature")
      }
      return try adding(Envelope.Signature(key: key.trustKey.id, signature: signature))
    }
  }
#endif
