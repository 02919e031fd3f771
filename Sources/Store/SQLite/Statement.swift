import CSQLite
import Manifests
import Platform

/// A prepared statement; while it is being stepped, also its current row.
///
/// The database that prepared it keeps it and finalizes it.
final class Statement {
  let handle: OpaquePointer
  /// What is wrong with a row that was read; whoever steps the statement throws it.
  var damage: String?

  init(_ handle: OpaquePointer) { self.handle = handle }

  deinit { sqlite3_finalize(handle) }

  /// The value of a column, the first being 0.
  func get<Value: SQLValue>(_ column: Int32, as type: Value.Type = Value.self) -> Value {
    Value(self, column: column)
  }

  /// A manifest version; one below 0 is damage.
  func version(_ column: Int32) -> ManifestVersion {
    let number: Int64 = get(column)
    return number >= 0 ? ManifestVersion(number) : damaged("version \(number)", .none)
  }

  /// Notes that the current row holds what the store never writes, and gives a value to go on with until it is refused.
  func damaged<Value>(_ what: String, _ placeholder: Value) -> Value {
    damage = what
    return placeholder
  }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

  /// Lends a column's bytes.
  func withBytes<Result>(_ column: Int32, _ body: (RawSpan) -> Result) -> Result {
    let start = sqlite3_column_blob(handle, column)
    let count = Int(sqlite3_column_bytes(handle, column))
    return body(UnsafeRawBufferPointer(start: start, count: count).bytes)
  }

  /// One of sqlite3_stmt_status's counters since it was last reset.
  func counter(_ which: Int32, reset: Bool) -> Int {
    Int(sqlite3_stmt_status(handle, which, reset ? 1 : 0))
  }
}
