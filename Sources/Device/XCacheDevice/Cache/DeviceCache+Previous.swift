import System
import Values

/// The version before the one in force, which is kept whole until that has proved itself.
struct PreviousVersion: Sendable {
  let id: HeldManifest
  /// The files of it that the manifest in force doesn't list under the same names; those are set aside, and held until the version
  /// is given up.
  private(set) var files: Set<SHA256>

  /// - Parameters:
  ///   - index: the version's manifest.
  ///   - others: the manifests that are in force while it is kept.
  init(_ index: DeviceIndex, besides others: DeviceIndex...) {
    id = HeldManifest(index)
    files = []
    for entry in index.entries
    where others.contains(where: { $0.names[entry.name] != entry.sha256 }) { files.insert(entry.sha256) }
  }
}

extension DeviceCache {
  /// Gives up the version before: what is set aside of it goes like everything else.
  mutating func dropPrevious() throws(DeviceError) {
    guard previous != nil else { return }
    try folder.remove(folder.previous)
    previous = nil
  }

  /// Whether a set-aside file is held for going back.
  func isKept(_ sha256: SHA256) -> Bool { previous?.files.contains(sha256) ?? false }
}

extension CacheFolder {
  /// The manifest of the version before, in the form of `index.json`.
  var previous: String { "\(root)/previous.json" }

  /// Reads the manifest of the version before; nil if there is none, or it isn't whole.
  func readPrevious(of owner: DeviceIndex.Owner, hosts: HostList) -> DeviceIndex? {
    guard let bytes = try? DurableFile.read(previous, limit: 1 << 30),
      let held = DeviceIndex.parse(bytes, hosts: hosts), held.owner == owner
    else { return nil }
    return held.index
  }

  /// Puts the manifest of the version before in force. That is the switch, and takes no room on the disk. If it is undone by a loss of
  /// power, the next start makes it again.
  func restorePrevious() throws(DeviceError) {
    try move(previous, to: index)
    try? Kernel.syncFolder(root)
  }
}
