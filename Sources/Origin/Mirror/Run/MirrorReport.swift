import Manifests
import Store
import System
import Values

/// The options of a run.
package struct MirrorOptions: Sendable {
  /// The channels to mirror; everything else in the copy stays as it is.
  package var selection = ChannelSelection.all
  /// How many versions before the newest have a patch.
  package var keep = 5
  /// Whether to remove files that no kept version has named for `grace`.
  package var prunes = false
  /// The grace period in milliseconds.
  package var grace: Int64 = 24 * 3600 * 1000
  /// Whether to write `.gz` and `.zst` siblings of files that they make smaller.
  package var precompressed = false
  /// Whether to mirror the zips of kept versions.
  package var zips = false
  /// Whether to read every file back, and rewrite wrong ones.
  package var repairs = false
  /// The mirror's name at the origin; nil means its place.
  package var name: String?

  package init() {}
}

/// What a run did.
package struct MirrorReport: Sendable {
  /// A channel that was mirrored.
  package struct Channel: Sendable {
    package let app: AppName
    package let channel: ChannelName
    package let version: ManifestVersion
  }

  /// Kept versions of a channel.
  package struct OldVersions: Sendable {
    package let channel: MirroredChannel
    package let versions: [ManifestVersion]
  }

  package let place: String
  package var channels: [Channel] = []
  /// The channels that the origin, and therefore the copy, no longer has.
  package var gone: [MirroredChannel] = []
  /// The channels of the copy that weren't part of this run.
  package var untouched: [MirroredChannel] = []
  /// The channels of the origin that aren't in the copy.
  package var leftOut: [MirroredChannel] = []
  /// Those of `untouched` that an interrupted run left unfinished.
  package var unfinished: [MirroredChannel] = []
  /// The channels that couldn't be updated, and stay in the copy as they were, because files are damaged at the origin.
  package var stopped: [MirroredChannel] = []
  /// Those of `stopped` whose documents in the copy name files that were removed, since the origin purged their bytes.
  package var lacking: [MirroredChannel] = []
  /// The older versions that were left out because files that they name are damaged at the origin.
  package var leftVersions: [OldVersions] = []
  /// The damaged files of `stopped` and `leftVersions`, and the live URLs of stopped channels, and of their candidates, that use
  /// them.
  package var damaged: [SHA256] = []
  package var damagedURLs: [DamagedURL] = []
  /// Zips that were left out because the origin can't make them from damaged files.
  package var lostZips: [String] = []
  /// What the token may read; anything else was neither seen nor touched.
  package var readable = ChannelSelection.all
  /// Whether pruning was postponed because no `mirror.json` told which files belong to the copy.
  package var putsOffPruning = false
  /// All files of the mirror, and their size in bytes, without `mirror.json`.
  package var files = 0
  package var bytes: Int64 = 0
  /// Zips of updates for which the origin has no deltas yet; a later run places them.
  package var zipsToCome = 0
  /// What this run wrote, including `mirror.json`.
  package var written = 0
  package var writtenBytes: Int64 = 0
  package var removed = 0
  /// Files that no kept version names and whose grace period is running.
  package var leaving = 0
}

/// The progress of a run.
package struct MirrorProgress: Sendable {
  package let files: Int
  package let filesTotal: Int
  package let bytes: Int64
  package let bytesTotal: Int64
}

extension MirrorReport {
  /// Records a channel that stays as it was, and where its damaged files are live.
  mutating func note(_ files: [MirroredResource], of state: MirroredChannelState, _ source: any MirrorSource)
    throws(MirrorError)
  {
    stopped.append(state.name)
    let digests = Set(files.map(\.sha256))
    damaged = Set(damaged).union(digests).sorted { $0.hex < $1.hex }
    if digests.isEmpty { return }
    let bundles = try Self.bundles(state, source)
    var known: Set<String> = []
    for version in [state.version, state.candidate].compactMap(\.self) {
      for item in try Self.items(of: version, state, source) where digests.contains(item.entry.sha256) {
        let url = item.url.description
        if !known.insert(url + item.entry.sha256.hex).inserted { continue }
        damagedURLs.append(
          DamagedURL(
            sha256: item.entry.sha256, app: state.app.text, channel: state.channel.text,
            bundle: bundles[url] ?? "unknown", url: url))
      }
    }
  }

  /// Records older versions of a channel that were left out because they name damaged files.
  mutating func note(_ files: Set<SHA256>, in versions: [ManifestVersion], of state: MirroredChannelState) {
    leftVersions.append(OldVersions(channel: state.name, versions: versions))
    damaged = Set(damaged).union(files).sorted { $0.hex < $1.hex }
  }

  /// Returns the bundle of each URL in the newest release.
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

  /// Returns what a kept version names.
  static func items(of version: ManifestVersion, _ state: MirroredChannelState, _ source: any MirrorSource)
    throws(MirrorError) -> [ManifestItem]
  {
    let document = MirrorDocument.whole(version)
    let bytes = try source.document(document, of: state)
    guard case .whole(let whole)? = try? ConfigureAnswer.parse(bytes), let manifest = try? whole.manifest()
    else { throw .unreadable(path: document.path, reason: "it isn't the manifest it should be") }
    return manifest.items
  }
}
