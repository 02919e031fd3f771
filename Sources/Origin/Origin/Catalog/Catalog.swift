import HTTP
import Manifests
import Store
import Values

/// Everything that polls are answered from: one value, replaced as a whole. It has what a poll with nothing new needs, for
/// every channel; manifests are kept separately (`ResidentManifest`).
struct Catalog: Sendable {
  private(set) var channels: [ChannelCatalog] = []
  /// Channels by the hash of app and channel name; a bucket holds indexes into `channels`.
  private var indices: [UInt64: [Int]] = [:]
  private var indicesByID: [Int64: Int] = [:]
  /// The app that answers if none is named.
  private(set) var defaultApp: AppName?
  private var defaultNames: [UInt8]?
  /// The path prefixes of the channels' public URLs, such as `/hxm/tech`; requests may have one.
  private(set) var prefixes: [[UInt8]] = []

  init(defaultApp: AppName? = nil) { setDefault(defaultApp) }

  /// Sets the app that answers if none is named.
  mutating func setDefault(_ app: AppName?) {
    defaultApp = app
    defaultNames = app.map { Array($0.text.utf8) }
  }

  /// Adds a channel, or replaces the one with its id.
  mutating func put(_ channel: ChannelCatalog) {
    if defaultApp == nil { setDefault(channel.channel.app) }
    serve(channel.channel.publicURL)
    if let index = indicesByID[channel.channel.id] {
      for state in channels[index].answered { state.held.retire() }
      channels[index] = channel
      return
    }
    indicesByID[channel.channel.id] = channels.count
    let key = Self.key(
      app: Array(channel.channel.app.text.utf8).span.bytes,
      channel: Array(channel.channel.name.text.utf8).span.bytes)
    indices[key, default: []].append(channels.count)
    channels.append(channel)
  }

  /// Has the answers of a channel with a root made again, with the head and the statements of now.
  mutating func renew(_ id: Int64) {
    guard let channel = channel(id: id), channel.extras.root != nil else { return }
    put(channel.with(channel.newest.channel, channel.documents))
  }

  /// Has requests answered below the path of a public URL. A channel that moves to another one leaves downloads there.
  mutating func serve(_ publicURL: BaseURL) {
    let prefix = Array(publicURL.path.utf8)
    if !prefix.isEmpty, !prefixes.contains(prefix) { prefixes.append(prefix) }
  }

  /// Removes a channel: its polls are no longer answered.
  mutating func remove(_ id: Int64) {
    var rest = Catalog(defaultApp: defaultApp)
    rest.prefixes = prefixes
    for channel in channels where channel.channel.id != id { rest.put(channel) }
    self = rest
  }

  func channel(id: Int64) -> ChannelCatalog? { indicesByID[id].map { channels[$0] } }

  /// The current state in the place of another one: of the candidate in that of a candidate, as long as one is open.
  func successor(of state: ChannelCatalog) -> ChannelCatalog? {
    let channel = channel(id: state.channel.id)
    return state.isCandidate ? channel?.newest : channel
  }

  /// Whether polls of a channel are answered with a version.
  func answers(_ id: Int64, with version: ManifestVersion) -> Bool {
    channel(id: id)?.answered.contains { $0.version == version } ?? false
  }

  func channel(_ app: AppName, _ name: ChannelName) -> ChannelCatalog? {
    channel(app: Array(app.text.utf8).span.bytes, channel: Array(name.text.utf8).span.bytes)
  }

  func channel(app: RawSpan, channel: RawSpan) -> ChannelCatalog? {
    guard let candidates = indices[Self.key(app: app, channel: channel)] else { return nil }
    for index in candidates where channels[index].isNamed(app: app, channel: channel) {
      return channels[index]
    }
    return nil
  }

  func channel(app: RawSpan, space: RawSpan) -> ChannelCatalog? {
    // `xcache` is `online`, `xcache_test` is `test`; `xcache_online` is not a space.
    if space.equals("xcache") { return channel(app: app, channel: RawSpan("online")) }
    guard space.starts(with: "xcache_") else { return nil }
    let name = space.extracting(7..<space.byteCount)
    return name.equals("online") ? nil : channel(app: app, channel: name)
  }

  /// Returns the channel that a poll's query names; by default, `online` of the default app.
  func channel(_ query: borrowing PollQuery) -> ChannelCatalog? {
    switch (query.app, query.channel) {
    case (.text(let app), .text(let channel)): self.channel(app: app.bytes, channel: channel.bytes)
    case (.text(let app), .absent): channel(app: app.bytes, channel: RawSpan("online"))
    case (.absent, .text(let channel)):
      defaultNames.flatMap { self.channel(app: $0.span.bytes, channel: channel.bytes) }
    case (.absent, .absent): defaultNames.flatMap { channel(app: $0.span.bytes, channel: RawSpan("online")) }
    default: nil
    }
  }

  /// FNV-1a over both names (draft-eastlake-fnv), only for distribution: equality is checked afterwards.
  private static func key(app: RawSpan, channel: RawSpan) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for i in app.byteOffsets { hash = (hash ^ UInt64(app[i])) &* 0x100_0000_01b3 }
    hash = hash &* 0x100_0000_01b3
    for i in channel.byteOffsets { hash = (hash ^ UInt64(channel[i])) &* 0x100_0000_01b3 }
    return hash
  }
}
