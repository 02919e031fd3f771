import Manifests
import Store
import System

/// What was pushed for releases that weren't made, or not yet: only here is it known that it is there. Kept in memory.
final class UnannouncedFiles: Sendable {
  private struct Push {
    let channel: Int64
    let version: ManifestVersion
    /// The same bytes may be under several URLs.
    let downloads: [SHA256: [String]]
    /// The URLs of deltas and packs, each of which may have some of the bytes inside.
    var derived: [String] = []
  }

  private let pushes = Locked<[Push]>([])
  /// A channel has one for each version that it tried to make; the oldest are forgotten.
  private static let limit = 64

  /// Notes the files of a release, before they are pushed.
  func add(_ release: PreparedRelease) {
    let entries = release.changes.compactMap(\.entry)
    let push = Push(
      channel: release.channel.id, version: release.version,
      downloads: Dictionary(grouping: entries, by: \.sha256).mapValues { $0.map(\.download) })
    pushes.withLock { pushes in
      pushes.removeAll { $0.channel == push.channel && $0.version == push.version }
      pushes.append(push)
      if pushes.count > Self.limit { pushes.removeFirst() }
    }
  }

  /// Notes the deltas or the pack of a release, before they are pushed.
  func add(_ derived: [String], of release: PreparedRelease) {
    pushes.withLock { pushes in
      for index in pushes.indices
      where pushes[index].channel == release.channel.id && pushes[index].version == release.version {
        pushes[index].derived += derived
      }
    }
  }

  /// Forgets the files of a release that was made: the store knows them from now on.
  func remove(_ release: PreparedRelease) {
    pushes.withLock { $0.removeAll { $0.channel == release.channel.id && $0.version == release.version } }
  }

  /// The URLs of what was pushed and has these bytes, or may have them inside.
  func urls(with sha256: SHA256) -> [String] {
    pushes.withLock { pushes in
      pushes.flatMap { push in push.downloads[sha256].map { $0 + push.derived } ?? [] }
    }
  }
}
