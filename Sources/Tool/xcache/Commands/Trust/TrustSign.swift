import Manifests
import Publishing
import System
import Trust
import Values

/// `xcache trust sign`: a root key's signature of a draft. It needs no server.
enum TrustSign {
  static let options: [Option] = [
    .value(
      "key", "FILE",
      "a root key to sign with (sign); a key's file, to see which one it is (status); repeatable"
    )
    .only("sign", "status")
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let path = try arguments.operands("sign", "FILE")[1]
    if try Kernel.status(path) == nil, let settled = RootFolder.settled(path),
      try Kernel.status(settled) != nil
    {
      return inForce("\(path) is \(settled) now, which was put in force", settled, arguments, terminal)
    }
    var file = try RootFile(path: path)
    let root = file.root
    let before = try before(root, arguments, in: DurableFile.parent(of: path))
    // The push gives a draft that name.
    if root.number != .first,
      path == RootFolder(DurableFile.parent(of: path)).path(of: root.number)
        || path == "root-\(root.number).json"
    {
      return inForce("\(path) was put in force", path, arguments, terminal)
    }
    // What is signed is to be read first.
    if !arguments.has("json") {
      terminal.note(
        "\(path) is root \(root.number) of app \(root.app)\(root.environment.map { ", \($0)" } ?? "")")
      for line in TrustOutput.differences(from: before, to: root) { terminal.note("  \(line)") }
      if before == nil, root.number != .first {
        terminal.note("  (the root before isn't in the folder: this is all that it says)")
      }
    }
    var isChanged = false
    for signer in try signers(arguments, terminal) {
      let known = (before?.roots.keys ?? []) + root.roots.keys
      guard known.contains(signer.key.id) else { throw SigningError.notListed(signer.key.id) }
      let keys = [signer.key.id: signer.key]
      let isSigned = !file.signed.signers(among: [signer.key.id], keys: keys, by: SystemVerifier()).isEmpty
      // ECDSA makes another signature each time; the one that is there is as good.
      if isSigned { continue }
      file = RootFile(path: path, signed: try file.signed.signed(by: signer))
      isChanged = true
    }
    if isChanged { try DurableFile.write(RootFile.bytes(file.signed), to: path) }
    if arguments.has("json") {
      terminal.say(json: TrustDrafts.json(changed: isChanged, file.signed, before, path))
      return
    }
    terminal.say(
      "\(isChanged ? "signed" : "unchanged:") \(path): \(TrustOutput.signatures(file.signed, after: before))")
    if TrustOutput.isComplete(file.signed, after: before) {
      terminal.remark("next: `xcache trust push \(path) --sign-key FILE`")
    }
  }

  private static func inForce(
    _ words: String, _ path: String, _ arguments: Arguments, _ terminal: Terminal
  ) {
    let words = "nothing to sign: \(words)"
    if arguments.has("json") {
      terminal.say(json: ["changed": false, "detail": .string(words), "file": .string(path)])
    } else {
      terminal.say(words)
    }
  }

  /// The root before, if it is in the folder or named.
  private static func before(_ root: TrustRoot, _ arguments: Arguments, in folder: String) throws
    -> TrustRoot?
  {
    if let path = try arguments.value("root") { return try RootFile(path: path).root }
    return try RootFolder(folder).roots().first {
      $0.root.app == root.app && $0.root.number.next == root.number
    }?.root
  }

  private static func signers(_ arguments: Arguments, _ terminal: Terminal) throws -> [any StatementSigner] {
    let paths = arguments.all("key")
    guard !arguments.isGiven("sign-key") else {
      throw UsageError("a root key is given by --key FILE; --sign-key is the one that signs releases")
    }
    var signers: [any StatementSigner] = try paths.map { path in
      try KeyFile(path: path) { GivenSigner.passphrase(of: $0, arguments, terminal) }
    }
    if let command = try arguments.value("sign-with") {
      guard let publicKey = try arguments.value("public-key") else {
        throw UsageError("--sign-with needs its public key: --public-key FILE")
      }
      signers.append(
        SignCommand(command, key: try TrustKey(reading: publicKey), environment: arguments.environment))
    }
    guard !signers.isEmpty else {
      throw UsageError("give a root key: --key FILE, or --sign-with CMD --public-key FILE")
    }
    return signers
  }

  /// Puts a root into an envelope without signatures.
  static func envelope(_ root: TrustRoot) throws -> Signed<TrustRoot> {
    do {
      return try Signed(root)
    } catch {
      throw CeremonyError.noReader(error)
    }
  }
}
