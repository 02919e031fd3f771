import System
import Values

/// The servers saved by `xcache login`, each with its token, in a file that only its owner can read.
///
/// A token is only used for the server that it was saved for, since a project's `xcache.json`, which names a server, may come
/// from anybody.
struct Profiles {
  /// A saved server.
  struct Profile: Equatable {
    let server: BaseURL
    /// The token; nil if the file was written by hand without one.
    var token: String?
    /// The PEM file of trusted certificates; nil means the system's.
    var certificates: String?
    /// When the session that the token is of ends; nil if the token isn't a session's.
    var sessionEnd: Moment?

    init(
      server: BaseURL, token: String? = nil, certificates: String? = nil, sessionEnd: Moment? = nil
    ) {
      self.server = server
      self.token = token
      self.certificates = certificates
      self.sessionEnd = sessionEnd
    }
  }

  /// `$XDG_CONFIG_HOME/xcache/servers.json`, or in `~/.config`; empty if there is no home.
  let path: String
  private(set) var profiles: [Profile] = []

  private static let maxBytes = 1 << 18
  private static let longestToken = 1024

  /// Reads the file; there are no profiles if it doesn't exist.
  /// - Throws: `SettingsError`, also if others may read or write it.
  init(_ environment: [String: String]) throws(SettingsError) {
    path = Self.path(environment)
    if path.isEmpty { return }
    let bytes: [UInt8]?
    do {
      guard let status = try Kernel.status(path) else { return }
      guard status.kind == .file else { throw SettingsError(.unreadable("it is not a file"), in: path) }
      guard status.mode & 0o077 == 0 else { throw SettingsError(.open, in: path) }
      bytes = try DurableFile.read(path, limit: Self.maxBytes)
    } catch let error as SettingsError {
      throw error
    } catch {
      throw SettingsError(.unreadable((error as? SystemError)?.reason ?? "\(error)"), in: path)
    }
    guard let bytes else { return }
    try read(SettingsError.parse(bytes, in: path))
  }

  /// Returns the file's path, or an empty one if neither variable is set.
  private static func path(_ environment: [String: String]) -> String {
    if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") { return base + "/xcache/servers.json" }
    guard let home = environment["HOME"], home.hasPrefix("/") else { return "" }
    return home + "/.config/xcache/servers.json"
  }

  private mutating func read(_ json: JSONValue) throws(SettingsError) {
    for (key, node) in try SettingsNode(value: json, file: path).members() {
      guard key == "servers" else { throw node.unknown("servers") }
      for (server, node) in try node.members() {
        var profile = Profile(
          server: try SettingsValue.url(server, in: path, at: node.keys), token: nil, certificates: nil)
        for (key, value) in try node.members() {
          switch key {
          case "token":
            guard let token = Self.token(try value.text("a token")) else { throw value.wanted("a token") }
            profile.token = token
          case "cacert": profile.certificates = try value.text("a path")
          case "sessionEnd":
            guard let end = Timestamp.parse(try value.text("a time")) else { throw value.wanted("a time") }
            profile.sessionEnd = Moment(milliseconds: end)
          default: throw value.unknown("token", "cacert", "sessionEnd")
          }
        }
        profiles.append(profile)
      }
    }
  }

  /// Returns a text as a token, or nil if it can't be one.
  static func token(_ text: String) -> String? {
    let isPrintable = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    return !text.isEmpty && text.utf8.count <= longestToken && isPrintable ? text : nil
  }

  /// The default profile if no server is named; nil if there is none, or more than one.
  var only: Profile? { profiles.count == 1 ? profiles[0] : nil }

  /// The profile of exactly this server.
  subscript(server: BaseURL) -> Profile? { profiles.first { $0.server == server } }

  /// Saves a server's profile, replacing an earlier one.
  mutating func put(_ profile: Profile) {
    remove(profile.server)
    profiles.append(profile)
  }

  mutating func remove(_ server: BaseURL) { profiles.removeAll { $0.server == server } }

  /// Changes the file, under a lock against other logins and logouts.
  /// - Throws: `SettingsError`, also if the path is unknown; `SystemError`; `Failure` if another one doesn't end.
  static func change(_ environment: [String: String], _ body: (inout Profiles) throws -> Void) throws {
    let path = path(environment)
    guard !path.isEmpty else {
      throw SettingsError(
        .unreadable("neither HOME nor XDG_CONFIG_HOME is set"), in: "servers.json")
    }
    try Kernel.makeFolder(DurableFile.parent(of: path), mode: 0o700)
    for _ in 0..<longestWait {
      if let lock = try FileLock.take(path + ".lock") {
        var profiles = try Profiles(environment)
        try body(&profiles)
        try profiles.write()
        _ = consume lock
        return
      }
      Clock.sleep(for: .milliseconds(10))
    }
    throw Failure("\(path) is being changed by another login or logout; try again")
  }

  /// The maximum wait in hundredths of a second; each change only writes a file.
  private static let longestWait = 1000

  /// Writes the file, readable only by its owner.
  private func write() throws {
    var servers = JSONObject()
    for profile in profiles.sorted(by: { $0.server.text < $1.server.text }) {
      var members = JSONObject()
      members["cacert"] = profile.certificates.map { .string($0) }
      members["sessionEnd"] = profile.sessionEnd.map { .string(Timestamp.text($0.milliseconds)) }
      members["token"] = profile.token.map { .string($0) }
      servers[profile.server.text] = .object(members)
    }
    let text = PrettyJSON.text(["servers": .object(servers)]) + "\n"
    try DurableFile.write(Array(text.utf8), to: path, mode: 0o600)
  }
}
