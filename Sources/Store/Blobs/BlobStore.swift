import System

/// The files of the data folder that hold resources' bytes, each once, named by its sha256.
///
/// A file's way: `tmp/incoming-…` while it arrives, `tmp/whole/<sha256>` once its bytes were checked,
/// `blobs/ab/cdef…` when a release needs it, with a row in the database from that release on. Small files that arrive
/// together are made under `blobs/` at once: what has no row there counts for nothing, so it may be half a file.
final class BlobStore: Sendable {
  let folder: DataFolder
  let disk: Disk
  let connections: Connections
  let clock: @Sendable () -> Int64
  let changes: FileChanges
  /// Another process has the folder: nothing is changed in it.
  let isSecondary: Bool
  // syncfs(2): "Since Linux 5.8, syncfs() will also report an error if one or more inodes failed to be written back
  // since the last syncfs() call", counted for each open file: so it is open before anything is written.
  let root: Descriptor
  let writeback: Writeback
  let state: Locked<State>
  let activity: Locked<UploadActivity>

  /// Folders that the start found in the way of what arrives.
  let strays: [UnexpectedFolder]

  /// What is known of files beyond the rows of the database.
  struct State {
    /// Checked files under `tmp/whole`.
    var whole: [SHA256: FileDigest] = [:]
    /// Checked files that have their names under `blobs/` and no row; the disk may not have either yet.
    var named: [SHA256: FileDigest] = [:]
    /// Files that are being made under `blobs/`.
    var arriving: Set<SHA256> = []
    /// Files under `tmp/whole` from before the start: they count once they were hashed again.
    var unchecked: Set<SHA256> = []
    /// There may be others under `blobs/`, which count the same way.
    var hasUncheckedNames = false
    /// When the folder was last marked as having some, in milliseconds since 1970.
    var markedAt: Int64 = 0
    /// Files that are durable under `blobs/` and wait for the row of their release.
    var placed: [SHA256: FileDigest] = [:]
    /// Blobs that were hashed since the start, with their bytes then.
    var verified: [SHA256: Int64] = [:]
    /// Those being renamed to their names under `blobs/`, and by how many releases at once.
    var placing: [SHA256: Int] = [:]
    /// Those whose files are being removed: no row names them, and a release that needs one waits.
    var beingRemoved: Set<SHA256> = []
    /// The same of files that no row ever named.
    var leaving: Set<SHA256> = []
    /// What publishers were told is there, and when, in milliseconds since 1970.
    var reserved: [SHA256: Int64] = [:]
    /// The newest of those times; each call has one of its own.
    var lastReservation: Int64 = 0
    /// Rows of blobs are being removed.
    var isRemoving = false
    var nextIncoming = 0
  }

  /// How long a whole file waits for a release: 24 h, in milliseconds.
  static let gracePeriod: Int64 = 24 * 3600 * 1000

  init(
    folder: DataFolder, disk: Disk, connections: Connections, clock: @escaping @Sendable () -> Int64,
    changes: FileChanges, cleansUp: Bool = true
  ) throws(StoreError) {
    self.folder = folder
    self.disk = disk
    self.connections = connections
    self.clock = clock
    self.changes = changes
    isSecondary = !cleansUp
    writeback = Writeback(folder: folder.path)
    root = try StoreError.disk { () throws(SystemError) in
      try Kernel.open(folder.path, [.read, .directory])
    }
    let left = cleansUp ? try Self.cleanUp(folder, now: clock()) : (whole: [], hasNames: false, strays: [])
    strays = left.strays
    state = Locked(State(unchecked: left.whole, hasUncheckedNames: left.hasNames))
    activity = Locked(UploadActivity(now: clock()))
  }

  /// Removes what a stopped process left half received or too old, and sets folders aside; gives the whole files that
  /// stay.
  private static func cleanUp(_ folder: DataFolder, now: Int64) throws(StoreError)
    -> (whole: Set<SHA256>, hasNames: Bool, strays: [UnexpectedFolder])
  {
    try StoreError.disk { () throws(SystemError) in
      var strays: [UnexpectedFolder] = []
      var kept: Set<SHA256> = []
      let incoming = try Folder.textNames(folder.temporary).filter { $0.hasPrefix("incoming-") }
        .map { (name: $0, path: "\(folder.temporary)/\($0)", sha256: SHA256?.none) }
      let whole = try Folder.textNames(folder.whole)
        .map { (name: $0, path: "\(folder.whole)/\($0)", sha256: SHA256(hex: $0)) }
      for file in incoming + whole {
        guard let status = try Kernel.status(file.path, followLinks: false) else { continue }
        if status.kind == .folder {
          let place = try? folder.setAside(file.path, as: "tmp-\(file.name)", now: now)
          strays.append(UnexpectedFolder(path: file.path, place: place))
        } else if let sha256 = file.sha256, status.kind == .file,
          status.modified / 1_000_000 > now - gracePeriod
        {
          kept.insert(sha256)
        } else {
          try Kernel.remove(file.path)
        }
      }
      let marked = try Kernel.status(folder.unreleased)
      return (kept, marked.map { $0.modified / 1_000_000 > now - gracePeriod } ?? false, strays)
    }
  }

  /// Files that wait for the row of a release, by their names.
  var waitingNames: Set<String> {
    state.withLock { state in
      let arrived = [state.whole.keys, state.named.keys, state.placed.keys].joined()
      return Set((Array(arrived) + Array(state.unchecked)).map(\.hex))
    }
  }

  /// Until when files that no release took have arrived that are to go: a day ago; where the disk is short of room, when the
  /// publishes ended of which nothing came.
  private func sweepLimit(_ now: Int64) -> Int64 {
    let aDayAgo = now - Self.gracePeriod
    let activity = activity.withLock { $0 }
    guard activity.foundNoRoom || disk.isShort(folder.temporary) else { return aDayAgo }
    guard let limit = activity.limit(now) else { return aDayAgo }
    if activity.isOver(now) {
      // Nobody is left who was told anything.
      state.withLock { state in state.reserved = state.reserved.filter { $0.value > limit } }
      self.activity.withLock { $0.forgetFullDisk() }
    }
    return max(aDayAgo, limit)
  }

  /// Refuses an upload that would take what is left for the database.
  func checkRoom(for bytes: Int64) throws(StoreError) {
    do {
      try disk.checkRoom(for: bytes, in: folder.temporary)
    } catch {
      if case .diskFull = error { activity.withLock { $0.noteFullDisk() } }
      throw error
    }
  }

  /// Removes what arrived more than a day ago and no release took, whole or half, or earlier where the disk is short of room;
  /// not what a publisher at work was told is there, however long it takes.
  /// - Returns: their sizes.
  @discardableResult
  func sweep() throws(StoreError) -> [Int64] {
    let now = clock()
    let limit = sweepLimit(now)
    expireReservations(now: now)
    let named = try sweepNamed(before: limit)
    return try named
      + StoreError.disk { () throws(SystemError) in
        var sizes: [Int64] = []
        // By what lies there rather than by what is known: a file that couldn't be removed once is known no more.
        for name in try Folder.textNames(folder.whole) {
          let path = "\(folder.whole)/\(name)"
          guard let status = try Kernel.status(path), status.modified / 1_000_000 <= limit else { continue }
          guard SHA256(hex: name).map({ forgetsWhole($0) }) ?? true else { continue }
          try folder.remove(path, as: "tmp-\(name)", now: now)
          if status.kind != .folder { sizes.append(status.size) }
        }
        // One that is still being written was changed a moment ago.
        for name in try Folder.textNames(folder.temporary) where name.hasPrefix("incoming-") {
          let path = "\(folder.temporary)/\(name)"
          guard let status = try Kernel.status(path), status.modified / 1_000_000 <= limit else { continue }
          try folder.remove(path, as: "tmp-\(name)", now: now)
          if status.kind != .folder { sizes.append(status.size) }
        }
        return sizes
      }
  }

  /// Forgets a whole file, unless a release that is planned or made counts on it.
  private func forgetsWhole(_ sha256: SHA256) -> Bool {
    state.withLock { state in
      if state.reserved[sha256] != nil || state.placing[sha256] != nil { return false }
      state.forgetWhole(sha256)
      return true
    }
  }
}

extension BlobStore.State {
  /// What is known of a file that arrived and has no row.
  func arrived(_ sha256: SHA256) -> FileDigest? { named[sha256] ?? whole[sha256] ?? placed[sha256] }

  /// Whether a file's name under `blobs/` is being removed.
  func isLeaving(_ sha256: SHA256) -> Bool { beingRemoved.contains(sha256) || leaving.contains(sha256) }

  /// Forgets a checked file that isn't placed.
  mutating func forgetWhole(_ sha256: SHA256) {
    whole[sha256] = nil
    named[sha256] = nil
    unchecked.remove(sha256)
  }
}
