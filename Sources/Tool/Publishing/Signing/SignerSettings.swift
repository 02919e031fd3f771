import Trust

/// Where a signer is to be had: what `--sign-key`, `--sign-with`, or `signWith` of `xcache.json` say.
package enum SignerSettings: Hashable, Sendable {
  /// A key's file.
  case file(String)
  /// A key as PEM, and the variable that has it.
  case pem(String, variable: String)
  /// A program, and its public key: a file or base64.
  case command(String, publicKey: String)

  /// The value of a variable, which is a path, or the key itself.
  package init(variable: String, _ value: String) {
    guard value.contains("-----BEGIN") else {
      self = .file(value)
      return
    }
    // Some services store a secret on one line.
    let pem = value.contains("\n") ? value : value.split(separator: "\\n").joined(separator: "\n")
    self = .pem(pem + "\n", variable: variable)
  }

  /// Returns the signer.
  ///
  /// - Parameters:
  ///   - environment: the variables of a program that signs.
  ///   - passphrase: called with a key's place if it has a passphrase; nil if there is nobody to ask.
  package func signer(
    environment: [String: String], passphrase: (String) -> [UInt8]?
  ) throws(SigningError) -> any StatementSigner {
    switch self {
    case .file(let path): try KeyFile(path: path, passphrase: passphrase)
    case .pem(let pem, let variable):
      try KeyFile(pem: Array(pem.utf8), place: variable, passphrase: passphrase)
    case .command(let command, let publicKey):
      SignCommand(command, key: try TrustKey(reading: publicKey), environment: environment)
    }
  }
}
