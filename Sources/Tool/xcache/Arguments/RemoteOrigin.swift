import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import Publishing
import System
import Values

/// The origin, app and channel of a command: from flags, the environment, `xcache.json` or `xcache login`, in this order.
struct RemoteOrigin {
  private(set) var settings: Settings
  /// The client for the origin, and for a command's other requests.
  let http: HTTPClient
  /// The PEM file of trusted certificates; nil means the system's.
  let certificates: String?
  /// The source of the token, for messages; nil if there is no token.
  let tokenSource: String?
  /// The job's ID token, if it is what this command asks with.
  private let idToken: GivenIDToken?
  /// When the person's session that `xcache login` saved ends; nil if that isn't what this command asks with.
  private let sessionEnd: Moment?
  private let arguments: Arguments
  /// The servers that `xcache login` knows, if none of them was selected.
  private let known: [BaseURL]
  /// Called with each request if --verbose was given.
  var trace: (@Sendable (String) -> Void)? { arguments.trace }

  /// Reads the arguments. `namesApp` and `namesChannel` are false for commands that accept several apps or channels.
  init(_ arguments: Arguments, namesApp: Bool = true, namesChannel: Bool = true) throws {
    self.arguments = arguments
    var given = Settings()
    // `value` also reads the environment if the flag isn't given.
    if let text = try arguments.value("server") {
      given.server = try SettingsValue.url(text, in: arguments.source("server"))
    }
    if namesApp, let text = try arguments.value("app") {
      given.app = try SettingsValue.app(text, in: arguments.source("app"))
    }
    if namesChannel, let text = try arguments.value("channel") {
      given.channel = try SettingsValue.channel(text, in: arguments.source("channel"))
    }
    let token = try Self.token(arguments)
    given.token = token?.text
    idToken = token == nil ? try GivenIDToken(arguments) : nil
    let file = try Self.file(
      arguments, needs: arguments.all("server").isEmpty || namesApp && arguments.all("app").isEmpty)
    if namesApp, arguments.all("app").isEmpty, let app = given.app, let other = file.app, app != other {
      arguments.remark(
        "this is about app \(app), as XCACHE_APP says; \(file.file ?? "xcache.json") names \(other)")
    }
    var settings = given.over(file)
    let (profile, known) = try Self.profile(&settings, arguments, needsToken: idToken == nil)
    self.known = settings.server == nil ? known : []
    // As in a CI job without its secret, which must not use the login of whoever uses the machine, too.
    if settings.token == nil, idToken == nil, profile?.token != nil,
      arguments.environment["XCACHE_TOKEN"]?.isEmpty == true
    {
      throw UsageError(
        "XCACHE_TOKEN is set, but empty: set it to a token, or unset it to use that of `xcache login`")
    }
    let saved = settings.token == nil && idToken == nil ? profile?.token : nil
    settings.token = settings.token ?? saved
    self.settings = settings
    tokenSource =
      token?.source ?? idToken.map { "the job's ID token (\($0.source))" }
      ?? saved.map { _ in "xcache login" }
    sessionEnd = saved == nil ? nil : profile?.sessionEnd
    certificates = try Self.certificates(arguments) ?? Self.certificates(of: profile)
    http = arguments.http(authorities: certificates)
  }

  /// Returns the settings of `xcache.json`. A damaged one doesn't keep a command whose options say where, such as the kill switch.
  private static func file(_ arguments: Arguments, needs: Bool) throws -> Settings {
    do {
      return try Settings.file(from: ".")
    } catch {
      if needs || arguments.takes("exclude") { throw error }
      arguments.remark("warning: \(error.message); it isn't used here")
      return Settings()
    }
  }

  /// Returns the given token. An ID token on the command line precedes a token of the environment.
  private static func token(_ arguments: Arguments) throws -> GivenToken? {
    guard arguments.isGiven("id-token") else { return try GivenToken(arguments) }
    for other in ["token", "token-file"] where arguments.isGiven(other) {
      throw UsageError("give either --\(other) or --id-token, not both")
    }
    return nil
  }

  /// Returns the profile of the server; if no server is named, that of the only known one.
  private static func profile(_ settings: inout Settings, _ arguments: Arguments, needsToken: Bool) throws
    -> (Profiles.Profile?, known: [BaseURL])
  {
    let needsIt = settings.server == nil || settings.token == nil && needsToken
    let profiles: Profiles
    do {
      profiles = try Profiles(arguments.environment)
    } catch {
      // A damaged file matters only if it is needed.
      if needsIt { throw error }
      return (nil, [])
    }
    settings.server = settings.server ?? profiles.only?.server
    return (settings.server.flatMap { profiles[$0] }, profiles.profiles.map(\.server))
  }

  /// Returns the file of `--cacert`.
  /// - Throws: `Failure` if it contains no certificate.
  static func certificates(_ arguments: Arguments) throws -> String? {
    guard let path = try arguments.value("cacert") else { return nil }
    return try checked(path, "\(arguments.source("cacert")) \(path)")
  }

  /// Returns the certificate file that `login --cacert` saved for a server.
  private static func certificates(of profile: Profiles.Profile?) throws -> String? {
    guard let path = profile?.certificates else { return nil }
    return try checked(path, "\(path), which xcache login keeps for \(profile?.server.text ?? "")")
  }

  private static func checked(_ path: String, _ place: String) throws -> String {
    if let kind = try Kernel.status(path)?.kind, kind != .file {
      throw Failure(
        "\(place) is \(kind == .folder ? "a folder" : "not a file"); expected a file of PEM certificates",
        name: "no-files")
    }
    guard try Kernel.status(path) != nil else {
      throw Failure("\(place): no such file; expected a file of PEM certificates", name: "no-files")
    }
    let text = String(decoding: try Arguments.file(path), as: UTF8.self)
    guard text.contains(PEMCertificates.begin) else {
      throw Failure(
        "\(place) contains no PEM certificate, which begins with \(PEMCertificates.begin)", code: .usage,
        name: "certificates")
    }
    if let damaged = PEMCertificates.firstDamaged(in: text) {
      throw Failure(
        "\(place): certificate \(damaged) in it is damaged; copy the file again from its source",
        code: .usage, name: "certificates")
    }
    return path
  }

  var api: OriginClient {
    get throws { OriginClient(server: try server, credential: try credential, http: http) }
  }

  /// What this command asks with; nil if there is no token. A job's ID token is traded for it, at this server.
  /// - Throws: `OriginError`, `Failure` if an ID token can't be traded.
  var credential: OriginCredential? {
    get throws {
      if let idToken {
        let identity = arguments.environment["XCACHE_IDENTITY"]
        return try JobTokens(
          server: try server, given: idToken, identity: identity.flatMap { $0.isEmpty ? nil : $0 },
          http: http,
          folder: JobTokenFolder(arguments.environment), trace: trace, remark: arguments.remark
        ).credential()
      }
      guard let text = settings.token else { return nil }
      guard let sessionEnd else { return OriginCredential(text, source: tokenSource) }
      return OriginCredential(
        .init(text), source: tokenSource, remedy: Self.remedy(sessionEnd, at: try server))
    }
  }

  /// Whether there is something to ask with. What GitHub gives any job that may have ID tokens needn't be meant for this origin.
  var hasCredential: Bool { settings.token != nil || idToken?.isRenewable == false }

  /// What this command asks with where it could do without; nil also if the origin refuses what GitHub gives the job.
  var credentialIfAny: OriginCredential? {
    get throws {
      do {
        return try credential
      } catch OriginError.refused where !hasCredential {
        return nil
      }
    }
  }

  /// What is said if the origin takes no notice of a person's session any more.
  private static func remedy(_ end: Moment, at server: BaseURL) -> String {
    let isOver = end.milliseconds <= Clock.unixMilliseconds()
    return "your session at \(server) \(isOver ? "ended at \(end.formatted)" : "was ended before its time"); "
      + "sign in again: xcache login --sso \(server)"
  }

  var server: BaseURL {
    get throws {
      guard let server = settings.server else { throw missing() }
      return server
    }
  }

  /// The error that options are missing: those that `words` name, and the server and app if they are missing, too.
  func missing(_ words: String..., app needsApp: Bool? = nil) -> UsageError {
    var all = words
    if settings.server == nil {
      all.append(
        known.isEmpty
          ? "no server given: use --server URL, set XCACHE_SERVER, add \"server\" to xcache.json, or log in to exactly one: "
            + "`xcache login URL`"
          : "no server given, and you are logged in to \(known.count) servers: choose one with --server or XCACHE_SERVER: "
            + known.map(\.text).alternatives)
    }
    if settings.app == nil, needsApp ?? arguments.needsApp {
      all.append("no app given: use --app NAME, set XCACHE_APP, or add \"app\" to xcache.json")
    }
    return UsageError(all.joined(separator: "\n"))
  }

  var app: AppName {
    get throws {
      guard let app = settings.app else { throw missing(app: true) }
      return app
    }
  }

  /// Returns the same for another channel.
  func about(_ channel: ChannelName) -> RemoteOrigin {
    var remote = self
    remote.settings.channel = channel
    return remote
  }

  var channel: ChannelName { settings.channel ?? .online }

  /// The channel's newest version.
  var newestVersion: String {
    get throws {
      let newest = try api.overview(of: try address).value.version
      if newest == .none { throw try nothingPublished }
      return newest.text
    }
  }

  /// The failure that the channel is empty.
  var nothingPublished: Failure {
    get throws {
      Failure("nothing is published yet in channel \(channel) of app \(try app)", name: "unknown-version")
    }
  }

  /// The channel as an API address.
  var address: ChannelAddress {
    get throws { ChannelAddress(try app, channel) }
  }
}

/// PEM certificates (RFC 7468), checked before any request: a bad file isn't the server's fault.
enum PEMCertificates {
  static let begin = "-----BEGIN CERTIFICATE-----"
  private static let end = "-----END CERTIFICATE-----"

  /// Returns the number, from 1, of the first invalid certificate: without an end, not Base64, or not a single DER sequence.
  /// nil if all may be valid.
  static func firstDamaged(in text: String) -> Int? {
    for (index, part) in text.components(after: begin).enumerated() {
      guard let end = part.firstRange(of: end) else { return index + 1 }
      let body = part[..<end.lowerBound].filter { !$0.isWhitespace }
      guard let bytes = Base64.decode(body), isSequence(bytes) else { return index + 1 }
    }
    return nil
  }

  /// Whether the bytes are one DER SEQUENCE of the encoded length (X.690 §8.1.3).
  private static func isSequence(_ bytes: [UInt8]) -> Bool {
    guard bytes.count > 4, bytes[0] == 0x30 else { return false }
    let first = Int(bytes[1])
    if first < 0x80 { return bytes.count == 2 + first }
    let count = first & 0x7f
    guard (1...3).contains(count), bytes.count > 2 + count else { return false }
    return bytes[2..<2 + count].reduce(0) { $0 << 8 | Int($1) } == bytes.count - 2 - count
  }
}

extension String {
  /// Returns the text after each occurrence of `mark`, up to the next one.
  fileprivate func components(after mark: String) -> [Substring] {
    let starts = ranges(of: mark)
    return starts.enumerated().map { index, range in
      self[range.upperBound..<(index + 1 < starts.count ? starts[index + 1].lowerBound : endIndex)]
    }
  }
}
