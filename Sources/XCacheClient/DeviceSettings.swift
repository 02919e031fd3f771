import Manifests
import System

/// Which channel a device follows, and where it keeps what it gets.
public struct DeviceSettings: Hashable, Sendable {
  /// The device's folder; made where it is missing, used by one process at a time.
  public var folder: String
  /// The origin's address, such as `https://xcache.example.com`, with or without a path.
  public var server: String
  /// The app's name.
  public var app: String
  /// The channel's name, `online` where the app doesn't say.
  public var channel: String
  /// The hosts that the manifest may have files for, and whose requests and scripts may be used: `m.example.com`, or
  /// `*.example.com` for a domain and all below it. Whatever else an origin lists is passed over and reported, so that
  /// whoever steals a token to publish can't answer for another site. `*` is every host: for tools, which open no page.
  public var hosts: [String]
  /// The address of the static copy that is asked once the origin has failed five times in a row.
  public var fallback: String?
  /// Files fetched at a time, of a server that doesn't take many requests over one connection as with HTTP/2.
  public var connections = 6
  /// Bytes that the listed and the set-aside files may take together on the disk, in its blocks; nil: as many as it has.
  ///
  /// Set-aside files go first, then the listed ones that were used least recently; each comes back when a page asks for it.
  /// A manifest may list more than fits. While an update runs, the files of both manifests are there.
  public var diskLimit: Int64?
  /// Bytes up to which an update is taken at once where `Conditions` don't allow large ones. Of a larger one the manifest
  /// alone is taken, and the files follow when a page asks for them, or when conditions allow.
  public var meteredLimit: Int64 = 256 << 10
  /// Bytes of a manifest, decoded, above which it is refused.
  public var manifestLimit: Int64 = 256 << 20
  /// Whether an update also works out what it would have cost by gzip; that takes time, and no device needs it.
  public var comparesWithGzip = false
  /// The Ed25519 public key, 32 bytes, by which the policy's scripts are signed; nil: the app injects none.
  public var scriptKey: [UInt8]?
  /// Whether a person looks at a release by this device: its polls don't count at the origin, which is told of no failure.
  package var isPreview = false
  /// Milliseconds before the second attempt to fetch a file, the third, and so on.
  public var retryPauses: [UInt32] = [200, 800]

  /// Settings for `channel` of `app` at `server`, whose pages are those of `hosts`, kept in `folder`.
  public init(folder: String, server: String, app: String, hosts: [String], channel: String = "online") {
    self.folder = folder
    self.server = server
    self.app = app
    self.hosts = hosts
    self.channel = channel
  }
}

/// Settings whose values can be what they are meant to be.
struct CheckedSettings: Sendable {
  let server: BaseURL
  let fallback: BaseURL?
  let app: AppName
  let hosts: HostList
  let channel: ChannelName
  let folder: String
  let connections: Int
  let diskLimit: Int64?
  let meteredLimit: Int64
  let manifestLimit: Int64
  let retryPauses: [UInt32]
  let comparesWithGzip: Bool
  let scriptKey: [UInt8]?
  let isPreview: Bool

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
    do {
      hosts = try HostList(settings.hosts)
    } catch {
      let value = if case .name(let name) = error { name } else { settings.hosts.joined(separator: " ") }
      throw .badSetting(name: "The list of hosts", value: value)
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
    diskLimit = settings.diskLimit.map { max(0, $0) }
    meteredLimit = settings.meteredLimit
    manifestLimit = settings.manifestLimit
    retryPauses = settings.retryPauses
    comparesWithGzip = settings.comparesWithGzip
    isPreview = settings.isPreview
  }

  private static func base(_ text: String, name: String) throws(ClientError) -> BaseURL {
    guard let base = try? BaseURL(text) else { throw .badSetting(name: name, value: text) }
    return base
  }

  /// Where the origin is polled. With a manifest held, the query says which, so that a pack or a patch may come back.
  func originURL(holding held: DeviceIndex, takesPacks: Bool = false) -> String {
    var url = "\(server)/configure.json?app=\(app)&channel=\(channel)"
    if held.version > .none { url += "&version=\(held.version)&digest=\(held.digest.hex)" }
    url += takesPacks ? "&patch=1&pack=1" : "&patch=1"
    return isPreview ? url + "&preview=1" : url
  }

  /// Where the origin is told of failures.
  var reportURL: String { "\(server)/report?app=\(app)&channel=\(channel)" }

  /// Where the mirror has one of the channel's documents.
  func mirrorURL(_ document: String) -> String {
    "\(fallback ?? server)/\(channel.space)/\(app)/\(document)"
  }
}
