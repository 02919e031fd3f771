import Manifests
import Store
import System
import Values

/// `mirror.json`: every file of a mirror with its size and sha256, and the mirror's age and origin.
package struct MirrorIndex: Sendable {
  /// The expected content of a file.
  package struct File: Hashable, Sendable {
    package let sha256: SHA256
    /// The size in bytes.
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
    /// The kept versions, oldest first.
    package let versions: [ManifestVersion]
    /// A hash of what the files are made from: if it is unchanged, so are they.
    package let inputs: SHA256
    /// The files by path from the mirror's root, with unescaped names, sorted by path.
    package var files: [(path: String, file: File)]
    /// Whether a run of this channel was interrupted, with none since: its documents may be newer than `files`.
    package var isUnfinished = false
    /// What its documents have of signatures; nil without a root, and in copies written by older xcaches.
    package var trust: Trust?

    package var folder: String { "\(channel.space)/\(app)" }
    package var name: MirroredChannel { MirroredChannel(app, channel) }
  }

  /// What the documents of a channel with a root have of signatures.
  package struct Trust: Hashable, Sendable {
    /// The number of the newest root.
    package var root: Int64
    /// The head in answers, an envelope in canonical form: the one of `head.json` when the run wrote them; nil if there was none.
    package var head: [UInt8]?
    /// The SHA-256 of the statements that `configure/N.json` has, by version.
    package var statements: [ManifestVersion: SHA256]
  }

  package static let path = "mirror.json"

  /// The origin's ID.
  package let origin: String
  package let defaultApp: AppName?
  /// When the run that wrote it ended, in milliseconds since 1970.
  package let at: Int64
  /// The newest row of the origin's audit trail when the run began: external proof of everything done until then.
  /// nil in copies of older origins.
  package var audit: AuditHead?
  package var channels: [Channel]
  /// Files that no kept version refers to any more, and since when, in milliseconds since 1970.
  package var leaving: [String: Int64]
  /// Channels of the origin that no run has selected, or not yet; nil in copies written by older xcaches.
  package var leftOut: [MirroredChannel]?
  /// What the origin had purged when the run began, by sha256; an origin made from the copy refuses it, too. Nil in copies
  /// written by older xcaches.
  package var purged: [SHA256]?

  package var fileCount: Int { channels.reduce(0) { $0 + $1.files.count } }
}

/// `.xcache-mirror/unfinished`: exists from before a run changes its first document until `mirror.json` matches all documents
/// again. It names the channels of the run.
struct RunMark: Hashable, Sendable {
  static let path = ".xcache-mirror/unfinished"

  /// The channels; nil means that any channel may be unfinished.
  var channels: Set<MirroredChannel>?

  var document: [UInt8] {
    let value: JSONValue = ["channels": channels.map { .array($0.sorted().map(\.json)) } ?? .null]
    return value.canonical
  }

  init(_ channels: Set<MirroredChannel>?) { self.channels = channels }

  /// Parses a mark; an invalid one, such as the empty mark of older xcaches, names every channel.
  init(parsing bytes: [UInt8]) {
    let items = (try? JSONValue.parse(bytes))?["channels"]?.array
    let named = items.map { Set($0.compactMap { MirroredChannel(json: $0) }) }
    channels = named?.count == items?.count ? named : nil
  }

  func names(_ channel: MirroredChannel) -> Bool { channels?.contains(channel) ?? true }

  /// Returns a mark with the channels of both.
  func union(_ other: Set<MirroredChannel>) -> RunMark { RunMark(channels.map { $0.union(other) }) }
}
