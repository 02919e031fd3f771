import Manifests
import System

/// The result of scrubbing a file.
package enum ScrubResult: Equatable, Sendable {
  case good
  /// Its bytes are wrong or can't be read. It was moved to quarantine, or removed if it can be rebuilt.
  case bad
  /// It no longer exists, and nothing needs it.
  case gone
  /// The scrub was told to stop.
  case stopped
  /// It couldn't be read, or a bad one couldn't be quarantined, for a reason other than its bytes: their state isn't known.
  case failed(SystemError)
}

/// A file to scrub.
package struct ScrubItem: Sendable {
  /// The kind of file, and its name.
  package enum Kind: Hashable, Sendable {
    case blob(SHA256)
    /// A path below `derived/`.
    case derived(String)
  }

  /// The kind of file, and its name.
  package let kind: Kind
  /// The size in bytes.
  package let size: Int64
  /// When it was last read, in milliseconds since 1970.
  package let checkedAt: Int64
}

/// The amount to scrub, and the progress.
package struct ScrubState: Sendable {
  /// The number of blobs and of files under `derived/`.
  package internal(set) var files = 0
  /// The bytes of all of them.
  package internal(set) var bytes: Int64 = 0
  /// When the file that has waited longest was last read, in milliseconds since 1970; nil if there is no file.
  package internal(set) var oldest: Int64?
  /// The number of blobs that wait to be published again.
  package internal(set) var damaged = 0

  /// Creates an empty state.
  package init() {}
}

// Guarantee 7: every file is read back once per period, starting with the one that has waited longest. The time is in
// the file's row, so after a restart the scrub continues where it stopped.
extension Store {
  /// The amount to scrub, and when the oldest file was read.
  package func scrubState() throws(StoreError) -> ScrubState {
    var state = try connections.reading { (db) throws(StoreError) in
      var state = try db.scrubState(
        "SELECT count(*), sum(size), (SELECT min(checked_at) FROM blob_check) FROM blob WHERE quarantined_at IS NULL"
      )
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

  /// The files that have waited longest.
  package func nextToScrub(limit: Int) throws(StoreError) -> [ScrubItem] {
    // A time in the future means that the file was read while the clock was ahead, so it isn't known when.
    let now = clock()
    let blobs = try connections.reading { (db) throws(StoreError) in
      // CROSS JOIN keeps SQLite from reordering the tables (sqlite.org/lang_select.html): it reads the index on the times, and of
      // it no more than it returns, because blobs in quarantine have no row there.
      let ahead = try db.all(
        """
        SELECT b.sha256, b.size, 0 FROM blob_check AS c CROSS JOIN blob AS b ON b.id = c.blob_id
        WHERE b.quarantined_at IS NULL AND c.checked_at > ? ORDER BY c.checked_at DESC LIMIT ?
        """, now, limit
      ) { ScrubItem(kind: .blob($0.get(0)), size: $0.get(1), checkedAt: $0.get(2)) }
      let rest = try db.all(
        """
        SELECT b.sha256, b.size, c.checked_at FROM blob_check AS c CROSS JOIN blob AS b ON b.id = c.blob_id
        WHERE b.quarantined_at IS NULL AND c.checked_at <= ? ORDER BY c.checked_at LIMIT ?
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

  /// Reads a file from the disk. A bad one is quarantined or removed, and whoever has it open is told. `shouldContinue`
  /// is called after each slice with its bytes, and may wait; returning false stops.
  package func scrub(_ item: ScrubItem, _ shouldContinue: (Int) -> Bool) throws(StoreError) -> ScrubResult {
    do throws(StoreError) {
      switch item.kind {
      case .blob(let sha256): return try blobs.scrub(sha256, shouldContinue)
      case .derived(let path): return try derived.scrub(path, shouldContinue)
      }
    } catch {
      // A file that can't be read, because of its permissions for example, doesn't keep the others from being read.
      guard case .system(let reason) = error, !reason.isOutOfDescriptors else { throw error }
      return .failed(reason)
    }
  }

  /// Reads a blob from the disk, as above.
  package func scrub(blob sha256: SHA256) throws(StoreError) -> ScrubResult {
    try scrub(ScrubItem(kind: .blob(sha256), size: 0, checkedAt: 0)) { _ in true }
  }

  /// Records that files were read and are good.
  package func noteScrubbed(_ items: [ScrubItem]) throws(StoreError) {
    if items.isEmpty { return }
    let now = clock()
    try connections.transaction { (db) throws(StoreError) in
      for case .blob(let sha256) in items.map(\.kind) { try BlobRow.noteRead(sha256, at: now, in: db) }
    }
    try derived.noteRead(
      items.compactMap { item in if case .derived(let path) = item.kind { path } else { nil } }, at: now)
  }

  /// Adds rows for zips that have none yet; a zip's name contains the digest of its bytes.
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
    // Dated when the zip was created or last used, because its bytes were read then.
    try derived.list(
      found.map { (path: $0.path, size: $0.status.size, at: min(now, $0.status.modified / 1_000_000)) })
  }

  /// Reads every file now.
  /// - Parameter shouldContinue: called before each file with its size in bytes; returning false ends the round.
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
  /// Reads a query's columns: the number of files, their bytes, when the oldest was read.
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
  /// Reads a blob from the disk, whether or not it was hashed before, and quarantines a bad one.
  ///
  /// A bad blob is read twice before that, because a bad cable or a flipped bit in memory isn't the file's fault.
  /// `shouldContinue` is called after each slice with its bytes; returning false stops.
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
      guard try isGood(sha256) else { return .gone }
      return try quarantine(sha256, inode: nil) ? .bad : .good
    case .stopped: return .stopped
    }
  }
}
