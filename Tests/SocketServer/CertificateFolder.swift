import Foundation

/// A temporary folder with a certificate of its own for localhost: `certificate.pem` and `key.pem`.
enum CertificateFolder {
  /// The path of a new one.
  static func make(_ prefix: String) throws -> String {
    let folder = NSTemporaryDirectory() + prefix + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let openssl = try SpawnedProcess(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
        "/CN=localhost", "-days", "2", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
        folder + "/key.pem", "-out", folder + "/certificate.pem",
      ])
    openssl.waitUntilExit()
    return folder
  }
}
