import CAssets
import System

/// The steps that bring a database's schema up to date, each applied once and in order.
struct Migrations: Sendable {
  struct Step: Sendable {
    /// The file's name under Migrations/, e.g. `0001_origin.sql`.
    let name: String
    let sql: [UInt8]
  }

  let steps: [Step]

  /// The files of Migrations/ when this program was built.
  static let embedded = Migrations(
    steps: (0..<xcache_migration_count()).map { index in
      let asset = xcache_migration(index)
      return Step(
        name: String(cString: asset.name),
        sql: Array(UnsafeBufferPointer(start: asset.bytes, count: asset.size)))
    })

  /// `xcac` in ASCII: PRAGMA application_id of the databases that are ours.
  private static let applicationID: Int64 = 0x7863_6163

  /// Whether a database with this header may be ours; one that was created but never written to has no id yet.
  static func mayOwn(_ header: DatabaseHeader) -> Bool {
    header.applicationID == applicationID || (header.applicationID == 0 && header.pages <= 1)
  }

  /// Applies the missing steps, each with its bookkeeping row in one transaction.
  /// - Throws: `foreignDatabase`, `newerDatabase` or `alteredMigration`, with nothing changed.
  func apply(to database: Database) throws(StoreError) {
    try database.write { () throws(StoreError) in
      let id = try database.value(Int64.self, "PRAGMA application_id") ?? 0
      let tables = try database.value(Int64.self, "SELECT count(*) FROM sqlite_schema") ?? 0
      guard id == Self.applicationID || (id == 0 && tables == 0) else { throw .foreignDatabase }
      try database.script("PRAGMA application_id = \(Self.applicationID)")
      try database.run(
        """
        CREATE TABLE IF NOT EXISTS migration (
          position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, sha256 BLOB NOT NULL, applied_at INTEGER NOT NULL
        ) STRICT
        """)
    }
    for position in try applied(to: database)..<steps.count { try apply(position, to: database) }
  }

  /// Checks that the database has exactly these steps, for a program that reads alongside the one that may apply them.
  /// - Throws: `foreignDatabase`, `newerDatabase`, `alteredMigration`, `olderDatabase`.
  func check(_ database: Database) throws(StoreError) {
    guard try database.value(Int64.self, "PRAGMA application_id") == Self.applicationID else {
      throw .foreignDatabase
    }
    guard try applied(to: database) == steps.count else { throw .olderDatabase }
  }

  /// The number of steps that a database has.
  private func applied(to database: Database) throws(StoreError) -> Int {
    let applied = try database.all("SELECT name, sha256 FROM migration ORDER BY position") { row in
      // As bytes, because a damaged file may hold any number of them.
      (name: row.get(0, as: String.self), sha256: row.get(1, as: [UInt8].self))
    }
    for (position, known) in applied.enumerated() {
      guard position < steps.count else { throw .newerDatabase(migration: known.name) }
      guard steps[position].name == known.name, SHA256.of(steps[position].sql).bytes == known.sha256 else {
        throw .alteredMigration(name: known.name)
      }
    }
    return applied.count
  }

  private func apply(_ position: Int, to database: Database) throws(StoreError) {
    let step = steps[position]
    try database.write { () throws(StoreError) in
      try database.script(String(decoding: step.sql, as: UTF8.self))
      try database.run(
        "INSERT INTO migration (position, name, sha256, applied_at) VALUES (?, ?, ?, ?)",
        position + 1, step.name, SHA256.of(step.sql), Clock.unixMilliseconds())
    }
  }
}
