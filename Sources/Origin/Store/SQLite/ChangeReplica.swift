import CSQLite

/// A copy of a database whose tables of acts only changesets write.
final class ChangeReplica {
  let database: Database

  /// Opens the copy at `path`, whose schema is the recorded database's. Triggers and foreign keys are off in it: what they did is in
  /// the changesets.
  init(path: String) throws(StoreError) {
    database = try Database(path: path, .writing)
    try database.script("PRAGMA foreign_keys = OFF")
    _ = xcache_sqlite_config(database.handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    try OwnRows.follow(in: database)
  }

  /// Applies `changes`, all or nothing.
  /// - Throws: `changeset` if a row isn't as the changeset says that it was, or a table is missing, has another shape, or isn't one of
  ///   acts.
  func apply(_ changes: DatabaseChanges) throws(StoreError) {
    try database.write { () throws(StoreError) in
      if !changes.changeset.isEmpty { try apply(changes.changeset) }
      // After the rows: inserting them counted, too.
      try database.run("DELETE FROM sqlite_sequence")
      for (name, seq) in changes.sequences {
        try database.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", name, seq)
      }
    }
  }

  /// The row at which applying stopped.
  private final class Conflict {
    var text: String?
  }

  private func apply(_ changeset: [UInt8]) throws(StoreError) {
    try refuseUnknownTables(in: changeset)
    let conflict = Conflict()
    var bytes = changeset
    let code = withExtendedLifetime(conflict) {
      bytes.withUnsafeMutableBytes { buffer in
        sqlite3changeset_apply(
          database.handle, Int32(buffer.count), buffer.baseAddress, nil,
          { context, kind, row in
            guard let context else { return SQLITE_CHANGESET_ABORT }
            Unmanaged<Conflict>.fromOpaque(context).takeUnretainedValue().text = ChangeReplica.text(
              of: kind, row)
            return SQLITE_CHANGESET_ABORT
          }, Unmanaged.passUnretained(conflict).toOpaque())
      }
    }
    if let text = conflict.text { throw .changeset(text) }
    guard code == SQLITE_OK else { throw .changeset("SQLite's error \(code) applying a changeset") }
  }

  /// Refuses what SQLite passes over: "If there is no compatible table, it is not an error, but none of the changes associated with the
  /// table are applied" (sqlite.org/session/sqlite3changeset_apply.html). It takes a table with more columns for compatible.
  private func refuseUnknownTables(in changeset: [UInt8]) throws(StoreError) {
    for (table, shape) in try Self.tables(in: changeset) {
      guard RecordedTables.acts.contains(table) else {
        throw .changeset("a changeset for table \(table), which isn't one of acts")
      }
      let known = try TableShape(table, in: database)
      guard known.columns > 0 else { throw .changeset("a changeset for table \(table), which doesn't exist") }
      guard known.columns == shape.columns, known.keys == shape.keys else {
        throw .changeset(
          "a changeset for table \(table) with \(shape.columns) columns and the key \(shape.keys), where the table has "
            + "\(known.columns) and \(known.keys)")
      }
    }
  }

  /// The tables that a changeset changes, with their shapes as the changeset has them.
  static func tables(in changeset: [UInt8]) throws(StoreError) -> [String: TableShape] {
    guard let size = Int32(exactly: changeset.count) else {
      throw .changeset("a changeset of \(changeset.count) bytes")
    }
    var tables: [String: TableShape] = [:]
    var bytes = changeset
    let code = bytes.withUnsafeMutableBytes { buffer -> Int32 in
      var iterator: OpaquePointer?
      let code = sqlite3changeset_start(&iterator, size, buffer.baseAddress)
      guard code == SQLITE_OK else { return code }
      while sqlite3changeset_next(iterator) == SQLITE_ROW {
        guard let change = Self.change(iterator), tables[change.table] == nil else { continue }
        var (marks, count): (UnsafeMutablePointer<UInt8>?, Int32) = (nil, 0)
        sqlite3changeset_pk(iterator, &marks, &count)
        let keys = marks.map { marks in (0..<Int(count)).filter { marks[$0] != 0 } }
        tables[change.table] = TableShape(columns: change.columns, keys: keys ?? [])
      }
      // The error of the last step, if there was one.
      return sqlite3changeset_finalize(iterator)
    }
    guard code == SQLITE_OK else { throw .changeset("SQLite's error \(code) reading a changeset") }
    return tables
  }

  /// The change that an iterator is at.
  private static func change(_ iterator: OpaquePointer?) -> (table: String, columns: Int, operation: Int32)? {
    var (name, columns): (UnsafePointer<CChar>?, Int32) = (nil, 0)
    var (operation, isIndirect): (Int32, Int32) = (0, 0)
    guard sqlite3changeset_op(iterator, &name, &columns, &operation, &isIndirect) == SQLITE_OK, let name
    else {
      return nil
    }
    return (String(cString: name), Int(columns), operation)
  }

  private static func text(of kind: Int32, _ iterator: OpaquePointer?) -> String {
    let reason =
      switch kind {
      case SQLITE_CHANGESET_DATA: "was changed here"
      case SQLITE_CHANGESET_NOTFOUND: "isn't here"
      case SQLITE_CHANGESET_CONFLICT: "is here already"
      case SQLITE_CHANGESET_CONSTRAINT: "breaks a constraint here"
      default: "is refused (\(kind))"
      }
    guard let change = change(iterator) else { return "a row \(reason)" }
    let act =
      switch change.operation {
      case SQLITE_INSERT: "inserts"
      case SQLITE_DELETE: "deletes"
      default: "updates"
      }
    return "a row of table \(change.table), which a changeset \(act), \(reason)"
  }
}

/// What keeps an origin's own rows in step with rows of acts that a changeset writes.
///
/// Where acts are done, the schema's foreign keys delete own rows with the row that they are about (ON DELETE CASCADE), and the code
/// makes them. A replica has foreign keys and the schema's triggers off, so triggers of its connection do that: "since SQLite version
/// 3.35.0, TEMP triggers are still allowed even if this option is off" (sqlite.org/c3ref/c_dbconfig_defensive.html).
enum OwnRows {
  /// Makes the triggers in a connection. They are made of the schema's foreign keys, so that a new table can't be forgotten.
  static func follow(in database: Database) throws(StoreError) {
    for (index, link) in try links(in: database).enumerated() {
      try database.script(
        """
        CREATE TEMP TRIGGER own_\(index)_goes AFTER DELETE ON main.\(link.parent)
        BEGIN DELETE FROM \(link.table) WHERE \(link.condition); END
        """)
    }
    // Samples that a channel doesn't want any more go everywhere at once.
    try database.script(
      """
      CREATE TEMP TRIGGER own_samples_go AFTER UPDATE OF samples ON main.channel WHEN NEW.samples = 0
      BEGIN
        DELETE FROM error_sample WHERE channel_id = NEW.id;
        DELETE FROM error_sample_others WHERE channel_id = NEW.id;
      END
      """)
    // A blob counts as checked when it was stored: its bytes were hashed then. An id may get another blob within one changeset, which
    // then says that the row was updated.
    try database.script(
      """
      CREATE TEMP TRIGGER own_check_begins AFTER INSERT ON main.blob WHEN NEW.quarantined_at IS NULL
      BEGIN INSERT INTO blob_check (blob_id, checked_at) VALUES (NEW.id, NEW.stored_at); END;
      CREATE TEMP TRIGGER own_check_changes AFTER UPDATE OF sha256, quarantined_at ON main.blob
      BEGIN
        DELETE FROM blob_check WHERE blob_id = NEW.id;
        INSERT INTO blob_check (blob_id, checked_at) SELECT NEW.id, NEW.stored_at WHERE NEW.quarantined_at IS NULL;
      END
      """)
  }

  /// A foreign key of an own table: its rows go with those of `parent` for which `condition` holds.
  private struct Link {
    let table: String
    let parent: String
    let condition: String
  }

  private static func links(in database: Database) throws(StoreError) -> [Link] {
    var links: [Link] = []
    for table in RecordedTables.own.sorted() {
      links += try database.all(
        """
        SELECT f."table", group_concat(f."from" || ' = OLD.' || coalesce(f."to",
          (SELECT name FROM pragma_table_info(f."table") WHERE pk = f.seq + 1)), ' AND ')
        FROM pragma_foreign_key_list(?) AS f WHERE f.on_delete = 'CASCADE' GROUP BY f.id
        """, table
      ) { Link(table: table, parent: $0.get(0), condition: $0.get(1)) }
    }
    return links
  }
}
