import CSQLite
import System

@testable import Store

/// A copy of a store's database that only the store's changesets write, and its comparison with the original.
final class ReplicaUnderTest: Sendable {
  private let path: String
  private let source: String
  private let waiting = Locked<[ChangeRecorder.Changes]>([])
  private let count = Locked(0)

  /// Copies the database of `store`, which has no reader or writer meanwhile.
  init(of store: Store, in folder: String) throws {
    path = "\(folder)/replica.db"
    source = store.folder.database
    let copy = path
    try store.connections.writing { (database) throws(StoreError) in
      try database.script("VACUUM INTO '\(copy)'")
    }
  }

  /// Takes what an act changed.
  var recorded: @Sendable (ChangeRecorder.Changes) -> Void {
    { [waiting] changes in waiting.withLock { $0.append(changes) } }
  }

  /// The number of changesets that changed something.
  var applied: Int { count.withLock { $0 } }

  /// Applies what came since the last call.
  func catchUp() throws {
    let changes = waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
    let replica = try ChangeReplica(path: path)
    for one in changes {
      try replica.apply(one)
      if !one.changeset.isEmpty { count.withLock { $0 += 1 } }
    }
  }

  /// The tables whose rows aren't the same in both databases, with the number of rows that one has alone.
  func differences() throws -> [String] {
    let replica = try Database(path: path, .writing)
    try replica.script("ATTACH '\(source)' AS source")
    let tables = try ChangeRecorder.tables(of: replica) + ["sqlite_sequence"]
    return try tables.compactMap { table in
      let ours = try Self.number(
        "SELECT count(*) FROM (SELECT * FROM main.\(table) EXCEPT SELECT * FROM source.\(table))", replica)
      let theirs = try Self.number(
        "SELECT count(*) FROM (SELECT * FROM source.\(table) EXCEPT SELECT * FROM main.\(table))", replica)
      return ours + theirs == 0
        ? nil : "\(table): \(ours) rows only in the replica, \(theirs) only in the original"
    }
  }

  private static func number(_ sql: String, _ database: Database) throws -> Int64 {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(database.handle, sql, -1, &statement, nil) == SQLITE_OK,
      sqlite3_step(statement) == SQLITE_ROW
    else { throw database.failure(sql) }
    return sqlite3_column_int64(statement, 0)
  }
}
