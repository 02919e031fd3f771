import Manifests
import System

/// Decides which files of a copy have bytes that its origin purged, by their paths.
struct Taint {
  private let digests: Set<SHA256>
  private let uuids: Set<String>
  /// Whether zips and packs that no kept version names may have them, too: their names don't tell.
  private let mayBePacked: Bool

  /// How long zips and packs that are no longer named count as tainted after a purge, in milliseconds: 30 days, since runs for
  /// some channels only leave those of the others.
  private static let period: Int64 = 30 * 86_400_000

  /// `lastRun` is when the last run ended, in milliseconds since 1970; nil if there is no record of one: the first may have been
  /// interrupted.
  init(_ purges: [PurgedBytes], lastRun: Int64?, now: Int64) {
    digests = Set(purges.map(\.sha256))
    uuids = Set(purges.map { ResourceUUID($0.sha256).text })
    let newest = purges.map(\.at.milliseconds).max() ?? 0
    mayBePacked = !purges.isEmpty && ((lastRun ?? 0) <= newest || now - newest < Self.period)
  }

  /// What has these bytes itself, but no zips and packs.
  init(_ digests: Set<SHA256>) {
    self.digests = digests
    uuids = Set(digests.map { ResourceUUID($0).text })
    mayBePacked = false
  }

  var isPossible: Bool { !digests.isEmpty }

  /// Whether a file has purged bytes itself.
  func isOf(_ path: String) -> Bool {
    if let delta = DeltaPath(download: path) {
      return digests.contains(delta.target) || digests.contains(delta.base)
    }
    guard MirrorPath.isResource(path) else { return false }
    let parts = path.split(separator: "/")
    return parts.count > 4 && uuids.contains(String(parts[4]))
  }

  /// Whether a file that no kept version names goes at once.
  func covers(_ path: String) -> Bool {
    isOf(path) || mayBePacked && Self.isPacked(path)
  }

  /// Whether only a run can have given a file this name, that of a zip or a pack.
  private static func isPacked(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    return PackPath(download: path) != nil
      || parts.count == 4 && parts[2] == "bundle"
        && BundleZip(fileName: String(parts[3])) != nil
  }
}
