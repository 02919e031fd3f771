import CSQLite
import System
import Testing
import TestSupport

@testable import Store

/// A copy of a store's database whose tables of acts only the store's changesets write, and its comparison with the original.
final class ReplicaUnderTest {
  let copy: ChangeReplica
  /// Sees both databases, and writes neither. The copy's own connection isn't attached to the original: its transactions would begin
  /// there, too.
  private let viewer: Database
  private let waiting = Locked<[DatabaseChanges]>([])
  /// The number of changesets that changed a row.
  private(set) var applied = 0

  /// Copies the database of `store`, which nobody writes meanwhile.
  init(of store: Store, in folder: String) throws {
    let path = "\(folder)/replica.db"
    try store.connections.writing { (database) throws(StoreError) in
      try database.script("VACUUM INTO '\(path)'")
    }
    copy = try ChangeReplica(path: path)
    viewer = try Database(path: path, .reading)
    try viewer.script("ATTACH '\(store.folder.database)' AS source")
  }

  /// Takes what an act changed.
  var recorded: @Sendable (DatabaseChanges) -> Void {
    { [waiting] changes in waiting.withLock { $0.append(changes) } }
  }

  /// What came since the last call.
  func take() -> [DatabaseChanges] {
    waiting.withLock { waiting in
      let all = waiting
      waiting = []
      return all
    }
  }

  /// Applies what came since the last call.
  func catchUp() throws {
    for changes in take() {
      try copy.apply(changes)
      if !changes.changeset.isEmpty { applied += 1 }
    }
  }

  /// Has the copy's origin know something of each row that it may know something of.
  func learn() throws {
    try copy.database.script(
      """
      INSERT OR IGNORE INTO device_count (channel_id, version, name, count)
        SELECT channel_id, version, 'opens', 1 FROM release;
      INSERT OR IGNORE INTO error_sample_others (channel_id, version, page, count, last_at)
        SELECT channel_id, version, '', 1, 1 FROM release;
      INSERT OR IGNORE INTO error_sample
        (channel_id, version, page, kind, message, frame, stack, engines, count, first_at, last_at)
        SELECT channel_id, version, '/', 'script', '', '', '', '', 1, 1, 1 FROM release;
      INSERT OR IGNORE INTO token_use (token_id, last_used_at) SELECT id, 1 FROM token;
      UPDATE blob_check SET checked_at = checked_at + 1
      """)
  }

  /// What is wrong with the copy; empty if nothing is.
  func differences() throws -> [String] {
    var found: [String] = []
    for table in RecordedTables.acts.sorted() + ["sqlite_sequence"] {
      // Quoted, so that 1 isn't 1.0, and names that differ only in case are two.
      let columns = try viewer.all("SELECT name FROM pragma_table_info(?) ORDER BY cid", table) {
        "quote(\"\($0.get(0, as: String.self))\")"
      }.joined(separator: ", ")
      func alone(_ a: String, _ b: String) throws -> Int64 {
        try number(
          "SELECT count(*) FROM (SELECT \(columns) FROM \(a).\(table) EXCEPT SELECT \(columns) FROM \(b).\(table))"
        )
      }
      let (ours, theirs) = (try alone("main", "source"), try alone("source", "main"))
      if ours + theirs > 0 {
        found.append("\(table): \(ours) rows only in the replica, \(theirs) only in the original")
      }
    }
    // Also of own rows: those go with the rows that they are about.
    let references = try number("SELECT count(*) FROM pragma_foreign_key_check")
    if references > 0 { found.append("\(references) rows refer to none") }
    for name in ["main", "source"] {
      let unchecked = try number(
        """
        SELECT count(*) FROM \(name).blob AS b
        WHERE (b.quarantined_at IS NULL) <> EXISTS (SELECT 1 FROM \(name).blob_check WHERE blob_id = b.id)
        """)
      if unchecked > 0 {
        found.append("\(name): \(unchecked) blobs whose row of a check is missing or too many")
      }
    }
    return found
  }

  /// The first column of a query's only row.
  func number(_ sql: String) throws -> Int64 {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(viewer.handle, sql, -1, &statement, nil) == SQLITE_OK,
      sqlite3_step(statement) == SQLITE_ROW
    else { throw viewer.failure(sql) }
    return sqlite3_column_int64(statement, 0)
  }
}
