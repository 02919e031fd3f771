import System
import Trust

/// Whoever holds a key that signs: a file, or a program such as one that asks a KMS or a smart card.
package protocol StatementSigner: Sendable {
  /// The public key.
  var key: TrustKey { get }
  /// Returns the signature of `message`.
  func sign(_ message: [UInt8]) throws(SigningError) -> P256Signature
}

/// Why nothing could be signed; `description` says it to people.
package enum SigningError: Error, Hashable, Sendable {
  /// A key's file can't be read; with the reason.
  case unreadable(path: String, String)
  /// A key's file has something else.
  case notAKey(path: String, P256PrivateKey.FormError)
  /// A public key, where a private one is needed.
  case publicKey(path: String)
  /// A key's PEM has no end: it was cut off.
  case cutOff(path: String)
  /// A key's file can be read by others.
  case openToOthers(path: String)
  /// A file has something else than a public key.
  case notAPublicKey(path: String)
  /// A program failed, or wrote no signature that the key verifies; with its name, and the reason. The whole command may have a PIN.
  case command(String, String)
  /// What is to be signed can't be put into an envelope; with what is wrong.
  case form(TrustFormError)
  /// The root lists none of these keys for this.
  case notListed(KeyID)
}

extension SigningError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  package var description: String {
    switch self {
    case .unreadable(let path, let reason): "the key \(path) can't be read: \(reason)"
    case .notAKey(let path, .needsPassphrase):
      "the key \(path) has a passphrase; set XCACHE_SIGN_PASSPHRASE, or run this in a terminal"
    case .notAKey(let path, .wrongPassphrase): "the key \(path) has another passphrase"
    case .notAKey(let path, .otherAlgorithm): "\(path) has a key of another kind; one on P-256 is needed"
    case .notAKey(let path, .notAKey): "\(path) has no private key in PEM"
    case .publicKey(let path):
      "\(path) is a public key; what signs is the private one (--sign-key, --key), or a program that has it (--sign-with)"
    case .cutOff(let path):
      "\(path) isn't a whole PEM: it has no line \"-----END … PRIVATE KEY-----\"; store the file's content unchanged, with all its lines"
    case .openToOthers(let path): "others may read the key \(path); run `chmod 600 \(path)`"
    case .notAPublicKey(let path):
      "\(path) has no public key on P-256 with an uncompressed point, in PEM or base64, as `openssl pkey -pubout` writes it"
    case .command(let command, let reason): "the program that signs, \(command), failed: \(reason)"
    case .form(let error): "what is to be signed is refused: \(error)"
    case .notListed(let key): "the root names the key \(key) for nothing that is to be signed"
    }
  }
}

extension Signed {
  /// Returns the same document with a signer's signature.
  package func signed(by signer: some StatementSigner) throws(SigningError) -> Signed {
    let signature = Envelope.Signature(key: signer.key.id, signature: try signer.sign(envelope.message))
    do {
      return try adding(signature)
    } catch {
      throw .form(error)
    }
  }
}
