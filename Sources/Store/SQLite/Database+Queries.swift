import CSQLite

extension Database {
  /// Runs a statement that gives no rows.
  func run<each Value: SQLValue>(_ sql: StaticString, _ values: repeat each Value) throws(StoreError) {
    try each(sql, repeat each values) { _ in }
  }

  /// What `read` makes of the first row; nil where there is none.
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

  /// The first column of the first row; nil where there is no row.
  func value<each Value: SQLValue, Result: SQLValue>(
    _ type: Result.Type, _ sql: StaticString, _ values: repeat each Value
  ) throws(StoreError) -> Result? {
    try first(sql, repeat each values) { (row) throws(StoreError) in row.get(0) }
  }

  /// What `read` makes of each row, in order.
  func all<each Value: SQLValue, Result>(
    _ sql: StaticString, _ values: repeat each Value, read: (Statement) throws(StoreError) -> Result
  ) throws(StoreError) -> [Result] {
    var results: [Result] = []
    try each(sql, repeat each values) { (row) throws(StoreError) in results.append(try read(row)) }
    return results
  }

  /// Hands each row to `body`, which may use other statements, but not this one.
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
    // Its result repeats the error of the last sqlite3_step, which is known already.
    sqlite3_reset(statement.handle)
    statement.damage = nil
  }
}
