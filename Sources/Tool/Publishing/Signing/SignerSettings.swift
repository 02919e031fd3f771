import System
import Trust

/// Where a signer is to be had: what `--sign-key`, `--sign-with`, or `signWith` of `xcache.json` say.
package enum SignerSettings: Hashable, Sendable {
  /// A key's file.
  case file(String)
  /// A key as PEM, and the variable that has it.
  case pem(String, variable: String)
  /// A program, its public key, a file or base64, and the folder that it runs in; nil: this process's.
  case command(String, publicKey: String, folder: String? = nil)

  /// The value of a variable, which is a path, or the key itself.
  package init(variable: String, _ value: String) {
    // Also as a service has it that stores secrets in base64.
    let text =
      Base64.decode(value.filter { !$0.isWhitespace }).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let pem = text.contains("-----BEGIN") ? text : value
    // A key that is cut off is no path either, and must not be shown as one.
    let isKey =
      pem.contains("-----") || pem.contains(where: \.isNewline)
      || pem.utf8.count > Self.pathLimit && (try? Kernel.status(value)) == nil
    guard isKey else {
      self = .file(value)
      return
    }
    self = .pem(Self.lines(of: pem) + "\n", variable: variable)
  }

  /// A longer value is a path only if there is such a file: the private key alone takes 138 bytes, or 184 in base64.
  private static let pathLimit = 120

  /// Returns PEM in lines. Some services store a secret on one, with `\n` or spaces in between.
  private static func lines(of pem: String) -> String {
    if pem.contains(where: \.isNewline) { return pem }
    if pem.contains("\\n") { return pem.split(separator: "\\n").joined(separator: "\n") }
    var lines: [String] = []
    var isLabel = false
    for word in pem.split(separator: " ") {
      // The words of a label, such as `-----BEGIN PRIVATE KEY-----`, stay on a line.
      if isLabel, let last = lines.popLast() {
        lines.append("\(last) \(word)")
      } else {
        lines.append(String(word))
      }
      if word.hasPrefix("-----") { isLabel = true }
      if word.hasSuffix("-----") { isLabel = false }
    }
    return lines.joined(separator: "\n")
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
    case .command(let command, let publicKey, let folder):
      SignCommand(command, key: try TrustKey(reading: publicKey), environment: environment, folder: folder)
    }
  }
}
