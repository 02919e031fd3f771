import System
import Trust

/// A private key in a file, or as PEM in a variable: PKCS#8, with or without a passphrase.
package struct KeyFile: StatementSigner {
  /// The public key.
  package let key: TrustKey
  private let privateKey: P256PrivateKey

  /// The largest file that is read, in bytes.
  private static let limit = 1 << 16

  /// Reads a key's file, which only its owner may read.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - passphrase: called if the key has a passphrase; nil if there is nobody to ask.
  package init(path: String, passphrase: (String) -> [UInt8]?) throws(SigningError) {
    try self.init(pem: Self.bytes(path), place: path, passphrase: passphrase)
  }

  /// Reads a key.
  ///
  /// - Parameters:
  ///   - pem: the key.
  ///   - place: where it is, for messages.
  ///   - passphrase: as above.
  package init(pem: [UInt8], place: String, passphrase: (String) -> [UInt8]?) throws(SigningError) {
    guard !Self.isPublic(pem) else { throw .publicKey(path: place) }
    guard Self.isWhole(pem) else { throw .cutOff(path: place) }
    do throws(P256PrivateKey.FormError) {
      let phrase = P256PrivateKey.isEncrypted(pem) ? passphrase(place) : nil
      self.init(try P256PrivateKey(pem: pem, passphrase: phrase))
    } catch {
      throw .notAKey(path: place, error)
    }
  }

  package init(_ privateKey: P256PrivateKey) {
    self.privateKey = privateKey
    key = privateKey.trustKey
  }

  /// Whether there is a public key, and no private one.
  private static func isPublic(_ bytes: [UInt8]) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    if text.contains("PRIVATE KEY-----") { return false }
    return text.contains("-----BEGIN PUBLIC KEY-----") || TrustKey(spki: bytes) != nil
      || TrustKey(base64: text.filter { !$0.isWhitespace }) != nil
  }

  /// Whether PEM that begins also ends, or doesn't begin.
  private static func isWhole(_ pem: [UInt8]) -> Bool {
    let text = String(decoding: pem, as: UTF8.self)
    guard text.contains("-----BEGIN ") else { return true }
    guard let end = text.split(whereSeparator: \.isNewline).last(where: { $0.hasPrefix("-----END ") }) else {
      return false
    }
    return end.dropFirst(9).contains("-----")
  }

  private static func bytes(_ path: String) throws(SigningError) -> [UInt8] {
    let status: FileStatus?
    let bytes: [UInt8]?
    do throws(SystemError) {
      status = try Kernel.status(path)
      bytes = try DurableFile.read(path, limit: limit)
    } catch {
      throw .unreadable(path: path, error.reason)
    }
    guard let bytes else { throw .unreadable(path: path, "no such file") }
    // A pipe of a shell (`<(…)`) is nobody else's.
    // Others may read a public key: what is wrong with that one is its kind.
    if let status, status.kind == .file, status.mode & 0o077 != 0, !isPublic(bytes) {
      throw .openToOthers(path: path)
    }
    return bytes
  }

  package func sign(_ message: [UInt8]) throws(SigningError) -> P256Signature {
    guard let signature = P256Signature(der: privateKey.sign(message)) else {
      fatalError("libcrypto wrote another form of a signature")
    }
    return signature
  }

  /// Writes a new key to `path`, readable only by its owner, with a passphrase unless that is nil.
  ///
  /// - Throws: `SystemError`; EEXIST if there is a file already, which is never replaced.
  package static func make(at path: String, passphrase: [UInt8]?) throws(SystemError) -> KeyFile {
    let key = P256PrivateKey()
    try DurableFile.write(key.pem(passphrase: passphrase), to: path, mode: 0o600, replaces: false)
    return KeyFile(key)
  }
}
