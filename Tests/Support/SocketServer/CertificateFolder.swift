import System

/// A temporary folder with a certificate of its own for localhost: `certificate.pem` and `key.pem`.
enum CertificateFolder {
  static func make(_ name: String) throws -> ScratchFolder {
    let folder = try ScratchFolder(name)
    let openssl = try SpawnedProcess(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
        "/CN=localhost", "-days", "2", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
        folder.path + "/key.pem", "-out", folder.path + "/certificate.pem",
      ])
    openssl.waitUntilExit()
    return folder
  }
}
