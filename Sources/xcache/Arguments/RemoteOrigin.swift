import HTTPClient
import Manifests
import OriginAPI
import Publishing
import System

/// The origin, app and channel that a command is about: from flags, else the environment, else `xcache.json`, else what
/// `xcache login` knows.
struct RemoteOrigin {
  private(set) var settings: Settings
  /// Asks the origin, and whatever else a command asks beside it.
  let http: HTTPClient
  /// A file of the certificates to trust, PEM; nil: the system's.
  let certificates: String?
  private let arguments: Arguments

  /// - Parameters:
  ///   - namesApp: false for commands that may be given several apps.
  ///   - namesChannel: the same of channels.
  init(_ arguments: Arguments, namesApp: Bool = true, namesChannel: Bool = true) throws {
    self.arguments = arguments
    var given = Settings()
    // `value` looks into the environment, too, where the flag isn't given.
    if let text = try arguments.value("server") { given.server = try SettingsValue.url(text, in: "--server") }
    if namesApp, let text = try arguments.value("app") {
      given.app = try SettingsValue.app(text, in: "--app")
    }
    if namesChannel, let text = try arguments.value("channel") {
      given.channel = try SettingsValue.channel(text, in: "--channel")
    }
    given.token = try Self.token(arguments)
    var settings = given.over(try Settings.file(from: "."))
    let profile = try Self.profile(&settings, arguments)
    settings.token = settings.token ?? profile?.token
    self.settings = settings
    certificates = try Self.certificates(arguments) ?? profile?.certificates
    http = HTTPClient(authorities: certificates, trace: arguments.trace)
  }

  /// What is known of the server; where none is named, of the only one that is known.
  private static func profile(_ settings: inout Settings, _ arguments: Arguments) throws -> Profiles.Profile?
  {
    let needsIt = settings.server == nil || settings.token == nil
    let profiles: Profiles
    do {
      profiles = try Profiles(arguments.environment)
    } catch {
      // A file that is damaged matters to whoever needs it.
      if needsIt { throw error }
      return nil
    }
    if settings.server == nil, profiles.profiles.count == 1 { settings.server = profiles.profiles[0].server }
    return settings.server.flatMap { profiles[$0] }
  }

  /// - Throws: `Failure` for a file that isn't there.
  static func certificates(_ arguments: Arguments) throws -> String? {
    guard let path = try arguments.value("cacert") else { return nil }
    guard try Kernel.status(path)?.kind == .file else {
      throw Failure("--cacert \(path): there is no such file; it is a file of certificates in PEM")
    }
    return path
  }

  /// The token that is given: on the command line before what the environment has.
  static func token(_ arguments: Arguments) throws -> String? {
    if arguments.all("token-file").isEmpty || !arguments.all("token").isEmpty,
      let text = try arguments.value("token")
    {
      guard let token = Profiles.token(text) else {
        throw UsageError(
          "the token is none: it holds spaces, or characters that no token has; see XCACHE_TOKEN or --token")
      }
      return token
    }
    guard let path = try arguments.value("token-file") else { return nil }
    let bytes = try Arguments.file(path, limit: 4096)
    let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard let token = words.first.flatMap({ Profiles.token(String($0)) }) else {
      throw Failure("\(path) holds no token")
    }
    return token
  }

  var api: OriginClient {
    get throws { OriginClient(server: try server, token: settings.token, http: http) }
  }

  var server: BaseURL {
    get throws {
      guard let server = settings.server else {
        throw UsageError(
          "which server? Give --server URL, set XCACHE_SERVER, write \"server\" into xcache.json, or log in to one alone: "
            + "xcache login URL")
      }
      return server
    }
  }

  var app: AppName {
    get throws {
      guard let app = settings.app else {
        throw UsageError("which app? Give --app NAME, set XCACHE_APP, or write \"app\" into xcache.json")
      }
      return app
    }
  }

  var channel: ChannelName { settings.channel ?? .online }

  /// The newest version of the channel.
  var newestVersion: String {
    get throws {
      let newest = try api.overview(of: try address).value.version
      if newest == .none {
        throw Failure("nothing is published yet in channel \(channel) of app \(try app)")
      }
      return newest.text
    }
  }

  /// The channel, as the API's client takes it.
  var address: ChannelAddress {
    get throws { ChannelAddress(try app, channel) }
  }
}
