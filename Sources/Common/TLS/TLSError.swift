import System

/// Why a certificate and its key can't be used.
package enum TLSError: Error, Sendable, Equatable {
  /// Thrown when a file can't be read.
  case unreadable(SystemError)
  /// Thrown for anything but a regular file, such as a pipe: it can't be read again when the certificate is renewed.
  case notAFile(path: String)
  /// Thrown when a file is larger than any chain or key.
  case tooLarge(path: String)
  /// Thrown when a file has no certificate in PEM format.
  case noCertificate(path: String)
  /// Thrown when the file's certificate with this number, counted from 1, is damaged.
  case damagedCertificate(path: String, number: Int)
  /// Thrown when a file has no private key in PEM format.
  case noKey(path: String)
  /// Thrown when the key is encrypted with a passphrase.
  case encryptedKey(path: String)
  /// Thrown when the key belongs to another certificate.
  case keyMismatch(certificate: String, key: String, name: String)
  /// Thrown when libssl considers the certificate insecure, with its reason.
  case refused(path: String, reason: String)
}

extension TLSError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  package var description: String {
    switch self {
    case .unreadable(let error): "\(error)"
    case .notAFile(let path):
      "\(path) is a pipe, a folder or a device; use a regular file, because SIGHUP reloads it"
    case .tooLarge(let path):
      "\(path) is larger than 1 MB: give the certificate's or its key's file in PEM form"
    case .noCertificate(let path):
      "\(path) contains no PEM certificate, which begins with -----BEGIN CERTIFICATE-----"
    case .damagedCertificate(let path, let number):
      "certificate \(number) in \(path) is damaged; get the file again from its issuer"
    case .noKey(let path):
      "\(path) contains no PEM private key, which begins with -----BEGIN PRIVATE KEY-----"
    case .encryptedKey(let path):
      "the key in \(path) is encrypted with a passphrase, which can't be entered here; decrypt it: "
        + "openssl pkey -in \(path) -out plain.pem"
    case .keyMismatch(let certificate, let key, let name):
      "the key in \(key) doesn't match the certificate in \(certificate) (\(name)); give the key that the certificate "
        + "was issued for, and put the server's own certificate first in the file, followed by its chain"
    case .refused(let path, let reason):
      "the certificate in \(path) is too weak; get one with an ECDSA P-256 key, or RSA of 2048 "
        + "bits (\(reason))"
    }
  }
}
