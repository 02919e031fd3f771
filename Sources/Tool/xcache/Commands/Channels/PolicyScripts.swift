import Manifests
import OriginAPI
import System

/// `xcache policy script key | sign | add`: signs the scripts that pages run.
enum PolicyScripts {
  /// Creates a key in a file that only its owner can read, and prints the public key for the app.
  static func makeKey(_ arguments: Arguments, _ terminal: Terminal) throws {
    let path = try arguments.operands("script", "key", "FILE")[2]
    let key = SigningKey()
    let publicKey = Base64.encode(key.publicKey)
    do throws(SystemError) {
      try DurableFile.write(Array(pem(key).utf8), to: path, mode: 0o600, replaces: false)
    } catch {
      guard error.code == .fileExists else { throw error }
      throw Failure(
        "\(path) already exists and is not overwritten; choose another file name", code: .refused,
        name: "exists")
    }
    if arguments.has("json") {
      terminal.say(json: ["file": .string(path), "publicKey": .string(publicKey)])
    } else {
      terminal.say(publicKey)
      terminal.remark(
        "use this as the app's scriptKey; \(path) is the private key: keep it secret and back it up")
    }
  }

  /// Prints a script's signature.
  static func sign(_ arguments: Arguments, _ terminal: Terminal) throws {
    let file = try arguments.operands("script", "sign", "FILE")[2]
    guard let path = try arguments.value("key") else {
      throw UsageError("--key FILE is required: the signing key; 'xcache policy script key FILE' creates one")
    }
    let key = try key(path)
    let bytes = try script(file)
    let signature = Base64.encode(key.sign(bytes))
    if arguments.has("json") {
      terminal.say(json: [
        "publicKey": .string(Base64.encode(key.publicKey)), "sha256": .string(SHA256.of(bytes).hex),
        "signature": .string(signature),
      ])
    } else {
      terminal.say(signature)
    }
  }

  /// Returns the request that adds a script, signed now or before.
  static func adding(_ arguments: Arguments) throws -> (PolicyRequest, message: String) {
    let file = try arguments.operands("script", "add", "FILE")[2]
    let (given, path) = (try arguments.value("signature"), try arguments.value("key"))
    guard (given == nil) != (path == nil) else {
      throw UsageError(
        "--key FILE or --signature SIG is required: the signing key, or the file's Ed25519 signature in Base64"
      )
    }
    let bytes = try script(file)
    let signature: String
    if let path {
      signature = Base64.encode(try key(path).sign(bytes))
    } else {
      guard let given, Base64.decode(given)?.count == Ed25519.signatureCount else {
        throw UsageError(
          "--signature is not an Ed25519 signature: 64 bytes in Base64; 'xcache policy script sign' prints one"
        )
      }
      signature = given
    }
    let name = try arguments.value("name") ?? Self.name(of: file)
    guard PolicyScript.isName(name) else {
      throw UsageError(
        "--name \(name): expected a letter or digit, then letters, digits, ., - and _, 64 at most")
    }
    var request = PolicyRequest(.scriptAdd)
    (request.bytes, request.name, request.signature) = (Base64.encode(bytes), name, signature)
    return (request, "script \(name), sha256 \(SHA256.of(bytes))")
  }

  private static func script(_ file: String) throws -> [UInt8] {
    let bytes = try Arguments.file(file)
    guard (1...PolicyScript.limit).contains(bytes.count) else {
      throw Failure(
        "\(file) has \(bytes.count) bytes; a script may have 1 to \(PolicyScript.limit)", code: .refused)
    }
    return bytes
  }

  /// Returns the script's name, such as `interceptor` for `build/interceptor.js`.
  private static func name(of file: String) -> String {
    let last = file.split(separator: "/").last.map(String.init) ?? file
    return last.hasSuffix(".js") ? String(last.dropLast(3)) : last
  }

  // MARK: - The key's file

  /// The prefix of a 32-byte Ed25519 key in PKCS #8 (RFC 8410 §7).
  private static let prefix: [UInt8] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
  ]
  private static let lines = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----")

  private static func pem(_ key: SigningKey) -> String {
    "\(lines.0)\n\(Base64.encode(prefix + key.seed))\n\(lines.1)\n"
  }

  private static func key(_ path: String) throws -> SigningKey {
    if let status = try Kernel.status(path), status.kind == .file, status.mode & 0o077 != 0 {
      throw SettingsError(.open, in: path)
    }
    let text = String(decoding: try Arguments.file(path, limit: 1 << 16), as: UTF8.self)
    let words = text.split(whereSeparator: \.isNewline).map { String($0) }
    guard let start = words.firstIndex(of: lines.0), let end = words.firstIndex(of: lines.1), start < end,
      let bytes = Base64.decode(words[(start + 1)..<end].joined()), bytes.starts(with: prefix),
      let key = SigningKey(seed: Array(bytes.dropFirst(prefix.count)))
    else {
      throw Failure(
        "\(path) is not an Ed25519 key in PEM form, as `xcache policy script key FILE` or `openssl genpkey -algorithm ed25519` "
          + "creates it")
    }
    return key
  }
}
