import CSQLite
import Manifests
import System

/// A prepared statement; while it is being stepped, also its current row.
///
/// The database that prepared it keeps it and finalizes it.
final class Statement {
  let handle: OpaquePointer
  /// What is wrong with a row that was read. Whatever steps the statement throws it.
  var damage: String?

  /// Parsed entry headers of earlier rows, by their text.
  private(set) var headers: [String: EntryHeaders] = [:]
  /// Parsed content types of earlier rows, by their text.
  private(set) var types: [String: ContentType] = [:]
  /// The latest texts of columns read by `sharedText`, by column.
  private var texts: [String?] = []

  init(_ handle: OpaquePointer) { self.handle = handle }

  deinit { sqlite3_finalize(handle) }

  /// The value of a column; the first column is 0.
  func get<Value: SQLValue>(_ column: Int32, as type: Value.Type = Value.self) -> Value {
    Value(self, column: column)
  }

  /// Caches parsed headers for the following rows.
  func keep(_ headers: EntryHeaders, of text: String) {
    if self.headers.count == 64 { self.headers = [:] }
    self.headers[text] = headers
  }

  /// Caches a parsed content type for the following rows.
  func keep(_ type: ContentType, of text: String) {
    if types.count == 64 { types = [:] }
    types[text] = type
  }

  /// The text of a column in which successive rows often have the same value; equal texts then share memory.
  func sharedText(_ column: Int32) -> String {
    let position = Int(column)
    while texts.count <= position { texts.append(nil) }
    // "… sqlite3_column_text() followed by sqlite3_column_bytes()"
    let start = sqlite3_column_text(handle, column)
    let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    if let known = texts[position], known.utf8Span.span.bytes.isEqual(to: bytes) { return known }
    let text = String(decoding: bytes, as: UTF8.self)
    texts[position] = text
    return text
  }

  /// A manifest version; a negative one is damage.
  func version(_ column: Int32) -> ManifestVersion {
    let number: Int64 = get(column)
    return number >= 0 ? ManifestVersion(number) : damaged("version \(number)", .none)
  }

  /// Notes that the current row holds a value that the store never writes, and returns a placeholder to continue with
  /// until the row is refused.
  func damaged<Value>(_ what: String, _ placeholder: Value) -> Value {
    damage = what
    return placeholder
  }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

  /// Calls `body` with a column's bytes.
  func withBytes<Result>(_ column: Int32, _ body: (RawSpan) -> Result) -> Result {
    let start = sqlite3_column_blob(handle, column)
    let count = Int(sqlite3_column_bytes(handle, column))
    return body(UnsafeRawBufferPointer(start: start, count: count).bytes)
  }

  /// The value of a sqlite3_stmt_status counter since it was last reset.
  func counter(_ which: Int32, reset: Bool) -> Int {
    Int(sqlite3_stmt_status(handle, which, reset ? 1 : 0))
  }
}

/// A value that can be bound to a statement's parameter and read from a column.
protocol SQLValue {
  /// Reads the value of a column.
  init(_ row: Statement, column: Int32)

  func bind(to statement: OpaquePointer, at index: Int32) -> Int32
}

extension Int64: SQLValue {
  init(_ row: Statement, column: Int32) { self = sqlite3_column_int64(row.handle, column) }

  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    sqlite3_bind_int64(statement, index, self)
  }
}

extension Int: SQLValue {
  init(_ row: Statement, column: Int32) { self = Int(Int64(row, column: column)) }

  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    Int64(self).bind(to: statement, at: index)
  }
}

extension Double: SQLValue {
  init(_ row: Statement, column: Int32) { self = sqlite3_column_double(row.handle, column) }

  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    sqlite3_bind_double(statement, index, self)
  }
}

extension Moment: SQLValue {
  init(_ row: Statement, column: Int32) { self.init(milliseconds: Int64(row, column: column)) }

  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    milliseconds.bind(to: statement, at: index)
  }
}

extension String: SQLValue {
  init(_ row: Statement, column: Int32) {
    // "The safest policy is to invoke these routines in one of the following ways: sqlite3_column_text() followed
    // by sqlite3_column_bytes()" …
    let text = sqlite3_column_text(row.handle, column)
    let count = Int(sqlite3_column_bytes(row.handle, column))
    self = String(decoding: UnsafeBufferPointer(start: text, count: text == nil ? 0 : count), as: UTF8.self)
  }

  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    var copy = self
    return copy.withUTF8 { text in
      text.withMemoryRebound(to: CChar.self) { text in
        // A null pointer would bind NULL, and an empty string may have one.
        guard let start = text.baseAddress else { return sqlite3_bind_text(statement, index, "", 0, nil) }
        return sqlite3_bind_text(statement, index, start, Int32(text.count), xcache_sqlite_transient())
      }
    }
  }
}

extension [UInt8]: SQLValue {
  init(_ row: Statement, column: Int32) {
    let start = sqlite3_column_blob(row.handle, column)
    self.init(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row.handle, column))))
  }

  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    withUnsafeBytes {
      guard let start = $0.baseAddress else { return sqlite3_bind_zeroblob(statement, index, 0) }
      return sqlite3_bind_blob(statement, index, start, Int32($0.count), xcache_sqlite_transient())
    }
  }
}

extension SHA256: SQLValue {
  /// The schema allows no other size, but a damaged disk does: then the row is refused.
  init(_ row: Statement, column: Int32) {
    self =
      row.withBytes(column, { SHA256(bytes: $0) }) ?? row.damaged("a SHA-256 of another size", SHA256.of([]))
  }

  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    withBytes {
      sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count), xcache_sqlite_transient())
    }
  }
}

extension MD5: SQLValue {
  /// As for a SHA-256.
  init(_ row: Statement, column: Int32) {
    self = row.withBytes(column, { MD5(bytes: $0) }) ?? row.damaged("an MD5 of another size", MD5.of([]))
  }

  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    withBytes {
      sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count), xcache_sqlite_transient())
    }
  }
}

extension Optional: SQLValue where Wrapped: SQLValue {
  init(_ row: Statement, column: Int32) {
    self = row.isNull(column) ? nil : Wrapped(row, column: column)
  }

  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    self?.bind(to: statement, at: index) ?? sqlite3_bind_null(statement, index)
  }
}

extension RawSpan {
  fileprivate func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
    withUnsafeBytes { $0.count == other.count && $0.elementsEqual(other) }
  }
}
