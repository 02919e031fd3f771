import System
import Testing

/// Keys that sign for P-256, and their files.
@Suite struct P256PrivateKeyTests {
  private static let message = Array("DSSEv1 4 type 7 payload".utf8)

  @Test func `a new key signs, and its public key verifies that`() {
    let key = P256PrivateKey()
    let signature = key.sign(Self.message)
    #expect(ECDSAP256.verifies(signature, of: Self.message, by: key.publicKey))
    #expect(!ECDSAP256.verifies(signature, of: Self.message + [0], by: key.publicKey))
    #expect(!ECDSAP256.verifies(signature, of: Self.message, by: P256PrivateKey().publicKey))
    #expect(key.publicKey.count == 91)
  }

  @Test func `a key survives its file, with a passphrase and without`() throws {
    let key = P256PrivateKey()
    let plain = key.pem()
    #expect(String(decoding: plain, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    #expect(try P256PrivateKey(pem: plain).publicKey == key.publicKey)
    let sealed = key.pem(passphrase: Array("correct horse".utf8))
    #expect(String(decoding: sealed, as: UTF8.self).hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
    let opened = try P256PrivateKey(pem: sealed, passphrase: Array("correct horse".utf8))
    #expect(opened.publicKey == key.publicKey)
    #expect(ECDSAP256.verifies(opened.sign(Self.message), of: Self.message, by: key.publicKey))
  }

  @Test func `what isn't such a key is told apart`() {
    let sealed = P256PrivateKey().pem(passphrase: Array("a".utf8))
    #expect(throws: P256PrivateKey.FormError.needsPassphrase) { try P256PrivateKey(pem: sealed) }
    #expect(throws: P256PrivateKey.FormError.wrongPassphrase) {
      try P256PrivateKey(pem: sealed, passphrase: Array("b".utf8))
    }
    #expect(throws: P256PrivateKey.FormError.notAKey) { try P256PrivateKey(pem: Array("nothing".utf8)) }
    #expect(throws: P256PrivateKey.FormError.notAKey) { try P256PrivateKey(pem: []) }
    // An Ed25519 key (RFC 8410 §10.3).
    let other = """
      -----BEGIN PRIVATE KEY-----
      MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
      -----END PRIVATE KEY-----

      """
    #expect(throws: P256PrivateKey.FormError.otherAlgorithm) { try P256PrivateKey(pem: Array(other.utf8)) }
  }
}
