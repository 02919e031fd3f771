import Manifests
import System

/// What the scrub found of a file.
package enum ScrubResult: Equatable, Sendable {
  case good
  /// Its bytes are others, or can't be read: it was set aside, or dropped where it can be made again.
  case bad
  /// It isn't there any more, and nothing needs it.
  case gone
  /// The reader was told to stop.
  case stopped
  /// It couldn't be read, nor set aside where it is bad, for a reason that isn't its bytes': nothing is known of them.
  case failed(SystemError)
}

/// A file that the scrub reads.
package struct ScrubItem: Sendable {
  /// What it is, and its name.
  package enum Kind: Hashable, Sendable {
    case blob(SHA256)
    /// A path below `derived/`.
    case derived(String)
  }

  /// What it is.
  package let kind: Kind
  /// Bytes.
  package let size: Int64
  /// When it was read last, in milliseconds since 1970.
  package let checkedAt: Int64
}

/// What there is to scrub, and how far the scrub is.
package struct ScrubState: Sendable {
  /// Blobs, and files under `derived/`.
  package internal(set) var files = 0
  /// The bytes of all of them.
  package internal(set) var bytes: Int64 = 0
  /// When the file was read that was not read for longest, in milliseconds since 1970; nil: there is none.
  package internal(set) var oldest: Int64?
  /// Blobs that wait to be published again.
  package internal(set) var damaged = 0

  /// Nothing.
  package init() {}
}

// Guarantee 7: every file is read back once in a period, the one first that was not read for longest. When each was
// read is in its row, so that a restart goes on where the scrub stopped.
extension Store {
  /// What there is to read, and when the oldest was read.
  package func scrubState() throws(StoreError) -> ScrubState {
    var state = try connections.reading { (db) throws(StoreError) in
      var state = try db.scrubState(
        "SELECT count(*), sum(size), min(checked_at) FROM blob WHERE quarantined_at IS NULL")
      state.damaged = try BlobRow.damaged(in: db)
      return state
    }
    let derived = try derived.work { (db) throws(StoreError) in
      try db.scrubState("SELECT count(*), sum(size), min(checked_at) FROM file")
    }
    state.files += derived.files
    state.bytes += derived.bytes
    state.oldest = [state.oldest, derived.oldest].compactMap { $0 }.min()
    return state
  }

  /// The files that were not read for longest.
  package func nextToScrub(limit: Int) throws(StoreError) -> [ScrubItem] {
    // What was read at a time that hasn't come was read while the clock was ahead: nobody knows when.
    let now = clock()
    let blobs = try connections.reading { (db) throws(StoreError) in
      let ahead = try db.all(
        """
        SELECT sha256, size, 0 FROM blob WHERE quarantined_at IS NULL AND checked_at > ?
        ORDER BY checked_at DESC LIMIT ?
        """, now, limit
      ) { ScrubItem(kind: .blob($0.get(0)), size: $0.get(1), checkedAt: $0.get(2)) }
      let rest = try db.all(
        """
        SELECT sha256, size, checked_at FROM blob WHERE quarantined_at IS NULL AND checked_at <= ?
        ORDER BY checked_at LIMIT ?
        """, now, limit
      ) { ScrubItem(kind: .blob($0.get(0)), size: $0.get(1), checkedAt: $0.get(2)) }
      return ahead + rest
    }
    let files = try derived.work { (db) throws(StoreError) in
      try db.all(
        "SELECT path, size, iif(checked_at > ?1, 0, checked_at) AS at FROM file ORDER BY at LIMIT ?2", now,
        limit
      ) {
        ScrubItem(kind: .derived($0.get(0)), size: $0.get(1), checkedAt: $0.get(2))
      }
    }
    return Array((blobs + files).sorted { $0.checkedAt < $1.checkedAt }.prefix(limit))
  }

  /// Reads a file from the disk; a bad one is set aside or dropped, and whoever has it open told.
  /// - Parameter shouldContinue: asked after each slice, with its bytes: the place to wait; false ends it.
  package func scrub(_ item: ScrubItem, _ shouldContinue: (Int) -> Bool) throws(StoreError) -> ScrubResult {
    do throws(StoreError) {
      switch item.kind {
      case .blob(let sha256): return try blobs.scrub(sha256, shouldContinue)
      case .derived(let path): return try derived.scrub(path, shouldContinue)
      }
    } catch {
      // One file that can't be read, as for its permissions, keeps nobody from the others.
      guard case .system(let reason) = error, !reason.isOutOfDescriptors else { throw error }
      return .failed(reason)
    }
  }

  /// Notes that files were read and good.
  package func noteScrubbed(_ items: [ScrubItem]) throws(StoreError) {
    if items.isEmpty { return }
    let now = clock()
    try connections.transaction { (db) throws(StoreError) in
      for case .blob(let sha256) in items.map(\.kind) { try BlobRow.noteRead(sha256, at: now, in: db) }
    }
    try derived.noteRead(
      items.compactMap { item in if case .derived(let path) = item.kind { path } else { nil } }, at: now)
  }

  /// Puts zips that have no row yet on the list: their names say what their bytes are.
  package func listZips() throws(StoreError) {
    let now = clock()
    let found = try StoreError.disk { () throws(SystemError) in
      var found: [(path: String, status: FileStatus)] = []
      for path in try folder.zipFiles() {
        guard let file = ZipFile(path), !file.isDropped, let status = try Kernel.status(path) else {
          continue
        }
        found.append((String(path.dropFirst(folder.derived.count + 1)), status))
      }
      return found
    }
    // From when it was made or used last: then its bytes were seen.
    try derived.list(
      found.map { (path: $0.path, size: $0.status.size, at: min(now, $0.status.modified / 1_000_000)) })
  }

  /// Reads every file now.
  /// - Parameter shouldContinue: asked before each file, with its size in bytes; false ends the round.
  /// - Returns: the digests of the bad blobs.
  package func scrub(_ shouldContinue: (Int64) -> Bool) throws(StoreError) -> [SHA256] {
    try listZips()
    var bad: [SHA256] = []
    for item in try nextToScrub(limit: .max) {
      guard shouldContinue(item.size) else { break }
      if try scrub(item, { _ in true }) == .bad, case .blob(let sha256) = item.kind { bad.append(sha256) }
    }
    return bad
  }
}

extension Database {
  /// What a query tells: how many files, their bytes, when the oldest was read.
  fileprivate func scrubState(_ sql: StaticString) throws(StoreError) -> ScrubState {
    try first(sql) { row in
      var state = ScrubState()
      state.files = row.get(0)
      state.bytes = row.get(1)
      state.oldest = row.get(2)
      return state
    } ?? ScrubState()
  }
}

extension BlobStore {
  /// Reads a blob from the disk, whether or not it was hashed before, and sets a bad one aside.
  ///
  /// Read once more before it is set aside: a bad cable or a bit of the reader's memory isn't the file.
  /// - Parameter shouldContinue: asked after each slice, with its bytes; false ends it.
  func scrub(_ sha256: SHA256, _ shouldContinue: (Int) -> Bool) throws(StoreError) -> ScrubResult {
    var found = DiskDigest.Result.missing
    for _ in 0..<2 {
      found = try StoreError.disk { () throws(SystemError) in
        try DiskDigest.of(folder.blob(sha256), shouldContinue: shouldContinue)
      }
      switch found {
      case .stopped: return .stopped
      case .read(sha256, _): return .good
      default: continue
      }
    }
    switch found {
    case .read(_, let inode), .unreadable(let inode):
      return try quarantine(sha256, inode: inode) ? .bad : .good
    case .missing:
      guard try counts(sha256) else { return .gone }
      return try quarantine(sha256, inode: nil) ? .bad : .good
    case .stopped: return .stopped
    }
  }
}
