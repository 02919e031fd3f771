import Linux
import Manifests
import OriginAPI
import Publishing
import System
import Trust
import Values

/// `xcache trust init`: an app's keys and its first root.
enum TrustInit {
  static let options: [Option] = [
    .value("root-key", "FILE", "the key that signs roots (init; default: root.key)").only("init"),
    .value("spare-key", "FILE", "the spare of it (init; default: root-spare.key)").only("init"),
    .value("release-key", "FILE", "the key that signs releases (init; default: release.key)").only("init"),
    .value("environment", "NAME", "such as staging, so that no other environment takes what is signed (init)")
      .only("init"),
    .value("script-key", "KEY", "the Ed25519 key of policy scripts, in base64, in place of the app's (init)")
      .only("init"),
  ]

  /// A key of the root: a file's, or one that is to be made.
  private struct Key {
    let role: String
    let path: String
    /// Nil if it is to be made, or is elsewhere.
    var file: KeyFile?
    /// Nil if it is to be made.
    var key: TrustKey?
    var passphrase: [UInt8]?

    var isNew: Bool { key == nil }
  }

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    _ = try arguments.operands("init")
    let context = try TrustContext(arguments, terminal)
    let path = context.folder.path(of: .first)
    if try Kernel.status(path) != nil { throw TrustContext.exists(path) }
    let environment = try environment(arguments)
    let scriptKey = try TrustDrafts.scriptKey(arguments)
    var grant = try TrustDrafts.grant(arguments, keys: [])
    // Before anything is made: the origin can be down, or the token wrong.
    let roots = try context.overview().roots
    guard roots.isEmpty else {
      throw Failure(
        "app \(context.app) has a root already, number \(roots.map(\.number).max() ?? 0): `xcache trust status` shows it, and "
          + "`xcache trust add-key`, for example, writes the next one", code: .refused, name: "exists")
    }
    var keys = try keys(context)
    let head = try context.remote.api.headKey(HeadKeyRequest(), of: context.app).value
    guard let headKey = TrustKey(base64: head.key), headKey.id.text == head.keyid else {
      throw Failure("the origin's head key isn't one on P-256")
    }
    try make(&keys, in: context.folder.path)
    grant.keys = Set([keys[2].key?.id].compactMap(\.self))
    var draft = RootDraft(
      app: context.app, environment: environment, roots: keys[..<2].compactMap(\.key),
      releases: keys[2...].compactMap(\.key), grant: grant, head: headKey)
    draft.scriptKey = scriptKey
    var signed = try TrustSign.envelope(draft.root())
    for key in keys[..<2] { if let file = key.file { signed = try signed.signed(by: file) } }
    try TrustContext.create(RootFile.bytes(signed), at: path)
    say(keys, headKey.id, signed, path, context)
  }

  private static func environment(_ arguments: Arguments) throws -> TrustEnvironment? {
    guard let text = try arguments.value("environment") else { return nil }
    guard let environment = TrustEnvironment(text) else {
      throw UsageError(
        "--environment \(text): expected a lowercase letter, then lowercase letters, digits and -, 32 at most"
      )
    }
    return environment
  }

  // MARK: Keys

  private static func keys(_ context: TrustContext) throws -> [Key] {
    let arguments = context.arguments
    var keys: [Key] = []
    for (role, option, name) in [
      ("root key", "root-key", "root.key"), ("spare root key", "spare-key", "root-spare.key"),
      ("release key", "release-key", "release.key"),
    ] {
      let path = try arguments.value(option) ?? "\(context.folder.path)/\(name)"
      keys.append(try key(role, path, context))
    }
    if Set(keys.map(\.path)).count < 3 { throw UsageError("the three keys need a file each") }
    for index in keys.indices where keys[index].isNew {
      keys[index].passphrase = try newPassphrase(of: keys[index].path, arguments, context.terminal)
    }
    let known = keys.compactMap(\.key?.id)
    if Set(known).count < known.count { throw UsageError("the three keys have to be different ones") }
    return keys
  }

  private static func key(_ role: String, _ path: String, _ context: TrustContext) throws -> Key {
    if let key = TrustKey(base64: path) { return Key(role: role, path: path, key: key) }
    guard try Kernel.status(path) != nil else { return Key(role: role, path: path) }
    let (key, file) = try read(path, context.arguments, context.terminal)
    if file != nil { context.terminal.remark("\(path) is there already, and is used as the \(role)") }
    return Key(role: role, path: path, file: file, key: key)
  }

  /// Reads the key in a file, which is a private or a public one.
  static func read(_ path: String, _ arguments: Arguments, _ terminal: Terminal) throws
    -> (key: TrustKey, file: KeyFile?)
  {
    let text = String(decoding: try Arguments.file(path, limit: 1 << 16), as: UTF8.self)
    guard text.contains("PRIVATE KEY-----") else { return (try TrustKey(reading: path), nil) }
    let file = try KeyFile(path: path) { GivenSigner.passphrase(of: $0, arguments, terminal) }
    return (file.key, file)
  }

  /// The length of the shortest passphrase for a new key, in bytes.
  private static let shortest = 8

  /// Returns the passphrase for a new key; nil for none.
  static func newPassphrase(of path: String, _ arguments: Arguments, _ terminal: Terminal) throws -> [UInt8]?
  {
    if arguments.has("no-passphrase") { return nil }
    let variable = GivenSigner.passphraseVariable
    if let given = arguments.environment[variable], !given.isEmpty {
      guard given.utf8.count >= shortest else {
        throw UsageError("\(variable) is too short for a new key: give \(shortest) characters or more")
      }
      return Array(given.utf8)
    }
    guard StandardInput.isTerminal else {
      throw UsageError(
        "a new key needs a passphrase: set \(variable), or run this in a terminal; --no-passphrase makes it without"
      )
    }
    for _ in 0..<3 {
      guard let first = GivenSigner.typed("passphrase for the new key \(path): ", terminal) else {
        terminal.note("an empty one protects nothing; --no-passphrase makes a key without")
        continue
      }
      guard first.count >= shortest else {
        terminal.note("that is too short: give \(shortest) characters or more")
        continue
      }
      if GivenSigner.typed("once more: ", terminal) == first { return first }
      terminal.note("they differ")
    }
    throw UsageError("no passphrase was given; nothing was made")
  }

  /// Makes a key's file; an existing one isn't replaced.
  static func makeKey(at path: String, passphrase: [UInt8]?) throws -> KeyFile {
    do throws(SystemError) {
      return try KeyFile.make(at: path, passphrase: passphrase)
    } catch {
      guard error.code == .fileExists else { throw error }
      throw TrustContext.exists(path)
    }
  }

  private static func make(_ keys: inout [Key], in folder: String) throws {
    if try Kernel.status(folder) == nil { try Kernel.makeFolder(folder, mode: 0o700) }
    for index in keys.indices where keys[index].isNew {
      let file = try makeKey(at: keys[index].path, passphrase: keys[index].passphrase)
      keys[index].file = file
      keys[index].key = file.key
    }
  }

  // MARK: Words

  private static func say(
    _ keys: [Key], _ head: KeyID, _ signed: Signed<TrustRoot>, _ path: String, _ context: TrustContext
  ) {
    let terminal = context.terminal
    let isComplete = RootChain.failure(ofFirst: signed) == nil
    if context.arguments.has("json") {
      terminal.say(json: [
        "app": .string(context.app.text), "headKey": .string(head.text), "root": .string(path),
        "signed": .bool(isComplete),
        "keys": .array(
          keys.map { key in
            [
              "file": .string(key.path), "keyid": .string(key.key?.id.text ?? ""),
              "role": .string(key.role),
            ]
          }),
      ])
      return
    }
    for key in keys {
      terminal.say("\(key.role)  \(key.key.map { TrustOutput.short($0.id) } ?? "")  \(key.path)")
    }
    terminal.say("head key  \(TrustOutput.short(head))  on the origin")
    terminal.say(
      "wrote \(path): root 1 of app \(context.app); \(TrustOutput.signatures(signed, after: nil))")
    if terminal.isQuiet { return }
    for line in belongs(keys, path) { terminal.say(line) }
    terminal.remark(
      isComplete
        ? "next: `xcache trust push \(path) --sign-key \(keys[2].path)` signs what the channels hold and puts the root in force. "
          + "Build the app with it after that"
        : "next: `xcache trust sign \(path) --sign-with CMD --public-key FILE`, by one of the root keys")
  }

  /// What a private key is called: its file, or that of its public key.
  private static func name(_ key: Key) -> String {
    key.file == nil ? "the private key of \(key.path)" : key.path
  }

  /// What belongs where.
  private static func belongs(_ keys: [Key], _ path: String) -> [String] {
    [
      "", "what belongs where:",
      "  \(path): into the app's build (DeviceSettings.root) and `xcache web init --root \(path)`; it is public, keep it with the source",
      keys[2].file == nil
        ? "  the private key of \(keys[2].path): stays where it is; CI signs by it, with --sign-with CMD --public-key \(keys[2].path) or "
          + "\"signWith\" in xcache.json"
        : "  \(keys[2].path): into a secret of CI, as XCACHE_SIGN_KEY, its passphrase as XCACHE_SIGN_PASSPHRASE; delete it here then",
      "  \(name(keys[0])): offline, such as on a stick in a drawer; on no server and in no CI. It signs the next root",
      "  \(name(keys[1])): sealed, and elsewhere, such as in a safe of another building. It is the way back if \(name(keys[0])) is lost",
      "  the head key: stays on the origin, readable only by it",
    ]
  }
}
