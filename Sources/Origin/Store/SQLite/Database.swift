import CSQLite
import System
import Values

/// One connection to a SQLite database, used by one thread at a time.
final class Database {
  let handle: OpaquePointer
  // Keyed by the address of the statement's text, which is constant because the text is a literal.
  private var statements: [UnsafePointer<UInt8>: Statement] = [:]
  /// Whether there may be something new for webhooks since this was last cleared.
  var hasAnnounced = false
  /// Where people reach the console, which messages to webhooks link to; nil if that isn't known.
  var console: BaseURL?
  /// Records what this connection commits; nil: nothing does.
  var recorder: ChangeRecorder?

  enum Access: Sendable {
    case writing, reading
    /// Like `writing`, for rows that a power cut may take: those of a program alongside the one that has the folder.
    case secondary
  }

  /// Whether SQLite counts no memory, which "helps the sqlite3_malloc() routines run much faster" (sqlite.org/compile.html):
  /// each allocation took a lock that all connections share, and urgent threads waited for one of low priority that had it.
  /// Must be read before the first connection is opened.
  static let hasNoMemoryStatistics = xcache_sqlite_count_no_memory() == SQLITE_OK

  /// Opens the file at `path`; if it is missing, creates it unless the access is for reading.
  init(path: String, _ access: Access) throws(StoreError) {
    _ = Self.hasNoMemoryStatistics
    var opened: OpaquePointer?
    // NOMUTEX: "The new database connection will use the "multi-thread" threading mode": one thread at a time.
    let flags =
      SQLITE_OPEN_READWRITE | (access == .reading ? 0 : SQLITE_OPEN_CREATE) | SQLITE_OPEN_NOMUTEX
      | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &opened, flags, nil)
    guard code == SQLITE_OK, let opened else {
      // "Whether or not an error occurs when it is opened, resources associated with the database connection
      // handle should be released by passing it to sqlite3_close()".
      let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
      sqlite3_close_v2(opened)
      throw StoreError(SQLiteError(code: code, message: message, statement: "open \(path)"))
    }
    handle = opened
    try configure(access)
  }

  deinit {
    recorder = nil
    statements.removeAll()
    sqlite3_close_v2(handle)
  }

  private func configure(_ access: Access) throws(StoreError) {
    sqlite3_busy_timeout(handle, 10_000)
    // "When the defensive flag is enabled, language features that allow ordinary SQL to deliberately corrupt the
    // database file are disabled."
    _ = xcache_sqlite_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
    _ = xcache_sqlite_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    // "Unlike the other journaling modes, PRAGMA journal_mode=WAL is persistent"; set again anyway, so that no
    // connection depends on what another one did.
    try script("PRAGMA journal_mode = WAL")
    // "Writers sync the WAL on every transaction commit if PRAGMA synchronous is set to FULL" (sqlite.org/wal.html):
    // an acknowledged release survives power loss. "WAL mode is always consistent with
    // synchronous=NORMAL", where a power cut may take the last commits.
    try script(access == .secondary ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL")
    // "Foreign key constraints are disabled by default (for backwards compatibility), so must be enabled separately
    // for each database connection."
    try script("PRAGMA foreign_keys = ON")
    try script("PRAGMA cell_size_check = ON")
    // A release of 100,000 resources changes 36 MB of pages. Pages that don't fit are written to the log early and read
    // back from it. The cache is freed at quiet moments.
    try script(access == .writing ? "PRAGMA cache_size = -65536" : "PRAGMA cache_size = -16384")
    try script("PRAGMA temp_store = MEMORY")
    // Some builds overwrite deleted content with zeros. gc deletes a lot, and none of it is secret; the keys of webhooks are
    // overwritten where they are deleted.
    try script("PRAGMA secure_delete = OFF")
    // A log that grew with one large release is truncated at the next reset.
    try script("PRAGMA journal_size_limit = 67108864")
    // A server copies the log into the database in the background (`Connections.checkpoint`). A commit does so only if the log
    // has 64 MB nevertheless.
    if access == .writing { try script("PRAGMA wal_autocheckpoint = 16384") }
    if access == .reading { try script("PRAGMA query_only = ON") }
  }

  /// Leaves the log in place when this connection is the last to close. "The default behavior is to run a checkpoint
  /// when the last database connection is closed", which waits for the disk three times.
  func keepLogOnClose() { _ = xcache_sqlite_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1) }

  /// Frees the memory of cached pages.
  func releaseMemory() { sqlite3_db_release_memory(handle) }

  /// Runs SQL that isn't cached: pragmas and migrations.
  func script(_ sql: String) throws(StoreError) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
  }

  /// The prepared form of `sql`, which is prepared once.
  func statement(_ sql: StaticString) throws(StoreError) -> Statement {
    if let kept = statements[sql.utf8Start] { return kept }
    var prepared: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    let code = sql.utf8Start.withMemoryRebound(to: CChar.self, capacity: sql.utf8CodeUnitCount + 1) {
      // "If the caller knows that the supplied string is nul-terminated, then there is a small performance
      // advantage to passing an nByte parameter that is the number of bytes … including the nul-terminator."
      sqlite3_prepare_v3(handle, $0, Int32(sql.utf8CodeUnitCount + 1), flags, &prepared, nil)
    }
    guard code == SQLITE_OK, let prepared else { throw failure(sql.description) }
    let statement = Statement(prepared)
    statements[sql.utf8Start] = statement
    return statement
  }

  /// SQLite's error for the call that just failed on this connection.
  func failure(_ sql: String) -> StoreError {
    StoreError(
      SQLiteError(
        code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)),
        statement: sql))
  }

  /// The sum of a sqlite3_stmt_status counter over all statements prepared so far.
  func counter(_ which: Int32, reset: Bool = false) -> Int {
    statements.values.reduce(0) { $0 + $1.counter(which, reset: reset) }
  }
}

extension Database {
  /// Runs a statement that returns no rows.
  func run<each Value: SQLValue>(_ sql: StaticString, _ values: repeat each Value) throws(StoreError) {
    try each(sql, repeat each values) { _ in }
  }

  /// The number of rows that the last statement changed, not counting those that triggers did.
  var changedRows: Int { Int(sqlite3_changes(handle)) }

  /// What `read` returns for the first row; nil if there is none.
  func first<each Value: SQLValue, Result>(
    _ sql: StaticString, _ values: repeat each Value, read: (Statement) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    let statement = try bound(sql, repeat each values)
    defer { finish(statement) }
    guard try step(statement, sql) else { return nil }
    let result = try read(statement)
    try refuseDamage(of: statement)
    return result
  }

  /// The first column of the first row; nil if there is no row.
  func value<each Value: SQLValue, Result: SQLValue>(
    _ type: Result.Type, _ sql: StaticString, _ values: repeat each Value
  ) throws(StoreError) -> Result? {
    try first(sql, repeat each values) { (row) throws(StoreError) in row.get(0) }
  }

  /// What `read` returns for each row, in order.
  func all<each Value: SQLValue, Result>(
    _ sql: StaticString, _ values: repeat each Value, read: (Statement) throws(StoreError) -> Result
  ) throws(StoreError) -> [Result] {
    var results: [Result] = []
    try each(sql, repeat each values) { (row) throws(StoreError) in results.append(try read(row)) }
    return results
  }

  /// Passes each row to `body`, which may use other statements, but not this one.
  func each<each Value: SQLValue>(
    _ sql: StaticString, _ values: repeat each Value, body: (Statement) throws(StoreError) -> Void
  ) throws(StoreError) {
    let statement = try bound(sql, repeat each values)
    defer { finish(statement) }
    while try step(statement, sql) {
      try body(statement)
      try refuseDamage(of: statement)
    }
  }

  private func refuseDamage(of statement: Statement) throws(StoreError) {
    if let damage = statement.damage { throw .corruptRow(damage) }
  }

  /// The row id of the last row that this connection inserted.
  var lastRowID: Int64 { sqlite3_last_insert_rowid(handle) }

  private func bound<each Value: SQLValue>(_ sql: StaticString, _ values: repeat each Value)
    throws(StoreError)
    -> Statement
  {
    let statement = try statement(sql)
    precondition(sqlite3_stmt_busy(statement.handle) == 0, "a statement is used inside its own rows")
    var index: Int32 = 0
    for value in repeat each values {
      index += 1
      guard value.bind(to: statement.handle, at: index) == SQLITE_OK else {
        throw failure(sql.description)
      }
    }
    return statement
  }

  private func step(_ statement: Statement, _ sql: StaticString) throws(StoreError) -> Bool {
    switch sqlite3_step(statement.handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw failure(sql.description)
    }
  }

  private func finish(_ statement: Statement) {
    // Its result repeats the error of the last sqlite3_step, which was handled already.
    sqlite3_reset(statement.handle)
    statement.damage = nil
  }
}

extension Database {
  /// Runs `body` as one write transaction, all or nothing.
  func write<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    // "IMMEDIATE causes the database connection to start a new write immediately, without waiting for a write
    // statement": so there is no upgrade halfway that another connection could make fail.
    try run("BEGIN IMMEDIATE")
    return try finishing(body)
  }

  /// Runs `body` over one snapshot of the database, whatever others commit meanwhile.
  func snapshot<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try run("BEGIN")
    return try finishing(body)
  }

  /// Runs `body`, whose statements fail once `cancellation` is cancelled.
  ///
  /// "If the progress callback returns non-zero, the operation is interrupted" (sqlite.org/c3ref/progress_handler.html).
  func interruptible<Result>(
    by cancellation: Cancellation?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard let cancellation else { return try body() }
    // This call's caller keeps it alive until the handler is removed.
    let asked = Unmanaged.passUnretained(cancellation).toOpaque()
    sqlite3_progress_handler(
      handle, Self.stepsBetweenQuestions,
      { asked in
        guard let asked else { return 0 }
        return Unmanaged<Cancellation>.fromOpaque(asked).takeUnretainedValue().isCancelled ? 1 : 0
      }, asked)
    defer { sqlite3_progress_handler(handle, 0, nil, nil) }
    return try withExtendedLifetime(cancellation) { () throws(StoreError) in try body() }
  }

  /// Steps of SQLite's virtual machine: about a millisecond.
  private static let stepsBetweenQuestions: Int32 = 20_000

  private func finishing<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    do {
      let result = try body()
      try run("COMMIT")
      return result
    } catch {
      // "The only way to find out whether SQLite automatically rolled back the transaction after an error is to use
      // this function."
      if sqlite3_get_autocommit(handle) == 0 { try? run("ROLLBACK") }
      throw error
    }
  }
}

/// A failed SQLite call: the extended result code, SQLite's message, and the statement.
package struct SQLiteError: Error, Hashable, Sendable {
  /// The extended result code.
  package let code: Int32
  /// SQLite's message.
  package let message: String
  /// The statement, or what was attempted.
  package let statement: String

  /// Whether SQLite found the file itself to be damaged.
  package var isDamage: Bool { primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB }

  /// The result code without its extension, e.g. `SQLITE_CONSTRAINT`.
  package var primaryCode: Int32 { code & 0xff }
}
