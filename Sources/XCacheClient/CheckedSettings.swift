import Manifests
import System

/// Settings whose values can be what they are meant to be.
struct CheckedSettings: Sendable {
  let server: BaseURL
  let fallback: BaseURL?
  let app: AppName
  let channel: ChannelName
  let folder: String
  let connections: Int
  let diskLimit: Int64?
  let manifestLimit: Int64
  let retryPauses: [UInt32]
  let comparesWithGzip: Bool
  let scriptKey: [UInt8]?

  /// - Throws: `badSetting`.
  init(_ settings: DeviceSettings) throws(ClientError) {
    server = try Self.base(settings.server, name: "The server's address")
    if let text = settings.fallback {
      fallback = try Self.base(text, name: "The fallback's address")
    } else {
      fallback = nil
    }
    guard let app = try? AppName(settings.app) else {
      throw .badSetting(name: "The app's name", value: settings.app)
    }
    guard let channel = try? ChannelName(settings.channel) else {
      throw .badSetting(name: "The channel's name", value: settings.channel)
    }
    guard !settings.folder.isEmpty, !settings.folder.utf8.contains(0) else {
      throw .badSetting(name: "The folder", value: settings.folder)
    }
    if let key = settings.scriptKey, key.count != Ed25519.keyCount {
      throw .badSetting(name: "The key that scripts are signed by", value: "\(key.count) bytes")
    }
    scriptKey = settings.scriptKey
    self.app = app
    self.channel = channel
    folder = settings.folder
    connections = min(max(settings.connections, 1), 64)
    diskLimit = settings.diskLimit
    manifestLimit = settings.manifestLimit
    retryPauses = settings.retryPauses
    comparesWithGzip = settings.comparesWithGzip
  }

  private static func base(_ text: String, name: String) throws(ClientError) -> BaseURL {
    guard let base = try? BaseURL(text) else { throw .badSetting(name: name, value: text) }
    return base
  }

  /// Where the origin is polled. With a manifest held, the query says which, so that a patch may come back.
  func originURL(holding held: DeviceIndex) -> String {
    var url = "\(server)/configure.json?app=\(app)&channel=\(channel)"
    if held.version > .none { url += "&version=\(held.version)&digest=\(held.digest.hex)" }
    return url + "&patch=1"
  }

  /// Where the origin is told of failures.
  var reportURL: String { "\(server)/report?app=\(app)&channel=\(channel)" }

  /// Where the mirror has one of the channel's documents.
  func mirrorURL(_ document: String) -> String {
    "\(fallback ?? server)/\(channel.space)/\(app)/\(document)"
  }
}
