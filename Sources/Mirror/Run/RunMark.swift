import Manifests

/// `.xcache-mirror/unfinished`: there from before a run changes its first document until `mirror.json` agrees with all of
/// them again. It names the channels that the run is about.
struct RunMark: Hashable, Sendable {
  static let path = ".xcache-mirror/unfinished"

  /// nil: any channel may be half-way.
  var channels: Set<MirroredChannel>?

  var document: [UInt8] {
    let value: JSONValue = ["channels": channels.map { .array($0.sorted().map(\.json)) } ?? .null]
    return value.canonical
  }

  init(_ channels: Set<MirroredChannel>?) { self.channels = channels }

  /// What can't be read, such as the empty mark of older xcaches, names every channel.
  init(parsing bytes: [UInt8]) {
    let items = (try? JSONValue.parse(bytes))?["channels"]?.array
    let named = items.map { Set($0.compactMap { MirroredChannel(json: $0) }) }
    channels = named?.count == items?.count ? named : nil
  }

  func names(_ channel: MirroredChannel) -> Bool { channels?.contains(channel) ?? true }

  /// Names what either names.
  func union(_ other: Set<MirroredChannel>) -> RunMark { RunMark(channels.map { $0.union(other) }) }
}
