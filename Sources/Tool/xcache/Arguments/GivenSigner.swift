import Linux
import Publishing
import System
import Trust
import Values

extension Command {
  /// The options of commands that sign.
  static let signing: [Option] = [
    .value(
      "sign-key", "FILE", environment: "XCACHE_SIGN_KEY",
      "sign with this private key, PEM that only you can read; repeatable; the variable may also have the PEM itself"
    ),
    .value(
      "sign-with", "CMD",
      "sign with this shell command: bytes on standard input, signature in DER on standard output"),
    .value("public-key", "FILE", "the public key of --sign-with: a file or base64"),
  ]
}

/// The signer that a command was given: by options, the environment, or `signWith` of `xcache.json`, in this order.
enum GivenSigner {
  static let passphraseVariable = "XCACHE_SIGN_PASSPHRASE"

  /// Returns where the signers are to be had: several `--sign-key`, or the one that is given otherwise.
  static func all(_ arguments: Arguments, _ settings: Settings) throws -> [SignerSettings] {
    let paths = arguments.all("sign-key")
    guard paths.count > 1 else { return try Self.settings(arguments, settings).map { [$0] } ?? [] }
    guard !arguments.isGiven("sign-with"), !arguments.isGiven("public-key") else {
      throw UsageError("give --sign-key or --sign-with, not both")
    }
    return try paths.map(file)
  }

  /// Returns where the signer is to be had; nil if none was given.
  static func settings(_ arguments: Arguments, _ settings: Settings) throws -> SignerSettings? {
    let command = try arguments.value("sign-with")
    let publicKey = try arguments.value("public-key")
    if let command {
      guard !arguments.isGiven("sign-key") else {
        throw UsageError("give --sign-key or --sign-with, not both")
      }
      guard let publicKey else {
        throw UsageError("--sign-with needs its public key: --public-key FILE, which verifies each signature")
      }
      return .command(command, publicKey: publicKey)
    }
    guard publicKey == nil else { throw UsageError("--public-key can only be used with --sign-with") }
    guard let value = try arguments.value("sign-key") else { return settings.signWith }
    let source = arguments.source("sign-key")
    return source.hasPrefix("--") ? try file(value) : SignerSettings(variable: source, value)
  }

  private static func file(_ path: String) throws(UsageError) -> SignerSettings {
    guard !path.contains("-----BEGIN") else {
      throw UsageError(
        "--sign-key takes a file: others may see what a command line has; XCACHE_SIGN_KEY may have the key itself"
      )
    }
    return .file(path)
  }

  /// Returns the signers, of each key one.
  static func signers(
    _ settings: [SignerSettings], _ arguments: Arguments, _ terminal: Terminal
  ) throws(SigningError) -> [any StatementSigner] {
    var signers: [any StatementSigner] = []
    for setting in settings {
      let signer = try setting.signer(environment: arguments.environment) {
        passphrase(of: $0, arguments, terminal)
      }
      if !signers.contains(where: { $0.key == signer.key }) { signers.append(signer) }
    }
    return signers
  }

  /// Returns the passphrase of a key: the variable's, or what is typed; nil if there is nobody to ask.
  static func passphrase(of place: String, _ arguments: Arguments, _ terminal: Terminal) -> [UInt8]? {
    if let given = arguments.environment[passphraseVariable], !given.isEmpty { return Array(given.utf8) }
    guard StandardInput.isTerminal else { return nil }
    return typed("passphrase of \(place): ", terminal)
  }

  /// Returns what is typed in answer to a question, unseen; nil for nothing.
  static func typed(_ question: String, _ terminal: Terminal) -> [UInt8]? {
    terminal.ask(question)
    let line = try? StandardInput.line(echoes: false)
    terminal.note("")
    return line.flatMap { $0.isEmpty ? nil : Array($0.utf8) }
  }
}

extension SignerSettings {
  /// Parses `{"key": path}`, or `{"command": text, "publicKey": path or base64}`.
  init(_ node: SettingsNode, relativeTo folder: String) throws(SettingsError) {
    var (file, command, publicKey): (String?, String?, String?) = (nil, nil, nil)
    for (key, value) in try node.members() {
      switch key {
      case "key":
        let path = try value.text("a path")
        // A key in a file that is shared is no secret any more.
        guard !path.isEmpty, !path.contains("-----BEGIN") else {
          throw value.wanted("the path of a key's file, not the key")
        }
        file = path.hasPrefix("/") ? path : "\(folder)/\(path)"
      case "command": command = try value.text("a command")
      case "publicKey":
        let text = try value.text("a path, or a public key in base64")
        publicKey = text.hasPrefix("/") || TrustKey(base64: text) != nil ? text : "\(folder)/\(text)"
      default: throw value.unknown("key", "command", "publicKey")
      }
    }
    switch (file, command, publicKey) {
    case (let file?, nil, nil): self = .file(file)
    case (nil, let command?, let publicKey?):
      self = .command(command, publicKey: publicKey, folder: folder)
    default: throw node.wanted("\"key\", or \"command\" with \"publicKey\"")
    }
  }
}
