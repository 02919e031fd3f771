import Synchronization
import System
import Values

/// The connections to one database: one writer, and as many readers as are in use at once.
///
/// "WAL provides more concurrency as readers do not block writers and a writer does not block readers"
/// (sqlite.org/wal.html).
final class Connections: Sendable {
  private let path: String
  private let isSecondary: Bool
  /// Lent to acts that can't wait for space on the disk.
  private let reserve: DiskReserve?
  private let checkFolder: @Sendable () throws(StoreError) -> Void
  private let writer: Locked<ConnectionBox>
  /// Who writes next.
  private let turns = Monitor(WriterTurns())
  private let writers = Atomic<Int>(0)
  private let editions = Atomic<Int>(0)
  /// Called when there may be something new for webhooks.
  let announced = Locked<(@Sendable () -> Void)?>(nil)
  /// Where people reach the console.
  let console = Locked<BaseURL?>(nil)
  /// Gets what each use of the writing connection changed; nil: nothing records it.
  private let recorded: (@Sendable (DatabaseChanges) -> Void)?
  private let idle = Locked<[ConnectionBox]>([])
  private static let maxIdle = 8

  /// An idle connection, or one that a thread is using.
  private struct ConnectionBox: @unchecked Sendable {  // only the thread that took it out of a Locked uses it
    let database: Database
  }

  /// Opens the database at `path` and brings its schema up to date.
  /// - Parameters:
  ///   - path: the path of the database.
  ///   - isSecondary: whether another process has the database. Then a schema that isn't up to date is refused, and
  ///     neither commits nor closing wait for the disk. Such commits are leases and mirrors' names, which a power cut
  ///     ends anyway.
  ///   - reserve: lent to acts that can't wait for space on the disk.
  ///   - recorded: gets what each use of the writing connection changed in the tables of acts, in order and within that use; nil:
  ///     nothing records it. What a secondary store writes isn't seen.
  ///   - checkFolder: called before each use of the writing connection; throws if the folder isn't this process's alone.
  init(
    path: String, isSecondary: Bool = false, reserve: DiskReserve? = nil,
    recorded: (@Sendable (DatabaseChanges) -> Void)? = nil,
    checkFolder: @escaping @Sendable () throws(StoreError) -> Void = {}
  ) throws(StoreError) {
    self.path = path
    self.checkFolder = checkFolder
    self.reserve = reserve
    self.isSecondary = isSecondary
    self.recorded = recorded
    // Even opening another program's database would change it, to write-ahead logging.
    let header = try StoreError.disk { () throws(SystemError) in try DatabaseHeader(path: path) }
    if let header, !Migrations.mayOwn(header) { throw .foreignDatabase }
    if header == nil,
      try StoreError.disk({ () throws(SystemError) in try Kernel.status(path)?.size ?? 0 }) > 0
    {
      throw .damagedDatabase(path: path, ["it doesn't begin as a SQLite database does"])
    }
    let database = try Database(path: path, isSecondary ? .secondary : .writing)
    if isSecondary {
      database.keepLogOnClose()
      try Migrations.embedded.check(database)
    } else {
      try Migrations.embedded.apply(to: database)
      if recorded != nil { database.recorder = try ChangeRecorder(database) }
    }
    writer = Locked(ConnectionBox(database: database))
  }

  /// Whether anyone is writing or waiting to write; what isn't urgent waits for a better time.
  var isWriting: Bool { writers.load(ordering: .relaxed) > 0 }

  /// A number that changes with each use of the writing connection. If it is the same before a snapshot and inside
  /// `writing`, nothing was written in between, because only this process writes the database.
  var edition: Int { editions.load(ordering: .sequentiallyConsistent) }

  /// Runs `body` with the writing connection; callers take turns, those that go first before all others.
  func writing<Result: Sendable>(
    goesFirst: Bool = false, _ body: (Database) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    writers.add(1, ordering: .relaxed)
    defer { writers.subtract(1, ordering: .relaxed) }
    let ticket = turns.withLock { $0.queue(goesFirst: goesFirst) }
    turns.waiting { $0.begin(ticket) ? () : nil }
    defer { turns.broadcasting { $0.end() } }
    return try writer.withLock { (held) throws(StoreError) -> Result in
      defer { editions.add(1, ordering: .sequentiallyConsistent) }
      try checkFolder()
      held.database.console = console.withLock { $0 }
      let result: Result
      do throws(StoreError) {
        result = try body(held.database)
      } catch {
        try record(held.database)
        throw error
      }
      try record(held.database)
      if held.database.hasAnnounced {
        held.database.hasAnnounced = false
        announced.withLock { $0 }?()
      }
      return result
    }
  }

  /// Passes on what was committed since the last call, also by a body that threw later.
  private func record(_ database: Database) throws(StoreError) {
    guard let recorded, let changes = try database.recorder?.take() else { return }
    recorded(changes)
  }

  /// Runs `body` with the writing connection, and once more with the disk reserve if the disk is full: for what can't
  /// wait until there is space again.
  func urgently<Result: Sendable>(
    goesFirst: Bool = false, _ body: (Database) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard let reserve else { return try writing(goesFirst: goesFirst, body) }
    return try reserve.lending { () throws(StoreError) in try writing(goesFirst: goesFirst, body) }
  }

  /// Runs `body` as one write transaction, all or nothing; callers take turns.
  func transaction<Result: Sendable>(_ body: (Database) throws(StoreError) -> Result) throws(StoreError)
    -> Result
  {
    try writing { (db) throws(StoreError) in try db.write { () throws(StoreError) in try body(db) } }
  }

  /// Runs `body` over one snapshot of the database, concurrently with the writer and other readers.
  ///
  /// - Throws: `cancelled` once `Cancellation.current` is cancelled, besides the errors of `body`.
  func reading<Result>(_ body: (Database) throws(StoreError) -> Result) throws(StoreError) -> Result {
    let held = try idleReader()
    defer { giveBack(held) }
    return try held.database.interruptible(by: Cancellation.current) { () throws(StoreError) in
      try held.database.snapshot { () throws(StoreError) in try body(held.database) }
    }
  }

  /// Copies what is in the log into the database, if that is worth it, so that no act has to: it waits for the disk twice.
  /// Readers and writers go on meanwhile.
  func checkpoint() throws(StoreError) {
    let size = try StoreError.disk { () throws(SystemError) in try Kernel.status(path + "-wal")?.size ?? 0 }
    guard size >= Self.worthCheckpoint else { return }
    let held = try idleReader()
    defer { giveBack(held) }
    // "A checkpoint can run concurrently with readers" and, as it is a passive one, with a writer (sqlite.org/wal.html).
    try held.database.script("PRAGMA wal_checkpoint(PASSIVE)")
  }

  /// The size of the log from which it is copied: 4 MB.
  private static let worthCheckpoint: Int64 = 4 << 20

  private func idleReader() throws(StoreError) -> ConnectionBox {
    if let rested = idle.withLock({ $0.popLast() }) { return rested }
    let made = ConnectionBox(database: try Database(path: path, .reading))
    if isSecondary { made.database.keepLogOnClose() }
    return made
  }

  private func giveBack(_ held: ConnectionBox) {
    idle.withLock { if $0.count < Self.maxIdle { $0.append(held) } }
  }

  /// Frees the page caches of idle connections, up to 16 MB each; the system's cache still has the pages.
  func releaseMemory() {
    let rested = idle.withLock { idle in
      defer { idle = [] }
      return idle
    }
    for held in rested { held.database.releaseMemory() }
    idle.withLock { $0 += rested.prefix(Self.maxIdle - $0.count) }
    if !isWriting { writer.withLock { $0.database.releaseMemory() } }
  }
}
