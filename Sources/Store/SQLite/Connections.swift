import Synchronization
import System

/// The connections to one database: one that writes, and as many that read as are used at once.
///
/// "WAL provides more concurrency as readers do not block writers and a writer does not block readers"
/// (sqlite.org/wal.html).
final class Connections: Sendable {
  private let path: String
  private let isSecondary: Bool
  /// Lent to acts that can't wait for room on the disk.
  private let reserve: DiskReserve?
  private let writer: Locked<ConnectionBox>
  private let writers = Atomic<Int>(0)
  private let editions = Atomic<Int>(0)
  private let idle = Locked<[ConnectionBox]>([])
  private static let mostIdle = 8

  /// A connection at rest or in one thread's hands.
  private struct ConnectionBox: @unchecked Sendable {  // only the thread that took it out of a Locked uses it
    let database: Database
  }

  /// Opens the database at `path` and brings its schema up to date.
  /// - Parameter isSecondary: another process has it: a schema that isn't up to date is refused, and neither a commit nor
  ///   the end waits for the disk. What is committed so are leases and mirrors' names; a power cut ends those anyway.
  init(path: String, isSecondary: Bool = false, reserve: DiskReserve? = nil) throws(StoreError) {
    self.path = path
    self.reserve = reserve
    self.isSecondary = isSecondary
    // Even opening another program's database would change it: to write-ahead logging.
    let header = try StoreError.disk { () throws(SystemError) in try DatabaseHeader(path: path) }
    if let header, !Migrations.mayOwn(header) { throw .foreignDatabase }
    if header == nil,
      try StoreError.disk({ () throws(SystemError) in try Kernel.status(path)?.size ?? 0 }) > 0
    {
      throw .damagedDatabase(path: path, ["it doesn't begin as a SQLite database does"])
    }
    let database = try Database(path: path, isSecondary ? .secondary : .writing)
    if isSecondary {
      database.leavesLog()
      try Migrations.embedded.check(database)
    } else {
      try Migrations.embedded.apply(to: database)
    }
    writer = Locked(ConnectionBox(database: database))
  }

  /// Whether someone writes or waits to: what isn't urgent waits for a better time.
  var isWriting: Bool { writers.load(ordering: .relaxed) > 0 }

  /// A number that is another one after each use of the writing connection. Where it is the same before a snapshot
  /// was taken and inside `writing`, nothing was written in between: this process alone writes the database.
  var edition: Int { editions.load(ordering: .sequentiallyConsistent) }

  /// Runs `body` with the one connection that writes; callers take turns.
  func writing<Result: Sendable>(_ body: (Database) throws(StoreError) -> Result) throws(StoreError) -> Result
  {
    writers.add(1, ordering: .relaxed)
    defer { writers.subtract(1, ordering: .relaxed) }
    return try writer.withLock { (held) throws(StoreError) -> Result in
      defer { editions.add(1, ordering: .sequentiallyConsistent) }
      return try body(held.database)
    }
  }

  /// The same for what can't wait until a full disk has room again: it may use the room that is kept for that. `body` runs
  /// twice then.
  func urgently<Result: Sendable>(_ body: (Database) throws(StoreError) -> Result) throws(StoreError)
    -> Result
  {
    guard let reserve else { return try writing(body) }
    return try reserve.lending { () throws(StoreError) in try writing(body) }
  }

  /// Runs `body` as one transaction that writes: all of it is kept, or nothing. Callers take turns.
  func transaction<Result: Sendable>(_ body: (Database) throws(StoreError) -> Result) throws(StoreError)
    -> Result
  {
    try writing { (db) throws(StoreError) in try db.write { () throws(StoreError) in try body(db) } }
  }

  /// Runs `body` over one state of the database, beside the writer and other readers.
  func reading<Result>(_ body: (Database) throws(StoreError) -> Result) throws(StoreError) -> Result {
    let held: ConnectionBox
    if let rested = idle.withLock({ $0.popLast() }) {
      held = rested
    } else {
      held = ConnectionBox(database: try Database(path: path, .reading))
      if isSecondary { held.database.leavesLog() }
    }
    defer { idle.withLock { if $0.count < Self.mostIdle { $0.append(held) } } }
    return try held.database.snapshot { () throws(StoreError) in try body(held.database) }
  }

  /// Gives back the pages that connections at rest keep, up to 16 MB each; the system's cache has them still.
  func releaseMemory() {
    let rested = idle.withLock { idle in
      defer { idle = [] }
      return idle
    }
    for held in rested { held.database.releaseMemory() }
    idle.withLock { $0 += rested.prefix(Self.mostIdle - $0.count) }
    if !isWriting { writer.withLock { $0.database.releaseMemory() } }
  }
}
