import Manifests
import Store
import System

/// `mirror.json`: every file of a mirror with size and sha256, how new it is, and of which origin.
package struct MirrorIndex: Sendable {
  /// What a file has to be.
  package struct File: Hashable, Sendable {
    package let sha256: SHA256
    /// Bytes.
    package let size: Int64
  }

  /// A channel of the mirror, with all its files.
  package struct Channel: Sendable {
    package let app: AppName
    package let appID: Int64
    package let channel: ChannelName
    package let publicURL: BaseURL
    package let version: ManifestVersion
    package let digest: SHA256
    /// Oldest first.
    package let versions: [ManifestVersion]
    /// Tells what the files were made from: as long as it is the same, so are they.
    package let inputs: SHA256
    /// By path from the mirror's root, names unescaped; sorted by path.
    package var files: [(path: String, file: File)]
    /// A run that was about this channel was ended half-way, and none has been about it since: its documents may be
    /// newer than `files` says.
    package var isUnfinished = false

    package var folder: String { "\(channel.space)/\(app)" }
    package var name: MirroredChannel { MirroredChannel(app, channel) }
  }

  package static let path = "mirror.json"

  /// The origin's id.
  package let origin: String
  package let defaultApp: AppName?
  /// When the run ended that wrote it, in milliseconds since 1970.
  package let at: Int64
  /// The newest row of the origin's audit trail when the run began: proof, kept elsewhere, of what was done till then.
  /// nil in the copies of older origins.
  package var audit: AuditHead?
  package var channels: [Channel]
  /// Files that no kept version names any more, and since when, in milliseconds since 1970.
  package var leaving: [String: Int64]
  /// Channels of the origin that are in no run's choice, or not yet; nil in the copies of older xcaches.
  package var leftOut: [MirroredChannel]?

  package var fileCount: Int { channels.reduce(0) { $0 + $1.files.count } }
}

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
