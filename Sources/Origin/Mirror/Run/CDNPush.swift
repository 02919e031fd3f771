import Manifests
import Store
import Synchronization
import System

/// Pushes a release's immutable files to the place from which devices download them, before any device learns of it.
package final class CDNPush: Sendable {
  private let store: Store
  private let target: MirrorPlace
  private let counter = Atomic<Int>(0)
  private let recorded: PushPlace

  /// The place's name, for people.
  package var place: String { recorded.name }

  /// Creates a push to a place, and removes what interrupted pushes left there.
  /// - Parameter log: told if a folder to which files were pushed before can't be used now. Then pushes fail until it can.
  /// - Throws: If the place can't be used.
  package init(_ place: MirrorPlace, store: Store, log: (String) -> Void = { _ in }) throws(MirrorError) {
    self.store = store
    target = place
    recorded = try Self.begin(place, store, log)
  }

  private static func begin(
    _ target: MirrorPlace, _ store: Store, _ log: (String) -> Void
  ) throws(MirrorError) -> PushPlace {
    do throws(MirrorError) {
      let name = try target.pushDestination(0).name
      let place = PushPlace(name: name, endpoint: try target.identify(name))
      try target.sweepPush()
      try MirrorError.store { () throws(StoreError) in try store.beginPushing(to: place) }
      return place
    } catch {
      // The server answers devices nevertheless, as it does when a store can't be reached.
      guard case .folder(let path, _) = target, case .system = error,
        let known = try MirrorError.store({ () throws(StoreError) in try store.pushPlace() }),
        known.name == (try? Kernel.realPath(path)) ?? path
      else { throw error }
      log("error: \(path) can't be used, so releases with new files wait: \(error)")
      return known
    }
  }

  /// Returns the paths of the files that a release adds and that aren't recorded as pushed, from the root of `place`.
  package func names(_ release: PreparedRelease) throws(MirrorError) -> Set<String> {
    Set(try resources(of: release).map(\.path))
  }

  /// Pushes the resources that a release adds, unless they are recorded as pushed.
  package func push(_ release: PreparedRelease) throws(MirrorError) { try push(try resources(of: release)) }

  /// Pushes deltas; devices can download them once this returns.
  package func push(_ deltas: [DeltaOffer]) throws(MirrorError) {
    var files: [DeltaPath: Placement] = [:]
    for offer in deltas {
      guard let path = DeltaPath(download: offer.download) else { continue }
      files[path] = placement(of: path, size: offer.size)
    }
    try push(Array(files.values))
  }

  /// Pushes files. Those that exist with the same size stay.
  private func push(_ files: [Placement]) throws(MirrorError) {
    if files.isEmpty { return }
    try requirePlace()
    let number = counter.add(1, ordering: .relaxed).newValue
    let destination = try target.pushDestination(number)
    // Files that can't be removed now are removed at the next start.
    defer { try? target.sweepPush(number) }
    let there = try destination.sizes(of: files.map(\.path))
    let missing = zip(files, there).filter { $0.size != $1 }.map(\.0)
    try destination.put(missing) { _, _ in }
    try destination.sync()
  }

  /// Pushes a pack; devices can download it once this returns.
  package func push(_ pack: StoredPack, of channel: ChannelInfo) throws(MirrorError) {
    let path = pack.path(of: channel)
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
    try push([file])
  }

  /// Finds the files at the place that have purged bytes, or may have them inside: by their paths, since a version that gc dropped
  /// has no rows any more, and a release that was refused never had any.
  /// - Parameter urls: of files that are known to have them.
  /// - Returns: their paths from the root of the place.
  package func find(_ purged: Set<SHA256>, _ urls: [String]) throws(MirrorError) -> [String] {
    let known = Set(
      urls.lazy.compactMap { url in
        DownloadPlace(url)?.path.filePath ?? DeltaPath(download: url)?.text ?? PackPath(download: url)?.text
      })
    let listed = try listing()
    // After the listing: what is released during it is no leftover.
    let taint = try PushTaint(purged, store)
    let found = listed.filter { known.contains($0) || taint.covers($0) }
    guard case .s3 = target else { return found }
    // A store may list an object late; it is asked for what is known.
    let asked = known.subtracting(listed).sorted()
    let sizes = try target.pushDestination(0).sizes(of: asked)
    return found + zip(asked, sizes).filter { $0.1 != nil }.map(\.0)
  }

  private func forgetPacks(_ paths: [String]) throws(StoreError) {
    let packs = paths.compactMap { PackPath(text: $0) }
    if packs.isEmpty { return }
    for channel in try store.channels() {
      for pack in packs where pack.channel == channel.name && pack.app == channel.app {
        try store.derived.forgetPush(pack, of: channel.id)
      }
    }
  }

  private func listing() throws(MirrorError) -> [String] {
    try requirePlace()
    return try Self.listing(of: target)
  }

  private static func listing(of place: MirrorPlace) throws(MirrorError) -> [String] {
    switch place {
    // Not as a destination, which would be created.
    case .folder(let root, _): try FolderDestination.list(root)
    case .s3: try place.destination().list()
    }
  }

  /// Removes files; those that aren't there don't matter.
  package func remove(_ paths: [String]) throws(MirrorError) {
    if paths.isEmpty { return }
    try requirePlace()
    let number = counter.add(1, ordering: .relaxed).newValue
    let destination = try target.pushDestination(number)
    defer { try? target.sweepPush(number) }
    try destination.remove(paths)
    try destination.sync()
    // Answers name only packs that are recorded as pushed.
    try MirrorError.store { () throws(StoreError) in try forgetPacks(paths) }
  }

  /// Checks, before a folder is written to, that it is the one that the records are about; a missing one isn't made.
  private func requirePlace() throws(MirrorError) {
    guard case .folder(let path, _) = target else { return }
    try PushedFolder.require(recorded.endpoint, at: path)
  }

  private func resources(of release: PreparedRelease) throws(MirrorError) -> [Placement] {
    var files: [String: Placement] = [:]
    for change in try MirrorError.store({ () throws(StoreError) in try store.unpushed(release) }) {
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

  private func placement(of delta: DeltaPath, size: Int64) -> Placement {
    let file = store.derived.deltaFile(delta.target, on: delta.base)
    return Placement(
      path: delta.text, size: size, sha256: nil,
      head: FileHead(type: MirrorPath.documentType(delta.text), isImmutable: true)
    ) { [store] _ throws(MirrorError) in
      let isWhole = try MirrorError.store { () throws(StoreError) in
        try store.derived.open(delta.target, on: delta.base) != nil
      }
      guard isWhole else { throw .lacksFile(path: delta.text) }
      return LocalFile(path: file, isTemporary: false)
    }
  }
}

extension MirrorPlace {
  /// Tells the place from another with its name.
  fileprivate func identify(_ name: String) throws(MirrorError) -> String {
    switch self {
    case .folder: try PushedFolder.identify(name)
    case .s3(let settings): settings.endpoint.text
    }
  }
}

extension CDNPush {
  /// What was found at a place of pushed files.
  package struct Findings: Sendable {
    /// How many files are recorded as pushed.
    package let count: Int
    /// The paths of those that the place lacks or has with another size.
    package let lost: [String]
    /// The paths of files there that have purged bytes, or may have them inside.
    package let purged: [String]
  }

  /// Compares what is at a place with what is recorded as pushed, and with what was purged.
  package static func look(at place: MirrorPlace, _ store: Store) throws(MirrorError) -> Findings {
    let files = try MirrorError.store { () throws(StoreError) in try store.pushedFiles() }
    let sizes: [Int64?]
    switch place {
    // Not as a destination, which would be created.
    case .folder(let root, _):
      sizes = try MirrorError.disk { () throws(SystemError) in
        try files.map { (file) throws(SystemError) in try Kernel.status("\(root)/\(file.path)")?.size }
      }
    case .s3: sizes = try place.destination().sizes(of: files.map(\.path))
    }
    let purges = try MirrorError.store { () throws(StoreError) in try store.purges() }
    var purged: [String] = []
    if !purges.isEmpty {
      let listed = try listing(of: place)
      let taint = try PushTaint(Set(purges.map(\.sha256)), store)
      purged = listed.filter(taint.covers).sorted()
    }
    return Findings(
      count: files.count, lost: zip(files, sizes).filter { $0.size != $1 }.map(\.0.path), purged: purged)
  }
}

/// Decides which files at a place of pushed files have purged bytes, or may have them inside.
private struct PushTaint {
  private let taint: Taint
  /// The packs that may be at the place, by the part of the path that is their channel's.
  private let packs: [String: Set<String>]

  init(_ purged: Set<SHA256>, _ store: Store) throws(MirrorError) {
    taint = Taint(purged)
    packs = try MirrorError.store { () throws(StoreError) in try Self.packs(in: store) }
  }

  private static func packs(in store: Store) throws(StoreError) -> [String: Set<String>] {
    let kept = try store.packsOfKeptVersions()
    var packs: [String: Set<String>] = [:]
    for channel in try store.channels() {
      packs["\(channel.name.space)/\(channel.app)"] = Set(
        (kept[channel.id] ?? []).map { $0.path(of: channel).text })
    }
    return packs
  }

  func covers(_ path: String) -> Bool { taint.isOf(path) || isStalePack(path) }

  /// Whether a pack of this origin leads from or to a version that isn't kept, or wasn't made. Another origin's may be at the same
  /// place.
  private func isStalePack(_ path: String) -> Bool {
    guard let pack = PackPath(text: path), let known = packs["\(pack.channel.space)/\(pack.app)"] else {
      return false
    }
    return !known.contains(path)
  }
}
