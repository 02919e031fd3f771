import CSQLite

/// What acts changed in a database since the last time.
struct DatabaseChanges: Sendable {
  /// A changeset of SQLite's session extension; empty if no row changed.
  let changeset: [UInt8]
  /// The highest ids that `AUTOINCREMENT` gave, by table.
  let sequences: [String: Int64]
}

/// Records what one connection commits in the tables of acts, as changesets of SQLite's session extension
/// (sqlite.org/sessionintro.html).
///
/// A changeset has the old and the new values of each row that differs at its end from what it was at its beginning, also those that
/// triggers and foreign keys changed; what was rolled back isn't in it. What the extension can't see is refused
/// (`RecordedTables.findings`), but `sqlite_sequence`, which is carried beside it. It doesn't see what other connections write, either.
final class ChangeRecorder {
  /// Has this recorder, and ends it before its own end.
  private unowned let database: Database
  private var session: OpaquePointer?
  private var sequences: [String: Int64]

  /// Begins to record what `database` changes from now on.
  /// - Throws: `changeset` if its changesets would lack something.
  init(_ database: Database) throws(StoreError) {
    self.database = database
    sequences = try Self.sequences(of: database)
    let findings = try RecordedTables.findings(in: database)
    guard findings.isEmpty else { throw .changeset(findings.joined(separator: "; ")) }
    try begin()
  }

  deinit { end() }

  /// Begins anew. If that fails, the session before goes on, so that no change is ever lost.
  private func begin() throws(StoreError) {
    var made: OpaquePointer?
    var code = sqlite3session_create(database.handle, "main", &made)
    for table in RecordedTables.acts where code == SQLITE_OK { code = sqlite3session_attach(made, table) }
    guard code == SQLITE_OK else {
      if let made { sqlite3session_delete(made) }
      throw .changeset("SQLite's error \(code) beginning a session")
    }
    // The new one first: a statement that is prepared while no session exists may delete all rows of a table at once, unseen.
    end()
    session = made
  }

  private func end() {
    // It doesn't take a null pointer.
    if let session { sqlite3session_delete(session) }
    session = nil
  }

  /// What was committed since the last call, or since recording began; nil if nothing was. Not within a transaction.
  func take() throws(StoreError) -> DatabaseChanges? {
    let changeset = try changeset()
    let sequences = try Self.sequences(of: database)
    try begin()
    defer { self.sequences = sequences }
    if changeset.isEmpty, sequences == self.sequences { return nil }
    return DatabaseChanges(changeset: changeset, sequences: sequences)
  }

  private func changeset() throws(StoreError) -> [UInt8] {
    var (size, bytes): (Int32, UnsafeMutableRawPointer?) = (0, nil)
    let code = sqlite3session_changeset(session, &size, &bytes)
    defer { sqlite3_free(bytes) }
    guard code == SQLITE_OK else { throw .changeset("SQLite's error \(code) making a changeset") }
    return Array(UnsafeRawBufferPointer(start: bytes, count: Int(size)))
  }

  private static func sequences(of database: Database) throws(StoreError) -> [String: Int64] {
    var sequences: [String: Int64] = [:]
    try database.each("SELECT name, seq FROM sqlite_sequence") { row in
      sequences[row.get(0)] = row.get(1, as: Int64.self)
    }
    return sequences
  }
}
