import CSQLite

extension Database {
  /// Runs `body` as one transaction that writes: all of it is kept, or nothing.
  func write<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    // "IMMEDIATE causes the database connection to start a new write immediately, without waiting for a write
    // statement": no upgrade in the middle that another connection could refuse.
    try run("BEGIN IMMEDIATE")
    return try finishing(body)
  }

  /// Runs `body` over one state of the database, whatever others commit meanwhile.
  func snapshot<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try run("BEGIN")
    return try finishing(body)
  }

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
