import CSQLite
import System

/// The header of a database file, read without SQLite, which would change it (sqlite.org/fileformat.html, "The Database Header").
struct DatabaseHeader {
  /// "The "Application ID" set by PRAGMA application_id."
  let applicationID: Int64
  /// "Size of the database file in pages."
  let pages: Int64

  /// Reads the header of the file at `path`; nil if there is no file, or it isn't a database.
  init?(path: String) throws(SystemError) {
    guard let file = try Kernel.openExisting(path, .read) else { return nil }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 8)
    defer { buffer.deallocate() }
    guard try Kernel.read(file, at: 0, into: buffer) == 100,
      buffer.starts(with: Array("SQLite format 3\0".utf8))
    else { return nil }
    func number(at offset: Int) -> Int64 {
      Int64(UInt32(bigEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }
    pages = number(at: 28)
    applicationID = number(at: 68)
  }
}

extension Database {
  /// Writes a snapshot of this database to a new file, while others keep using it.
  func copy(to path: String) throws(StoreError) {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &opened, flags, nil)
    defer { sqlite3_close_v2(opened) }
    guard code == SQLITE_OK, let opened else { throw Self.failure(code, opened, "open \(path)") }
    guard let backup = sqlite3_backup_init(opened, "main", handle, "main") else {
      throw Self.failure(sqlite3_extended_errcode(opened), opened, "backup to \(path)")
    }
    var step: Int32
    repeat {
      // All pages in one step, from one snapshot: "if the source database is modified by an external process or via a
      // database connection other than the one being used by the backup operation, then the backup will be
      // automatically restarted by the next call to sqlite3_backup_step()", which under load may never end.
      step = sqlite3_backup_step(backup, -1)
      if step & 0xff == SQLITE_BUSY || step & 0xff == SQLITE_LOCKED { Clock.sleep(for: .milliseconds(10)) }
    } while step & 0xff == SQLITE_BUSY || step & 0xff == SQLITE_LOCKED
    let finish = sqlite3_backup_finish(backup)
    guard step == SQLITE_DONE, finish == SQLITE_OK else {
      throw Self.failure(finish == SQLITE_OK ? step : finish, opened, "backup to \(path)")
    }
  }

  /// Finishes a file that nobody else uses: afterwards it is a single file without a log.
  func close() throws(StoreError) {
    // A log would be left behind when the file is renamed.
    let mode = try value(String.self, "PRAGMA journal_mode = DELETE")
    guard mode == "delete" else { throw .corruptRow("journal_mode \(mode ?? "")") }
  }

  private static func failure(_ code: Int32, _ handle: OpaquePointer?, _ statement: String) -> StoreError {
    StoreError(
      SQLiteError(
        code: code, message: handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory",
        statement: statement))
  }
}
