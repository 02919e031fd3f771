import Manifests
import Store
import System

/// What a run is asked for.
package struct MirrorOptions: Sendable {
  /// What the run is about; all else in the copy stays as it is.
  package var selection = ChannelSelection.all
  /// How many versions before the newest have a patch.
  package var keep = 5
  /// Remove what no kept version has named for `grace`.
  package var prunes = false
  /// Milliseconds.
  package var grace: Int64 = 24 * 3600 * 1000
  /// Write `.gz` and `.zst` files beside what they make smaller.
  package var precompressed = false
  /// Bring the zips of kept versions.
  package var zips = false
  /// Read every file back, and write those anew that are wrong.
  package var repairs = false
  /// What the origin calls this mirror; nil: where it is.
  package var name: String?

  package init() {}
}

/// What a run did.
package struct MirrorReport: Sendable {
  /// A channel that was brought.
  package struct Channel: Sendable {
    package let app: AppName
    package let channel: ChannelName
    package let version: ManifestVersion
  }

  package let place: String
  package var channels: [Channel] = []
  /// That the origin doesn't have any more, so that the copy doesn't name them any more.
  package var gone: [MirroredChannel] = []
  /// In the copy, and nothing that this run was about.
  package var untouched: [MirroredChannel] = []
  /// At the origin and not in the copy.
  package var leftOut: [MirroredChannel] = []
  /// Of `untouched`, those that a run which was ended half-way left behind.
  package var unfinished: [MirroredChannel] = []
  /// That were to be brought, and stay in the copy as they were: files of them are damaged at the origin.
  package var stopped: [MirroredChannel] = []
  /// The damaged files of `stopped`, and the live URLs of these channels that have them.
  package var damaged: [SHA256] = []
  package var damagedURLs: [DamagedURL] = []
  /// Zips that are left out, since the origin can't make them of damaged files.
  package var lostZips: [String] = []
  /// What the token is limited to: what lies outside was neither seen nor touched.
  package var readable = ChannelSelection.all
  /// Files were to be removed, and weren't, since no `mirror.json` told which ones are the copy's.
  package var putsOffPruning = false
  /// All files of the mirror, and their bytes; `mirror.json` isn't counted.
  package var files = 0
  package var bytes: Int64 = 0
  /// Zips of updates that the origin has no deltas for yet; a later run brings them.
  package var zipsToCome = 0
  /// What this run wrote, `mirror.json` included.
  package var written = 0
  package var writtenBytes: Int64 = 0
  package var removed = 0
  /// Files that no kept version names and whose grace time runs.
  package var leaving = 0
}

/// How far a run is.
package struct MirrorProgress: Sendable {
  package let files: Int
  package let filesTotal: Int
  package let bytes: Int64
  package let bytesTotal: Int64
}

extension MirrorReport {
  /// Notes a channel that stays as it was, and where its damaged files are listed now.
  mutating func note(_ files: [MirroredResource], of state: MirroredChannelState, _ source: any MirrorSource)
    throws(MirrorError)
  {
    stopped.append(state.name)
    let digests = Set(files.map(\.sha256))
    damaged = Set(damaged).union(digests).sorted { $0.hex < $1.hex }
    if digests.isEmpty { return }
    let bundles = try Self.bundles(state, source)
    for item in try Self.items(state, source) where digests.contains(item.entry.sha256) {
      let url = item.url.description
      damagedURLs.append(
        DamagedURL(
          sha256: item.entry.sha256, app: state.app.text, channel: state.channel.text,
          bundle: bundles[url] ?? "unknown", url: url))
    }
  }

  /// The bundle of each URL in the newest release.
  private static func bundles(_ state: MirroredChannelState, _ source: any MirrorSource) throws(MirrorError)
    -> [String: String]
  {
    let bytes = try source.document(.release(state.version), of: state)
    var bundles: [String: String] = [:]
    for bundle in (try? JSONValue.parse(bytes))?["bundles"]?.array ?? [] {
      for url in bundle["urls"]?.array ?? [] {
        if let url = url.string { bundles[url] = bundle["name"]?.string }
      }
    }
    return bundles
  }

  private static func items(_ state: MirroredChannelState, _ source: any MirrorSource) throws(MirrorError)
    -> [ManifestItem]
  {
    let document = MirrorDocument.whole(state.version)
    let bytes = try source.document(document, of: state)
    guard case .whole(let whole)? = try? ConfigureAnswer.parse(bytes), let manifest = try? whole.manifest()
    else { throw .unreadable(path: document.path, reason: "it isn't the manifest it should be") }
    return manifest.items
  }
}
