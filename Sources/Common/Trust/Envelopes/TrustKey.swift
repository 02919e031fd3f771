import System
import Values

/// What names a public key: the SHA-256 of its SubjectPublicKeyInfo.
package struct KeyID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The digest.
  package let digest: SHA256

  package init(_ digest: SHA256) { self.digest = digest }

  /// Parses 64 lowercase hexadecimal digits; nil for anything else.
  package init?(text: String) {
    guard let digest = SHA256(hex: text) else { return nil }
    self.digest = digest
  }

  /// The id as 64 lowercase hexadecimal digits.
  package var text: String { digest.hex }
  package var description: String { text }

  package static func < (a: KeyID, b: KeyID) -> Bool { a.digest < b.digest }
}

/// A public key on P-256, as its SubjectPublicKeyInfo (RFC 5480) with an uncompressed point: 91 bytes.
///
/// A key has only this form, and so one id. Whether the point is on the curve is for the verifier to find.
package struct TrustKey: Hashable, Sendable {
  /// The length of a SubjectPublicKeyInfo, in bytes.
  package static let byteCount = 91

  /// SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING { 04 ‖ … } }, up to the point's coordinates.
  static let prefix: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86,
    0x48,
    0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
  ]

  /// The SubjectPublicKeyInfo in DER.
  package let spki: [UInt8]
  /// The SHA-256 of `spki`.
  package let id: KeyID

  /// Reads a SubjectPublicKeyInfo; nil for another algorithm, curve or form.
  package init?(spki: [UInt8]) {
    guard spki.count == Self.byteCount, spki.starts(with: Self.prefix) else { return nil }
    self.spki = spki
    id = KeyID(SHA256.of(spki))
  }

  /// Reads the base64 of a SubjectPublicKeyInfo; nil for anything else.
  package init?(base64 text: String) {
    guard text.utf8.count <= 4 * Self.byteCount, let spki = Base64.decode(text) else { return nil }
    self.init(spki: spki)
  }

  /// The base64 of `spki`.
  package var base64: String { Base64.encode(spki) }
}

/// Whoever verifies a signature: libcrypto, CryptoKit, or a test that knows who signed what.
package protocol SignatureVerifier {
  /// Whether `signature` is a valid signature of `message` by `key`.
  func verifies(_ signature: P256Signature, of message: [UInt8], by key: TrustKey) -> Bool
}

/// Verifies signatures with the system's library.
package struct SystemVerifier: SignatureVerifier, Sendable {
  package init() {}

  package func verifies(_ signature: P256Signature, of message: [UInt8], by key: TrustKey) -> Bool {
    ECDSAP256.verifies(signature.der, of: message, by: key.spki)
  }
}
