import Manifests
import System
import Trust
import Values

/// Which channel a device follows, and where and how it keeps its files.
public struct DeviceSettings: Hashable, Sendable {
  /// The device's folder; created if it is missing, used by one process at a time.
  public var folder: String
  /// The origin's address, such as `https://xcache.example.com`, with or without a path.
  public var server: String
  /// The app's name.
  public var app: String
  /// The channel's name; `online` by default.
  public var channel: String
  /// The hosts that the manifest may list files for, and whose prefetch calls and scripts may be used: `m.example.com`, or
  /// `*.example.com` for a domain and its subdomains. Anything else that an origin lists is ignored and reported, so that a
  /// stolen publish token can't be used to answer for another site. `*` allows every host, for tools that open no page.
  public var hosts: [String]
  /// The address of the static copy, which is polled once the origin has failed five times in a row.
  public var fallback: String?
  /// The number of files fetched concurrently from a server that doesn't multiplex requests as HTTP/2 does.
  public var connections = 6
  /// The bytes that listed and set-aside files together may take on the disk, in whole blocks; nil for no limit.
  ///
  /// Set-aside files are removed first, then the least recently used listed files; a listed one is fetched again when a
  /// page requests it. A manifest may list more than fits. During an update, the disk holds the files of both manifests.
  public var diskLimit: Int64?
  /// The size in bytes up to which an update is fetched at once when `Conditions` don't allow large ones. Of a larger one
  /// only the manifest is taken, and the files follow when a page requests them, or when conditions allow.
  public var meteredLimit: Int64 = 256 << 10
  /// The size in bytes, decoded, above which a manifest is refused.
  public var manifestLimit: Int64 = 64 << 20
  /// Whether an update also computes what it would have cost with gzip; that takes time, and no device needs it.
  public var comparesWithGzip = false
  /// The Ed25519 public key, 32 bytes, that verifies the policy's scripts; nil if the app injects none.
  public var scriptKey: [UInt8]?
  /// The bytes of `root.json`, which says who signs the app's releases: from then on, the device takes manifests, prefetch configs
  /// and presets only with these signatures, whoever serves them. A build with another root than the build before starts from
  /// that one. Nil if nothing is signed.
  public var root: [UInt8]?
  /// The app's version, such as `4.2.0`, for rollouts that name a range of app versions; nil if it is unknown. It is never
  /// sent. `Device.appVersion` changes it while the device is open.
  public var appVersion: String?
  /// The groups that this device is in, such as `qa`, for rollouts that name groups. They are never sent. `Device.groups`
  /// changes them while the device is open.
  public var groups: Set<String> = []
  /// Whether this device previews a release for a person: the origin doesn't count its polls, and gets no failure reports.
  package var isPreview = false
  /// The delays in milliseconds before the second attempt to fetch a file, the third, and so on.
  public var retryPauses: [UInt32] = [200, 800]
  /// Whether the device keeps the version before until a page has proved the new one, and goes back by itself. `Runtime` sets it: only
  /// who opens pages can tell.
  package var goesBack = false
  /// The zip that ships with the app: where the device goes back to if it has no version before.
  package var preset: String?
  /// How slowly a document may come.
  package var documentPace = DocumentPace()

  /// Creates settings for `channel` of `app` at `server`, with pages on `hosts` and its files in `folder`.
  public init(folder: String, server: String, app: String, hosts: [String], channel: String = "online") {
    self.folder = folder
    self.server = server
    self.app = app
    self.hosts = hosts
    self.channel = channel
  }
}

/// Settings that have been validated.
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
  let documentPace: DocumentPace
  let comparesWithGzip: Bool
  let scriptKey: [UInt8]?
  let root: Signed<TrustRoot>?
  let isPreview: Bool
  let goesBack: Bool
  let preset: String?
  /// The version that polls say is skipped.
  var skipped: ManifestVersion?
  /// Whether the device that polls holds a manifest, also where the poll doesn't name it.
  var holdsManifest = false

  /// - Throws: `badSetting`.
  init(_ settings: DeviceSettings) throws(DeviceError) {
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
    root = try Self.root(settings, of: app)
    self.app = app
    self.channel = channel
    folder = settings.folder
    connections = min(max(settings.connections, 1), 64)
    diskLimit = settings.diskLimit.map { max(0, $0) }
    meteredLimit = settings.meteredLimit
    manifestLimit = settings.manifestLimit
    retryPauses = settings.retryPauses
    documentPace = settings.documentPace
    comparesWithGzip = settings.comparesWithGzip
    isPreview = settings.isPreview
    goesBack = settings.goesBack
    preset = settings.preset
  }

  private static func base(_ text: String, name: String) throws(DeviceError) -> BaseURL {
    guard let base = try? BaseURL(text) else { throw .badSetting(name: name, value: text) }
    return base
  }

  private static func root(
    _ settings: DeviceSettings, of app: AppName
  ) throws(DeviceError) -> Signed<TrustRoot>? {
    guard let bytes = settings.root else { return nil }
    let name = "The root, the bytes of root.json,"
    let root: Signed<TrustRoot>
    do throws(TrustFormError) {
      root = try Signed(parsing: bytes)
    } catch {
      throw .badSetting(name: name, value: "\(error)")
    }
    guard root.document.app == app else {
      throw .badSetting(name: name, value: "that of the app \(root.document.app)")
    }
    return root
  }

  /// Returns the URL to poll at the origin. Its query names the held manifest, if any, so that the answer can be a pack, which
  /// may leave out lazy files if that manifest has any (D-177), or a patch; and says whether the answer is to be about the
  /// candidate of a rollout. A device that holds a manifest and asks for a whole one names version 0: a poll without a version may
  /// be answered by a shared cache, with an older manifest than the held one (D-31).
  func originURL(holding held: DeviceIndex, takesPacks: Bool = false, asksForCandidate: Bool = false)
    -> String
  {
    var url = "\(server)/configure.json?app=\(app)&channel=\(channel)"
    if held.version > .none {
      url += "&version=\(held.version)&digest=\(held.digest.hex)"
    } else if holdsManifest {
      url += "&version=0"
    }
    url += takesPacks ? "&patch=1&pack=1" : "&patch=1"
    if takesPacks, held.hasLazy { url += "&lazy=1" }
    if asksForCandidate { url += "&candidate=1" }
    if let skipped { url += "&skip=\(skipped)" }
    return isPreview ? url + "&preview=1" : url
  }

  /// The URL for failure reports to the origin.
  var reportURL: String { "\(server)/report?app=\(app)&channel=\(channel)" }

  /// Returns the URL of one of the channel's documents, by its path.
  func url(ofDocument document: String, from source: PollPolicy.Source) -> String {
    switch source {
    case .origin: "\(server)/\(channel.space)/\(app)/\(document)"
    case .mirror: mirrorURL(document)
    }
  }

  /// Returns the URL of one of the channel's documents at the mirror.
  func mirrorURL(_ document: String) -> String {
    "\(fallback ?? server)/\(channel.space)/\(app)/\(document)"
  }
}
