import Manifests
import System

/// The files of the data folder that hold resources' bytes, each stored once and named by its SHA-256.
///
/// A file's path: `tmp/incoming-…` while it arrives, `tmp/whole/<sha256>` once its bytes are checked, and
/// `blobs/ab/cdef…` when a release needs it, with a row in the database from that release on. Small files that arrive
/// together are created under `blobs/` at once: a file there without a row doesn't count, so it may be partial.
final class BlobStore: Sendable {
  let folder: DataFolder
  let disk: Disk
  let connections: Connections
  let clock: @Sendable () -> Int64
  let changes: FileChanges
  let derived: DerivedStore
  /// Checks of large blobs that are being carried out.
  let checks = Locked<[SHA256: BlobCheck]>([:])
  /// Whether another process has the folder, so that nothing in it is changed.
  let isSecondary: Bool
  // syncfs(2): "Since Linux 5.8, syncfs() will also report an error if one or more inodes failed to be written back
  // since the last syncfs() call". Errors are counted per open file, so this is opened before anything is written.
  let root: Descriptor
  let writeback: Writeback
  let state: Locked<State>
  let activity: Locked<UploadActivity>
  private let space: FileSpace

  /// Folders found at the start in the place of incoming files.
  let unexpectedFolders: [UnexpectedFolder]

  /// What is known about files beyond the rows of the database.
  struct State {
    /// Checked files under `tmp/whole`.
    var whole: [SHA256: FileDigest] = [:]
    /// Checked files under their final names in `blobs/`, without a row; neither bytes nor name may be on the disk yet.
    var named: [SHA256: FileDigest] = [:]
    /// Files that are being created under `blobs/`.
    var arriving: Set<SHA256> = []
    /// Files under `tmp/whole` from before the start, which count only after they are hashed again.
    var unchecked: Set<SHA256> = []
    /// Whether there may be such files under `blobs/`, too.
    var hasUncheckedNames = false
    /// When the folder was last marked as having files without a release, in milliseconds since 1970.
    var markedAt: Int64 = 0
    /// Files that are durable under `blobs/` and wait for their release's rows.
    var persisted: [SHA256: FileDigest] = [:]
    /// Blobs that were hashed since the start, with their size then.
    var verified: [SHA256: Int64] = [:]
    /// Files that are being renamed to their names under `blobs/`, and by how many releases at once.
    var persisting: [SHA256: Int] = [:]
    /// Files that are being removed: no row names them, and a release that needs one waits.
    var beingRemoved: Set<SHA256> = []
    /// Files that are being removed and that no row ever named.
    var leaving: Set<SHA256> = []
    /// What publishers were told is stored, and when, in milliseconds since 1970.
    var reserved: [SHA256: Int64] = [:]
    /// The newest of those times, which differ for each call.
    var lastReservation: Int64 = 0
    /// Whether rows of blobs are being removed.
    var isRemoving = false
    var nextIncoming = 0
    /// What was purged and isn't taken again.
    var purged: [SHA256: Purge] = [:]
  }

  /// How long a received file waits for a release: 24 h, in milliseconds.
  static let gracePeriod: Int64 = 24 * 3600 * 1000

  init(
    folder: DataFolder, disk: Disk, connections: Connections, clock: @escaping @Sendable () -> Int64,
    changes: FileChanges, derived: DerivedStore, space: FileSpace, cleansUp: Bool = true
  ) throws(StoreError) {
    self.folder = folder
    self.disk = disk
    self.connections = connections
    self.clock = clock
    self.changes = changes
    self.derived = derived
    self.space = space
    isSecondary = !cleansUp
    writeback = Writeback(folder: folder.path)
    root = try StoreError.disk { () throws(SystemError) in
      try Kernel.open(folder.path, [.read, .directory])
    }
    let left =
      cleansUp ? try Self.cleanUp(folder, now: clock()) : (whole: [], hasNames: false, unexpectedFolders: [])
    unexpectedFolders = left.unexpectedFolders
    state = Locked(State(unchecked: left.whole, hasUncheckedNames: left.hasNames))
    activity = Locked(UploadActivity(now: clock()))
  }

  /// Removes files that a stopped process left partially received or too old, and moves folders to quarantine.
  /// - Returns: the received files that stay, whether `blobs/` may have some, and the folders.
  private static func cleanUp(_ folder: DataFolder, now: Int64) throws(StoreError)
    -> (whole: Set<SHA256>, hasNames: Bool, unexpectedFolders: [UnexpectedFolder])
  {
    try StoreError.disk { () throws(SystemError) in
      var unexpectedFolders: [UnexpectedFolder] = []
      var kept: Set<SHA256> = []
      let incoming = try Folder.textNames(folder.temporary).filter { $0.hasPrefix("incoming-") }
        .map { (name: $0, path: "\(folder.temporary)/\($0)", sha256: SHA256?.none) }
      let whole = try Folder.textNames(folder.whole)
        .map { (name: $0, path: "\(folder.whole)/\($0)", sha256: SHA256(hex: $0)) }
      for file in incoming + whole {
        guard let status = try Kernel.status(file.path, followLinks: false) else { continue }
        if status.kind == .folder {
          let movedTo = try? folder.setAside(file.path, as: "tmp-\(file.name)", now: now)
          unexpectedFolders.append(UnexpectedFolder(path: file.path, movedTo: movedTo))
        } else if let sha256 = file.sha256, status.kind == .file,
          status.modified / 1_000_000 > now - gracePeriod
        {
          kept.insert(sha256)
        } else {
          try Kernel.remove(file.path)
        }
      }
      let marked = try Kernel.status(folder.unreleased)
      return (kept, marked.map { $0.modified / 1_000_000 > now - gracePeriod } ?? false, unexpectedFolders)
    }
  }

  /// The names of files that wait for a release's rows.
  var waitingNames: Set<String> {
    state.withLock { state in
      let arrived = [state.whole.keys, state.named.keys, state.persisted.keys].joined()
      return Set((Array(arrived) + Array(state.unchecked)).map(\.hex))
    }
  }

  /// The time up to which files without a release are swept: a day ago, or, if the disk is short of space, the end of
  /// the publishes that came to nothing.
  private func sweepLimit(_ now: Int64) -> Int64 {
    let cutoff = now - Self.gracePeriod
    let activity = activity.withLock { $0 }
    guard activity.ranOutOfSpace || disk.isShort(folder.temporary) else { return cutoff }
    guard let limit = activity.limit(now) else { return cutoff }
    if activity.isOver(now) {
      // Nobody is left who was told that they are stored.
      state.withLock { state in state.reserved = state.reserved.filter { $0.value > limit } }
      self.activity.withLock { $0.forgetFullDisk() }
    }
    return max(cutoff, limit)
  }

  /// Refuses an upload that would use the space left for the database.
  func checkSpace(for bytes: Int64) throws(StoreError) {
    do {
      try disk.checkSpace(for: bytes, in: folder.temporary)
    } catch {
      if case .diskFull = error { activity.withLock { $0.noteFullDisk() } }
      throw error
    }
  }

  /// Takes room for bytes and has `write` write them.
  /// - Throws: `diskFull` if they would use the space left for the database.
  func takingSpace(for bytes: Int, write: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) {
      try space.taking(bytes, write: write)
    } catch {
      if case .diskFull = error { activity.withLock { $0.noteFullDisk() } }
      throw error
    }
  }

  /// Removes files that arrived more than a day ago and that no release used, whole or partial, or earlier if the disk
  /// is short of space; not those that a publisher still at work was told are stored, however long it takes.
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
        // From the folder's listing rather than the state, which no longer has a file whose removal failed once.
        for name in try Folder.textNames(folder.whole) {
          let path = "\(folder.whole)/\(name)"
          guard let status = try Kernel.status(path), status.modified / 1_000_000 <= limit else { continue }
          guard SHA256(hex: name).map({ forgetWholeIfUnused($0) }) ?? true else { continue }
          try folder.remove(path, as: "tmp-\(name)", now: now)
          if status.kind != .folder { sizes.append(status.size) }
        }
        // A file that is still being written was modified a moment ago.
        for name in try Folder.textNames(folder.temporary) where name.hasPrefix("incoming-") {
          let path = "\(folder.temporary)/\(name)"
          guard let status = try Kernel.status(path), status.modified / 1_000_000 <= limit else { continue }
          try folder.remove(path, as: "tmp-\(name)", now: now)
          if status.kind != .folder { sizes.append(status.size) }
        }
        return sizes
      }
  }

  /// Forgets a received file, unless a planned or committed release depends on it.
  /// - Returns: whether it was forgotten.
  private func forgetWholeIfUnused(_ sha256: SHA256) -> Bool {
    state.withLock { state in
      if state.reserved[sha256] != nil || state.persisting[sha256] != nil { return false }
      state.forgetWhole(sha256)
      return true
    }
  }
}

extension BlobStore.State {
  /// The digest of a file that arrived and has no row.
  func arrived(_ sha256: SHA256) -> FileDigest? { named[sha256] ?? whole[sha256] ?? persisted[sha256] }

  /// Whether a file's name under `blobs/` is being removed.
  func isLeaving(_ sha256: SHA256) -> Bool { beingRemoved.contains(sha256) || leaving.contains(sha256) }

  /// Forgets a checked file that isn't persisted.
  mutating func forgetWhole(_ sha256: SHA256) {
    whole[sha256] = nil
    named[sha256] = nil
    unchecked.remove(sha256)
  }
}
