import CSQLite

/// Records what one connection commits, as changesets of SQLite's session extension (sqlite.org/sessionintro.html).
///
/// A changeset has the old and the new values of each row that differs at its end from what it was at its beginning, also those that
/// triggers and foreign keys changed. The extension passes over tables without a primary key without a word, so such a table is refused
/// here; and it doesn't see `sqlite_sequence`, which is carried beside it.
final class ChangeRecorder {
  /// What was committed since the one before.
  struct Changes: Sendable {
    /// A changeset; empty if no row changed.
    let changeset: [UInt8]
    /// The highest ids that `AUTOINCREMENT` gave, by table.
    let sequences: [String: Int64]
  }

  /// Has this recorder, and ends it before its own end.
  private unowned let database: Database
  private var session: OpaquePointer?

  /// Begins to record what `database` changes from now on.
  /// - Throws: `corruptRow` if a table has no primary key.
  init(_ database: Database) throws(StoreError) {
    self.database = database
    try Self.requireKeys(database)
    try begin()
  }

  deinit { sqlite3session_delete(session) }

  private func begin() throws(StoreError) {
    sqlite3session_delete(session)
    session = nil
    guard sqlite3session_create(database.handle, "main", &session) == SQLITE_OK,
      sqlite3session_attach(session, nil) == SQLITE_OK
    else { throw database.failure("sqlite3session_attach") }
  }

  /// The names of all tables that acts write.
  static func tables(of database: Database) throws(StoreError) -> [String] {
    try database.all(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    ) { (row) throws(StoreError) in row.get(0) }
  }

  private static func requireKeys(_ database: Database) throws(StoreError) {
    for table in try tables(of: database) {
      let keys = try database.value(
        Int64.self, "SELECT count(*) FROM pragma_table_info(?) WHERE pk > 0", table)
      guard let keys, keys > 0 else { throw .corruptRow("table \(table) has no primary key") }
    }
  }

  /// What was committed since the last call, or since recording began.
  func take() throws(StoreError) -> Changes {
    var (size, bytes): (Int32, UnsafeMutableRawPointer?) = (0, nil)
    guard sqlite3session_changeset(session, &size, &bytes) == SQLITE_OK else {
      throw database.failure("sqlite3session_changeset")
    }
    defer { sqlite3_free(bytes) }
    let changeset = Array(UnsafeRawBufferPointer(start: bytes, count: Int(size)))
    try begin()
    var sequences: [String: Int64] = [:]
    try database.each("SELECT name, seq FROM sqlite_sequence") { (row) throws(StoreError) in
      sequences[row.get(0)] = row.get(1)
    }
    return Changes(changeset: changeset, sequences: sequences)
  }
}

/// A copy of a database that only changesets write.
final class ChangeReplica {
  let database: Database

  /// Opens the copy at `path`, whose schema is the recorded database's. Triggers and foreign keys are off in it: what they did is in
  /// the changesets.
  init(path: String) throws(StoreError) {
    database = try Database(path: path, .writing)
    try database.script("PRAGMA foreign_keys = OFF")
    _ = xcache_sqlite_config(database.handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
  }

  /// Applies `changes`, all or nothing.
  /// - Throws: an error of SQLite if a row isn't as the changeset expects, or one of its tables is missing or different.
  func apply(_ changes: ChangeRecorder.Changes) throws(StoreError) {
    try database.write { () throws(StoreError) in
      if !changes.changeset.isEmpty { try apply(changes.changeset) }
      try database.run("DELETE FROM sqlite_sequence")
      for (name, seq) in changes.sequences {
        try database.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", name, seq)
      }
    }
  }

  /// What the callbacks of one changeset share.
  private final class Applying {
    /// The tables that SQLite asked about: it asks once for each that it changes, and never for one that it passes over.
    var tables: Set<String> = []
    var conflict: Int32?
  }

  private func apply(_ changeset: [UInt8]) throws(StoreError) {
    let applying = Applying()
    var bytes = changeset
    let code = withExtendedLifetime(applying) {
      bytes.withUnsafeMutableBytes { buffer in
        sqlite3changeset_apply(
          database.handle, Int32(buffer.count), buffer.baseAddress,
          { context, name in
            guard let context, let name else { return 0 }
            Unmanaged<Applying>.fromOpaque(context).takeUnretainedValue().tables.insert(String(cString: name))
            return 1
          },
          { context, kind, _ in
            guard let context else { return SQLITE_CHANGESET_ABORT }
            Unmanaged<Applying>.fromOpaque(context).takeUnretainedValue().conflict = kind
            return SQLITE_CHANGESET_ABORT
          }, Unmanaged.passUnretained(applying).toOpaque())
      }
    }
    guard code == SQLITE_OK, applying.conflict == nil else {
      throw .corruptRow(
        "a changeset of \(changeset.count) bytes: error \(code), conflict \(applying.conflict ?? 0)")
    }
    // "If a compatible table is not found, all changes for it are ignored", with only a line in SQLite's log.
    let named = try Self.tables(in: changeset)
    let known = Set(try ChangeRecorder.tables(of: database))
    guard named.isSubset(of: known), applying.tables == named else {
      throw .corruptRow(
        "a changeset names tables that were passed over: \(named.subtracting(applying.tables).sorted())")
    }
  }

  /// The tables that a changeset changes.
  static func tables(in changeset: [UInt8]) throws(StoreError) -> Set<String> {
    var names: Set<String> = []
    var bytes = changeset
    let code = bytes.withUnsafeMutableBytes { buffer -> Int32 in
      var iterator: OpaquePointer?
      let code = sqlite3changeset_start(&iterator, Int32(buffer.count), buffer.baseAddress)
      guard code == SQLITE_OK else { return code }
      while sqlite3changeset_next(iterator) == SQLITE_ROW {
        var (name, columns, operation, isIndirect): (UnsafePointer<CChar>?, Int32, Int32, Int32) = (
          nil, 0, 0, 0
        )
        sqlite3changeset_op(iterator, &name, &columns, &operation, &isIndirect)
        if let name { names.insert(String(cString: name)) }
      }
      return sqlite3changeset_finalize(iterator)
    }
    guard code == SQLITE_OK else { throw .corruptRow("a changeset can't be read: error \(code)") }
    return names
  }
}
