import System

/// What can be rebuilt from the blobs: sketches, deltas, packs and zips. If it is lost, no data is lost.
///
/// The rows are in `derived.db`, the files under `derived/`. Any thread may call it; calls take turns.
package final class DerivedStore: Sendable {
  let folder: DataFolder
  let changes: FileChanges
  /// The space that its files take; nothing checks what rows take.
  let space: FileSpace
  let clock: @Sendable () -> Int64
  /// Zips that were hashed since the start, by path.
  let wholeZips = Locked<[String: ZipOnDisk]>([:])
  private let connection: Locked<ConnectionBox>

  private struct ConnectionBox: @unchecked Sendable {  // only the thread that holds the lock uses it
    let database: Database
  }

  /// Opens what exists, or starts anew if it is missing, damaged or of another format. If it `isSecondary`, another
  /// process has it, and it is never started anew.
  init(
    _ folder: DataFolder, changes: FileChanges, space: FileSpace, clock: @escaping @Sendable () -> Int64,
    isSecondary: Bool = false
  ) throws(StoreError) {
    self.folder = folder
    self.changes = changes
    self.space = space
    self.clock = clock
    if isSecondary {
      connection = Locked(ConnectionBox(database: try Self.openSecondary(folder.derivedDatabase)))
      return
    }
    try StoreError.disk { () throws(SystemError) in
      if try Kernel.status(folder.derived) == nil { try Kernel.makeFolder(folder.derived, mode: 0o750) }
    }
    do {
      connection = Locked(ConnectionBox(database: try Self.open(folder.derivedDatabase)))
    } catch {
      try StoreError.disk { () throws(SystemError) in
        for ending in ["", "-wal", "-shm"] where try Kernel.status(folder.derivedDatabase + ending) != nil {
          try Kernel.remove(folder.derivedDatabase + ending)
        }
      }
      connection = Locked(ConnectionBox(database: try Self.open(folder.derivedDatabase)))
    }
  }

  /// Opens another process's database as it is. The folder of an origin that was restored but never served has no
  /// tables, and that of an older or newer server has different ones: then it counts as empty.
  private static func openSecondary(_ path: String) throws(StoreError) -> Database {
    let database = try Database(path: path, .secondary)
    database.keepLogOnClose()
    if try database.value(Int64.self, "PRAGMA user_version") == DerivedSchema.format { return database }
    let empty = try Database(path: ":memory:", .secondary)
    try empty.script(DerivedSchema.all)
    return empty
  }

  private static func open(_ path: String) throws(StoreError) -> Database {
    let database = try Database(path: path, .writing)
    // A power cut may lose rows here, which only costs work.
    try database.script("PRAGMA synchronous = NORMAL")
    let format = try database.value(Int64.self, "PRAGMA user_version") ?? 0
    if format == DerivedSchema.format { return database }
    if (DerivedSchema.formatBeforePacks...DerivedSchema.formatBeforeVersions).contains(format) {
      try database.write { () throws(StoreError) in
        if format <= DerivedSchema.formatBeforePacks { try database.script(DerivedSchema.packs) }
        if format <= DerivedSchema.formatBeforePushes {
          try database.script(DerivedSchema.pushes + DerivedSchema.trees)
        }
        // All deltas are kept, but versions are checked once more.
        try database.script(
          "DROP TABLE done;" + DerivedSchema.done + "PRAGMA user_version = \(DerivedSchema.format)")
      }
      return database
    }
    try database.write { () throws(StoreError) in
      let tables = try database.all("SELECT name FROM sqlite_schema WHERE type = 'table'") { row in
        row.get(0, as: String.self)
      }
      for table in tables { try database.script("DROP TABLE \"\(table)\"") }
      try database.script(DerivedSchema.all)
      try database.script("PRAGMA user_version = \(DerivedSchema.format)")
    }
    return database
  }

  /// Frees the memory of the database's cached pages.
  func releaseMemory() { connection.withLock { $0.database.releaseMemory() } }

  /// The number of rows that a caller with many reads or writes in one turn. Such callers run at low priority, and a rollback that
  /// waits for its turn keeps the kill switch waiting.
  static let rowsATurn = 100

  /// Runs `body` with the only connection; callers take turns.
  func work<Result: Sendable>(_ body: (Database) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try connection.withLock { (held) throws(StoreError) -> Result in try body(held.database) }
  }

  /// Runs `body` as one write transaction.
  func transaction<Result: Sendable>(_ body: (Database) throws(StoreError) -> Result) throws(StoreError)
    -> Result
  {
    try work { (db) throws(StoreError) in try db.write { () throws(StoreError) in try body(db) } }
  }

  /// `derived/ab/cdef….<ending>`
  package func file(_ sha256: SHA256, _ ending: String) -> String {
    let hex = sha256.hex
    return "\(folder.derived)/\(hex.prefix(2))/\(hex.dropFirst(2)).\(ending)"
  }
}

/// The tables of `derived.db`, which is created anew if `format` differs.
enum DerivedSchema {
  static let format: Int64 = 6
  /// Earlier formats, to which only tables were added: that of packs, and those of pushed deltas and of
  /// what is known of large blobs. Their table `done` had one version for each base.
  static let formatBeforePacks: Int64 = 3
  static let formatBeforePushes: Int64 = 4
  static let formatBeforeVersions: Int64 = 5

  static var all: String { sql + done + packs + pushes + trees }

  static let sql = """
    -- What a blob is like, by the way it was cut: eight bytes a hash.
    CREATE TABLE sketch (
      sha256 BLOB NOT NULL, cut INTEGER NOT NULL, hashes BLOB NOT NULL, PRIMARY KEY (sha256, cut)
    ) STRICT, WITHOUT ROWID;
    -- Bytes of a blob's best plain body: gzip, zstd or uncoded.
    CREATE TABLE plain (
      sha256 BLOB NOT NULL, coded INTEGER NOT NULL, size INTEGER NOT NULL, PRIMARY KEY (sha256, coded)
    ) STRICT, WITHOUT ROWID;
    -- A pair that was tried; size NULL: it isn't worth a delta.
    CREATE TABLE delta (
      target BLOB NOT NULL, base BLOB NOT NULL, size INTEGER, PRIMARY KEY (target, base)
    ) STRICT, WITHOUT ROWID;
    -- Files under derived/, by their path below it: what their bytes were when they were made (of a zip the first half
    -- of the digest, which its name has), and when they were last read back.
    CREATE TABLE file (
      path TEXT PRIMARY KEY, digest BLOB NOT NULL, size INTEGER NOT NULL, checked_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX file_by_check ON file (checked_at);
    """

  static let done = """

    -- From which base version to which version of a channel every delta is made, and the pack.
    CREATE TABLE done (
      channel_id INTEGER NOT NULL, base INTEGER NOT NULL, version INTEGER NOT NULL,
      PRIMARY KEY (channel_id, base, version)
    ) STRICT, WITHOUT ROWID;

    """

  static let packs = """

    -- What turns a version of a channel into a newer one. `ends` stands for both manifests, so that none of a database
    -- that was there before is taken for one of this; sha256 and size are the pack's, NULL: not worth one. `pushed`: it
    -- was brought to where devices download from.
    CREATE TABLE pack (
      channel_id INTEGER NOT NULL, base INTEGER NOT NULL, version INTEGER NOT NULL, ends BLOB NOT NULL,
      sha256 BLOB, size INTEGER, pushed INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (channel_id, base, version)
    ) STRICT, WITHOUT ROWID;

    """

  static let pushes = """

    -- The deltas that were brought to where devices download from, by the channel whose path names them.
    CREATE TABLE pushed_delta (
      channel TEXT NOT NULL, target BLOB NOT NULL, base BLOB NOT NULL, PRIMARY KEY (channel, target, base)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pushed_delta_by_delta ON pushed_delta (target, base);
    CREATE TRIGGER delta_is_gone AFTER DELETE ON delta
    BEGIN DELETE FROM pushed_delta WHERE target = OLD.target AND base = OLD.base; END;

    """

  static let trees = """

    -- The SHA-256 of each block of a large blob, and what binds them to the blob (`BlockTree.root`).
    CREATE TABLE block_tree (
      sha256 BLOB PRIMARY KEY, size INTEGER NOT NULL, digests BLOB NOT NULL, root BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- Codings that aren't worth it for a blob.
    CREATE TABLE poor_coding (
      sha256 BLOB NOT NULL, coding TEXT NOT NULL, PRIMARY KEY (sha256, coding)
    ) STRICT, WITHOUT ROWID;

    """
}
