import CCrypto

/// Signatures by Ed25519 (RFC 8032).
package enum Ed25519 {
  package static let keyCount = 32
  package static let signatureCount = 64

  /// Whether `signature` is that of the holder of `publicKey` over `message`.
  package static func verifies(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
    guard signature.count == signatureCount, publicKey.count == keyCount,
      let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, publicKey, publicKey.count)
    else { return false }
    defer { EVP_PKEY_free(key) }
    guard let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    // EVP_SIGNATURE-ED25519(7): "the digest … must be set to NULL", and the message is given in one call.
    guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
    return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }
}
