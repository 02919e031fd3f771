import Manifests
import Store
import Synchronization

/// Pushes a release's immutable files to the place from which devices download them, before any device learns of it.
package final class CDNPush: Sendable {
  private let store: Store
  private let target: MirrorPlace
  private let counter = Atomic<Int>(0)
  /// The place's name, for people.
  package let place: String

  /// Creates a push to a place, and removes what interrupted pushes left there.
  /// - Throws: If the place can't be used.
  package init(_ place: MirrorPlace, store: Store) throws(MirrorError) {
    self.store = store
    target = place
    self.place = try place.pushDestination(0).name
    try place.sweepPush()
  }

  /// Returns the paths of the files that a release adds, from the root of `place`.
  package func names(_ release: PreparedRelease) throws(MirrorError) -> Set<String> {
    try Set((resources(of: release) + deltas(of: release)).map(\.path))
  }

  /// Pushes what a release adds: resources, and the deltas from the version that it replaces. Existing files stay.
  package func push(_ release: PreparedRelease) throws(MirrorError) {
    let number = counter.add(1, ordering: .relaxed).newValue
    let destination = try target.pushDestination(number)
    // Files that can't be removed now are removed at the next start.
    defer { try? target.sweepPush(number) }
    let files = try resources(of: release) + deltas(of: release)
    let there = try destination.sizes(of: files.map(\.path))
    let missing = zip(files, there).filter { $0.size != $1 }.map(\.0)
    try destination.place(missing) { _, _ in }
    try destination.sync()
  }

  /// Pushes a pack; devices can download it once this returns.
  package func push(_ pack: StoredPack, of channel: ChannelInfo) throws(MirrorError) {
    let number = counter.add(1, ordering: .relaxed).newValue
    let destination = try target.pushDestination(number)
    // Files that can't be removed now are removed at the next start.
    defer { try? target.sweepPush(number) }
    let path = pack.path(of: channel)
    if try destination.sizes(of: [path.text]).first == pack.size { return }
    let file = Placement(
      path: path.text, size: pack.size, sha256: pack.sha256,
      head: FileHead(type: MirrorPath.documentType(path.text), isImmutable: true)
    ) { [store] _ throws(MirrorError) in
      let isWhole = try MirrorError.store { () throws(StoreError) in
        try store.derived.openPack(path, of: channel.id) != nil
      }
      guard isWhole else { throw .lacksFile(path: path.text) }
      return LocalFile(path: store.derived.packFile(pack, of: channel), isTemporary: false)
    }
    try destination.place([file]) { _, _ in }
    try destination.sync()
  }

  /// Removes pushed files by the URLs that devices download them from.
  package func withdraw(_ urls: [String]) throws(MirrorError) {
    let number = counter.add(1, ordering: .relaxed).newValue
    let destination = try target.pushDestination(number)
    defer { try? target.sweepPush(number) }
    let paths = urls.compactMap { url in
      DownloadPlace(url)?.path.filePath ?? DeltaPath(download: url)?.text ?? PackPath(download: url)?.text
    }
    let there = zip(paths, try destination.sizes(of: paths)).filter { $0.1 != nil }.map(\.0)
    try destination.remove(there)
    try destination.sync()
  }

  private func resources(of release: PreparedRelease) throws(MirrorError) -> [Placement] {
    var files: [String: Placement] = [:]
    for change in release.changes {
      guard let entry = change.entry, let place = DownloadPlace(entry.download) else { continue }
      let path = place.path.filePath
      let blob = store.folder.blob(entry.sha256)
      files[path] = Placement(
        path: path, size: entry.size, sha256: entry.sha256,
        head: FileHead(type: entry.ctype, isImmutable: true)
      ) { _ in LocalFile(path: blob, isTemporary: false) }
    }
    return Array(files.values)
  }

  private func deltas(of release: PreparedRelease) throws(MirrorError) -> [Placement] {
    let channel = release.channel
    if channel.version == .none { return [] }
    let offers = try MirrorError.store { () throws(StoreError) in
      try DeltaOffers(store: store).offers(release.changes, channel, from: channel.version)
    }
    var files: [String: Placement] = [:]
    for offer in offers {
      guard let delta = DeltaPath(download: offer.download) else { continue }
      let file = store.derived.deltaFile(delta.target, on: delta.base)
      files[delta.text] = Placement(
        path: delta.text, size: offer.size, sha256: nil,
        head: FileHead(type: MirrorPath.documentType(delta.text), isImmutable: true)
      ) { [store] _ throws(MirrorError) in
        let isWhole = try MirrorError.store { () throws(StoreError) in
          try store.derived.open(delta.target, on: delta.base) != nil
        }
        guard isWhole else { throw .lacksFile(path: delta.text) }
        return LocalFile(path: file, isTemporary: false)
      }
    }
    return Array(files.values)
  }
}
