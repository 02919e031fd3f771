import System
import Testing
import TestSupport

@testable import Store

/// Reads are interrupted if their request's client has disconnected; nothing else is.
@Suite struct InterruptionTests {
  let scratch = Scratch()

  /// Takes minutes.
  private static func readForLong(_ db: Database) throws(StoreError) -> Int? {
    try db.value(
      Int.self,
      """
      WITH RECURSIVE number(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < 3000000000)
      SELECT count(*) FROM number
      """)
  }

  @Test func runningReadIsInterrupted() throws {
    let connections = try Connections(path: scratch.path + "/a.db")
    let cancellation = Cancellation()
    let canceller = try OSThread(name: "canceller") {
      Clock.sleep(for: .milliseconds(50))
      cancellation.cancel()
    }
    let start = Clock.monotonicNanoseconds()
    #expect {
      try Cancellation.$current.withValue(cancellation) {
        try connections.reading { (db) throws(StoreError) in try Self.readForLong(db) }
      }
    } throws: { if case StoreError.cancelled = $0 { true } else { false } }
    #expect(Double(Clock.monotonicNanoseconds() - start) / 1e9 < 10)
    canceller.join()
    // The connection can be used again, with and without a cancellation.
    #expect(try connections.reading { (db) throws(StoreError) in try db.value(Int.self, "SELECT 1") } == 1)
  }

  @Test func writesAreNeverInterrupted() throws {
    let connections = try Connections(path: scratch.path + "/a.db")
    let cancellation = Cancellation()
    cancellation.cancel()
    let count = try Cancellation.$current.withValue(cancellation) {
      try connections.transaction { (db) throws(StoreError) in
        try db.value(
          Int.self,
          """
          WITH RECURSIVE number(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < 300000)
          SELECT count(*) FROM number
          """)
      }
    }
    #expect(count == 300_000)
  }
}
