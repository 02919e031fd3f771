import CSQLite
import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Many rows with few statements.
@Suite struct RowsTests {
  let scratch = Scratch()

  private func database() throws -> Database {
    _ = try scratch.open()
    return try Database(path: DataFolder(path: scratch.data).database, .writing)
  }

  private func digests(_ range: Range<Int>) -> [FileDigest] {
    range.map { number in
      var hasher = FileHasher()
      hasher.update(Array("\(number)".utf8).span.bytes)
      return hasher.finish()
    }
  }

  @Test func memoryStatisticsAreOff() throws {
    _ = try database()
    #expect(Database.hasNoMemoryStatistics)
    #expect(sqlite3_memory_used() == 0)
  }

  @Test(arguments: [0, 1, 49, 50, 51, 120])
  func rowsAreInsertedInOrder(_ count: Int) throws {
    let db = try database()
    try db.script("CREATE TABLE pair (number INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    try db.insert("INSERT INTO pair (number, text)", (0..<count).map { (Int64($0), "text \($0)") })
    let rows = try db.all("SELECT number, text FROM pair ORDER BY number") {
      "\($0.get(0, as: Int64.self)) \($0.get(1, as: String.self))"
    }
    #expect(rows == (0..<count).map { "\($0) text \($0)" })
  }

  @Test func refusedRowFailsTheTransaction() throws {
    let db = try database()
    try db.script("CREATE TABLE pair (number INTEGER PRIMARY KEY CHECK (number <> 70), text TEXT NOT NULL)")
    #expect {
      try db.write { () throws(StoreError) in
        try db.insert("INSERT INTO pair (number, text)", (0..<120).map { (Int64($0), "") })
      }
    } throws: { "\($0)".contains("CHECK") }
    #expect(try db.value(Int.self, "SELECT count(*) FROM pair") == 0)
  }

  @Test func existingBlobRowsAreKept() throws {
    let db = try database()
    let all = digests(0..<120)
    let before = try BlobRow.insertNew(Array(all[30..<33]), now: 1, in: db)
    #expect(before.count == 3)
    let made = try BlobRow.insertNew(all, now: 2, in: db)
    #expect(try db.value(Int.self, "SELECT count(*) FROM blob") == 120)
    #expect(try db.value(Int.self, "SELECT count(*) FROM blob WHERE stored_at = 1") == 3)
    // For a statement with an existing row, it isn't known which rows were made; those returned are right.
    #expect(made.keys.allSatisfy { before[$0] == nil })
    for digest in all {
      let row = try #require(try BlobRow.find(digest.sha256, in: db))
      #expect(row.digest == digest)
      #expect(row.id == made[digest.sha256] ?? before[digest.sha256] ?? row.id)
    }
  }

  @Test func numbersContinueFromTheLargestAndNeverTrap() throws {
    #expect(try Database.firstID(after: nil, for: 10) == 1)
    #expect(try Database.firstID(after: 41, for: 10) == 42)
    for largest in [Int64.max, Int64.max - 1, Int64.max - 10, -5] {
      #expect(throws: StoreError.self) { try Database.firstID(after: largest, for: 10) }
    }
  }
}
