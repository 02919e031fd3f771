import CSSL
import System

/// A key and a certificate for one host, which exist only in memory and can't sign others.
package struct SelfSignedCertificate: Sendable {
  /// The context of a server that shows this certificate.
  package let context: TLSContext
  /// The certificate in PEM format.
  package let pem: String

  /// Returns nil if out of memory or randomness.
  ///
  /// - Parameter name: The subject alternative name in libcrypto's form (`DNS:m.example.com`, `IP:127.0.0.1`).
  package init?(for name: String) {
    Libcrypto.keepUntilEnd()
    defer { ERR_clear_error() }
    var text = [CChar](repeating: 0, count: 4096)
    guard let context = xcache_own_context(name, &text, Int32(text.count)) else { return nil }
    self.context = TLSContext(owning: context)
    pem = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
