import CSQLite

// Many rows at once. What a statement costs beside its row (binding, a savepoint for its triggers, the way down the tree) is
// more than what the row costs: 100,000 rows of `blob` took a seventh of the time, of `entry`, with its triggers, less than half.
extension Database {
  /// Rows of one statement.
  private static let rowsAtOnce = 50

  /// Inserts rows in their order; all constraints and triggers hold for each as for a row alone.
  /// - Parameters:
  ///   - head: the statement up to its values: `INSERT INTO url (id, text)`.
  ///   - tail: what follows them: `ON CONFLICT (id) DO NOTHING`.
  ///   - inserted: told after each statement which rows it had and how many of them are there now by it.
  func insert<each Value: SQLValue>(
    _ head: String, _ rows: [(repeat each Value)], _ tail: String = "",
    inserted: (Range<Int>, Int) throws(StoreError) -> Void = { _, _ in }
  ) throws(StoreError) {
    var columns = 0
    for _ in repeat (each Value).self { columns += 1 }
    let row = "(" + Array(repeating: "?", count: columns).joined(separator: ", ") + ")"
    var statement: (rows: Int, Statement)?
    var next = 0
    while next < rows.count {
      let range = next..<min(rows.count, next + Self.rowsAtOnce)
      if statement?.rows != range.count {
        let values = Array(repeating: row, count: range.count).joined(separator: ", ")
        statement = (range.count, try prepare("\(head) VALUES \(values) \(tail)"))
      }
      guard let handle = statement?.1.handle else { break }
      var index: Int32 = 0
      for row in rows[range] {
        for value in repeat each row {
          index += 1
          guard value.bind(to: handle, at: index) == SQLITE_OK else { throw failure(head) }
        }
      }
      guard sqlite3_step(handle) == SQLITE_DONE else { throw failure(head) }
      sqlite3_reset(handle)
      try inserted(range, Int(sqlite3_changes(self.handle)))
      next = range.upperBound
    }
  }

  /// A statement that is used for one call only, however often it runs there.
  private func prepare(_ sql: String) throws(StoreError) -> Statement {
    var prepared: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &prepared, nil) == SQLITE_OK, let prepared else {
      throw failure(sql)
    }
    return Statement(prepared)
  }

  /// The number of the first of rows that are to be inserted with numbers of their own, `count` of them: SQLite's own rule,
  /// "one more than the largest ROWID in use" (sqlite.org/autoinc.html).
  /// - Parameter largest: of those that the table has.
  static func firstID(after largest: Int64?, for count: Int) throws(StoreError) -> Int64 {
    let (first, isOver) = (largest ?? 0).addingReportingOverflow(1)
    guard first > 0, !isOver, !first.addingReportingOverflow(Int64(count)).overflow else {
      throw .corruptRow("row number \(largest ?? 0)")
    }
    return first
  }
}
