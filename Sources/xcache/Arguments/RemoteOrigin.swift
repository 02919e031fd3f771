import Manifests
import OriginAPI
import Publishing
import System

/// The origin, app and channel that a command is about: from flags, else the environment, else `xcache.json`.
struct RemoteOrigin {
  let settings: Settings
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
    settings = given.over(try Settings.file(from: "."))
  }

  private static func token(_ arguments: Arguments) throws -> String? {
    if let token = try arguments.value("token") { return token }
    guard let path = try arguments.value("token-file") else { return nil }
    guard let bytes = try DurableFile.read(path, limit: 4096) else {
      throw Failure("there is no token file \(path)")
    }
    return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).first.map(String.init)
  }

  var api: OriginClient {
    get throws { OriginClient(server: try server, token: settings.token) }
  }

  var server: BaseURL {
    get throws {
      guard let server = settings.server else {
        throw UsageError(
          "which server? Give --server URL, set XCACHE_SERVER, or write \"server\" into xcache.json")
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
