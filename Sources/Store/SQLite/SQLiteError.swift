import CSQLite

/// A call to SQLite that failed: its extended result code, SQLite's own words, and the statement.
package struct SQLiteError: Error, Hashable, Sendable {
  package let code: Int32
  package let message: String
  package let statement: String

  /// The result code without its extension, e.g. `SQLITE_CONSTRAINT`.
  package var primaryCode: Int32 { code & 0xff }
}
