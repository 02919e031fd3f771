import System
import Values

/// The tokens that the ID tokens of jobs were traded for, in `$XDG_CACHE_HOME/xcache/jobs` or `~/.cache/xcache/jobs`: the commands of one
/// job trade its ID token once, since an origin takes it only once.
///
/// The folder and its files are their owner's only. An ID token isn't kept.
struct JobTokenFolder: Sendable {
  /// What is kept of a trade.
  struct Entry: Equatable, Sendable {
    /// The server that the token is for; it is sent to no other.
    let server: String
    /// The token's secret, 32 bytes: written before the ID token is sent, so that a lost answer can be asked for again.
    let secret: [UInt8]
    /// The token's id, once it is known.
    var id: String?
    /// When it ends, in milliseconds since 1970.
    var endsAt: Int64?

    /// The token's text.
    var token: String? { id.map { "xcache_\($0)_\(Base64URL.encode(secret))" } }
  }

  let path: String
  /// The most bytes that a file may have.
  private static let limit = 4096
  /// How long files are kept, in milliseconds: a day, as long as an origin takes an ID token at most.
  private static let life: Int64 = 86_400_000

  /// Uses the folder of the XDG base directory specification; nil if there is no home.
  init?(_ environment: [String: String]) {
    if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") {
      path = base + "/xcache/jobs"
    } else if let home = environment["HOME"], home.hasPrefix("/") {
      path = home + "/.cache/xcache/jobs"
    } else {
      return nil
    }
  }

  /// Returns the name of the file for an ID token at a server.
  static func name(server: String, identity: String?, key: String) -> String {
    SHA256.of(Array("\(server)\n\(identity ?? "")\n\(key)".utf8)).hex
  }

  /// Whether the folder is there, or could be made: in some containers nothing may be written.
  var isThere: Bool { (try? Kernel.makeFolder(path, mode: 0o700)) != nil }

  /// Runs `body` while no other command trades the same ID token.
  /// - Throws: `Failure` if the folder isn't this user's only, or another command doesn't end; `SystemError`.
  func locked<Value>(_ name: String, _ body: () throws -> Value) throws -> Value {
    try check(path, .folder)
    for _ in 0..<Self.longestWait {
      if let lock = try FileLock.take("\(path)/\(name).lock") {
        let result = Result { try body() }
        _ = consume lock
        return try result.get()
      }
      Clock.sleep(for: .milliseconds(50))
    }
    throw Failure("another command of this job has been trading its ID token for a minute; try again")
  }

  /// The maximum wait, in twentieths of a second.
  private static let longestWait = 1200

  /// Checks that nobody else may have written, or may read, what is there.
  /// - Throws: `Failure`.
  private func check(_ path: String, _ kind: FileStatus.Kind) throws {
    guard let status = try Kernel.status(path, followLinks: false) else { return }
    guard status.kind == kind else {
      throw Failure(
        "\(path) is not a \(kind == .folder ? "folder" : "file"); remove it", code: .usage, name: "settings")
    }
    guard status.owner == Environment.userID else {
      throw Failure(
        "\(path), which keeps the tokens of jobs, belongs to another user; remove it, or set XDG_CACHE_HOME to a folder of your own",
        code: .usage, name: "settings")
    }
    guard status.mode & 0o077 == 0 else {
      throw Failure(
        "other users of this machine may read or write \(path), which keeps the tokens of jobs: run chmod go= \(path)",
        code: .usage, name: "settings")
    }
  }

  /// Returns what is kept under a name, or nil if there is nothing, or it can't be read.
  /// - Throws: `Failure` if the file isn't this user's only; `SystemError`.
  func read(_ name: String, server: String) throws -> Entry? {
    let file = "\(path)/\(name)"
    try check(file, .file)
    // What is too long was written by something else.
    guard let bytes = try? DurableFile.read(file, limit: Self.limit),
      let json = try? JSONValue.parse(bytes),
      json["server"]?.string == server,
      let secret = json["secret"]?.string.flatMap({ Hex.decode($0, count: 32) })
    else { return nil }
    var entry = Entry(server: server, secret: secret)
    entry.id = json["id"]?.string
    entry.endsAt = json["endsAt"]?.integer
    return entry
  }

  /// Keeps an entry.
  func write(_ entry: Entry, _ name: String) throws {
    var json = JSONObject()
    json["endsAt"] = entry.endsAt.map { .integer($0) }
    json["id"] = entry.id.map { .string($0) }
    json["secret"] = .string(Hex.encode(entry.secret.span.bytes))
    json["server"] = .string(entry.server)
    try DurableFile.write(JSONValue.object(json).canonical, to: "\(path)/\(name)", mode: 0o600)
  }

  /// Removes what was written long ago; a failure only leaves it there.
  func sweep() {
    let oldest = (Clock.unixMilliseconds() - Self.life) * 1_000_000
    let old = try? Folder.entries(path) { String(validating: $0, as: UTF8.self) }
    for entry in old ?? [] where entry.status.kind == .file && entry.status.modified < oldest {
      try? Kernel.remove("\(path)/\(entry.name)")
    }
  }
}
