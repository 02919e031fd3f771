import CCrypto

/// The life of libcrypto in this process.
package enum Libcrypto {
  /// Keeps it alive to the process's very end; called before anything else uses it.
  ///
  /// "OPENSSL_INIT_NO_ATEXIT: By default OpenSSL will attempt to clean itself up when the process exits via an
  /// "atexit" handler" (OPENSSL_init_crypto(3)). A thread that still hashes then would find it gone.
  package static func keepUntilEnd() {
    OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
  }
}
