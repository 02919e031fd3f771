import System

/// Why a certificate and its key can't be used.
package enum TLSError: Error, Sendable, Equatable {
  /// Thrown when a file can't be read.
  case unreadable(SystemError)
  /// Thrown for a pipe or a device: it can't be read again when the certificate is renewed.
  case notAFile(path: String)
  /// Thrown when a file is larger than a chain or a key is.
  case tooLarge(path: String)
  /// Thrown when a file has no certificate in PEM form.
  case noCertificate(path: String)
  /// Thrown when a certificate of the file, counted from 1, is damaged.
  case damagedCertificate(path: String, number: Int)
  /// Thrown when a file has no private key in PEM form.
  case noKey(path: String)
  /// Thrown when the key is sealed by a pass phrase.
  case sealedKey(path: String)
  /// Thrown when the key belongs to another certificate.
  case otherKey(certificate: String, key: String, name: String)
  /// Thrown when libssl takes the certificate for unsafe, in its own words.
  case refused(path: String, reason: String)
}

extension TLSError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  package var description: String {
    switch self {
    case .unreadable(let error): "\(error)"
    case .notAFile(let path):
      "\(path) is a pipe, a folder or a device; name a file that stays, since SIGHUP reads it again"
    case .tooLarge(let path):
      "\(path) is larger than 1 MB: name the file of the certificate or of its key, in PEM form"
    case .noCertificate(let path):
      "\(path) has no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----"
    case .damagedCertificate(let path, let number):
      "certificate \(number) in \(path) is damaged; copy the file again from who issued it"
    case .noKey(let path):
      "\(path) has no private key in PEM form, which begins with -----BEGIN PRIVATE KEY-----"
    case .sealedKey(let path):
      "the key in \(path) is sealed by a pass phrase, and nobody could type it; write it without one: "
        + "openssl pkey -in \(path) -out plain.pem"
    case .otherKey(let certificate, let key, let name):
      "the key in \(key) isn't that of the certificate in \(certificate) (\(name)); give the key that the certificate "
        + "was made for, and put the server's own certificate first in the file, those that it is signed by behind it"
    case .refused(let path, let reason):
      "the certificate in \(path) isn't safe enough to be used; have one issued with an ECDSA P-256 key, or RSA of 2048 "
        + "bits (\(reason))"
    }
  }
}
