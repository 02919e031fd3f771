import Manifests
import System

extension Store {
  /// Removes manifest history beyond the policy, and then every file that nothing needs any more.
  ///
  /// It is safe at any time and after any crash: first a channel's releases go, in one transaction, then the rows that
  /// no release needs, then the files that no row names. Each step determines anew what is needed, so the next round
  /// finishes an interrupted one. Transactions are small, and waiting publishers go first. While polls are served, it
  /// is called on a low-priority thread.
  /// - Parameters:
  ///   - policy: which versions stay.
  ///   - dryRun: whether to only determine what would be removed.
  ///   - actor: who collects.
  ///   - record: keeps the report for retries once the round is over; an interrupted round starts anew.
  /// - Throws: `leased` if someone is reading (mirror, backup) and nothing was begun.
  package func collect(
    _ policy: RetentionPolicy = RetentionPolicy(), dryRun: Bool = false, by actor: Actor = .local,
    record: AnswerRecord<CollectionReport>? = nil
  ) throws(StoreError) -> CollectionReport {
    if dryRun { return try CollectionForecast(self, policy).report() }
    return try collecting.withLock { (_) throws(StoreError) -> CollectionReport in
      let holders = try connections.reading { (db) throws(StoreError) in try db.leaseHolders(now: clock()) }
      guard holders.isEmpty else {
        try noteWait(isDone: false)
        throw .leased(by: holders)
      }
      var collection = GarbageCollection(store: self, policy: policy, actor: actor)
      do throws(StoreError) {
        try collection.run()
      } catch {
        guard case .leased(let holders) = error else { throw error }
        collection.report.stoppedFor = holders
      }
      try noteWait(isDone: collection.report.stoppedFor.isEmpty)
      return try note(collection, record)
    }
  }

  /// Notes whether leases have delayed gc. It may use the reserve, since gc is what frees a full disk.
  private func noteWait(isDone: Bool) throws(StoreError) {
    try connections.urgently { (db) throws(StoreError) in
      try db.write { () throws(StoreError) in
        if isDone { try db.noteCollectionDone() } else { try db.noteCollectionDelayed(clock()) }
      }
    }
  }

  /// Files are removed outside of transactions, so the trail records them when they are gone.
  private func note(_ collection: GarbageCollection, _ record: AnswerRecord<CollectionReport>?)
    throws(StoreError)
    -> CollectionReport
  {
    let (report, actor) = (collection.report, collection.actor)
    let act = report.act(collection.policy)
    if act == nil, record == nil { return report }
    return try connections.transaction(keeping: record, now: clock()) { (db) throws(StoreError) in
      if let act { try db.audit(act, by: actor, now: clock()) }
      return report
    }
  }

  /// Whether gc has waited for leases for so long that tokens get none until it has run.
  package func isCollectionOverdue() throws(StoreError) -> Bool {
    try connections.reading { (db) throws(StoreError) in try db.collectionWait() }?.isOverdue(clock())
      ?? false
  }

  /// The versions of a channel that `collect` would keep, and why.
  package func keptVersions(of channel: ChannelInfo, _ policy: RetentionPolicy) throws(StoreError)
    -> [RetainedVersion]
  {
    try connections.reading { (db) throws(StoreError) in
      try db.retainedVersions(of: channel.id, policy, now: clock())
    }
  }
}

/// One round of garbage collection.
struct GarbageCollection {
  let store: Store
  let policy: RetentionPolicy
  let actor: Actor
  var report = CollectionReport()

  private var pace = Pace()

  init(store: Store, policy: RetentionPolicy, actor: Actor) {
    self.store = store
    self.policy = policy
    self.actor = actor
  }

  mutating func run() throws(StoreError) {
    defer { report.longestWrite = pace.longest }
    let removed = try store.connections.reading { (db) throws(StoreError) in try db.channels(removed: true) }
    let channels = try store.channels() + removed
    for channel in channels where channel.version > .none { try dropReleases(of: channel) }
    try dropDocuments(of: channels)
    for channel in channels {
      report.entries += try drop { (db) throws(StoreError) in
        try EntryRow.unneeded(of: channel.id, in: db)
      } _: { (row, db) throws(StoreError) in
        try row.deleteUnneeded(in: db)
        return true
      }
    }
    report.resources += try drop(ResourceRow.unneeded, ResourceRow.deleteUnneeded)
    // Servers keep files open under their URLs. From here on, nothing is found under those of the deleted resources.
    if report.resources > 0 { store.changes.changed() }
    _ = try drop(ContentTypeRow.unneeded, ContentTypeRow.deleteUnneeded)
    let begin = store.clock()
    _ = try drop { (db) throws(StoreError) in
      try SourceMapRow.unneeded(now: begin, in: db)
    } _: { (row, db) throws(StoreError) in
      try row.deleteUnneeded(now: begin, in: db)
    }
    report.urls += try drop(URLRow.unneeded, URLRow.deleteUnneeded)
    for channel in removed {
      try transaction { (db) throws(StoreError) in try db.forgetBundles(ofRemoved: channel.id) }
    }
    for app in Set(channels.filter { $0.bundlesSince != nil }.map(\.appID)).sorted() {
      try transaction { (db) throws(StoreError) in try db.deleteUnneededStatements(ofApp: app) }
    }
    try dropBlobs()
    try dropOrphans()
    try dropTemporary()
    try dropDerived()
    let now = store.clock()
    try transaction { (db) throws(StoreError) in try db.forgetCounts(before: now) }
  }

  /// Runs `body` as one transaction, unless someone is reading what it may remove.
  private mutating func transaction<Result: Sendable>(
    rows: Int = 1, _ body: (Database) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try store.step("gc")
    let (result, took) = try store.connections.urgently { (db) throws(StoreError) in
      let begin = Clock.monotonicNanoseconds()
      let result = try db.write { () throws(StoreError) in
        try db.refuseLeased(now: store.clock())
        return try body(db)
      }
      return (result, Int64(Clock.monotonicNanoseconds() - begin))
    }
    pace.record(took, rows: rows)
    yieldToWriters()
    return result
  }

  /// Lets others use the disk and the writing connection, which isn't handed over in any order.
  private func yieldToWriters() {
    Clock.sleep(for: .microseconds(500))
    var rounds = 0
    while store.connections.isWriting, rounds < 50 {
      Clock.sleep(for: .milliseconds(1))
      rounds += 1
    }
  }

  // MARK: - Rows

  private mutating func dropReleases(of channel: ChannelInfo) throws(StoreError) {
    let (policy, actor, now) = (policy, actor, store.clock())
    let outcome = try transaction { (db) throws(StoreError) -> CollectionReport.Channel in
      try db.forgetNotes(ofRemoved: channel.id)
      let kept = try db.retainedVersions(of: channel.id, policy, now: now)
      let staying = Set(kept.map(\.version))
      let dropped = try db.versions(of: channel.id).filter { !staying.contains($0) }
      for version in dropped { try ReleaseRow.delete(version, of: channel.id, in: db) }
      try db.deleteUnneededContents(of: channel)
      let outcome = CollectionReport.Channel(
        app: channel.app, name: channel.name, dropped: dropped, kept: kept)
      if let act = outcome.act(policy) { try db.audit(act, by: actor, now: now) }
      return outcome
    }
    report.channels.append(outcome)
  }

  /// Deletes the rows that `find` returns, unless they have come to be needed since.
  /// - Returns: how many were deleted.
  private mutating func drop<Row: Sendable>(
    _ find: (Database) throws(StoreError) -> [Row], _ delete: (Row, Database) throws(StoreError) -> Bool
  ) throws(StoreError) -> Int {
    var rest = try store.connections.reading(find)[...]
    var gone = 0
    while !rest.isEmpty {
      let part = rest.prefix(pace.rows)
      rest = rest.dropFirst(part.count)
      gone += try transaction(rows: part.count) { (db) throws(StoreError) in
        var gone = 0
        for row in part where try delete(row, db) { gone += 1 }
        return gone
      }
    }
    return gone
  }

  /// Removes older versions of prefetch configs and policies, then the scripts that only they named.
  private mutating func dropDocuments(of channels: [ChannelInfo]) throws(StoreError) {
    let (policy, now) = (policy, store.clock())
    for channel in channels {
      report.documents += try drop { (db) throws(StoreError) in
        try db.unneededDocuments(of: channel.id, policy, now: now)
      } _: { (row, db) throws(StoreError) in
        try row.delete(in: db)
        return true
      }
    }
    try transaction { (db) throws(StoreError) in
      for channel in channels { try db.deleteUnneededCandidates(of: channel.id) }
    }
    let scripts = try transaction { (db) throws(StoreError) in try db.deleteUnneededScripts(now: now) }
    for size in scripts { report.scripts.add(size) }
  }

  // MARK: - Files

  private mutating func dropBlobs() throws(StoreError) {
    let rows = try store.connections.reading(BlobRow.unneeded)
    store.blobs.expireReservations(now: store.clock())
    var rest = rows[...]
    while !rest.isEmpty {
      let part = rest.prefix(pace.rows)
      rest = rest.dropFirst(part.count)
      try store.step("gc")
      let begin = Clock.monotonicNanoseconds()
      let outcome = try store.blobs.removeRows(of: part.map(\.sha256), now: store.clock())
      pace.record(Int64(Clock.monotonicNanoseconds() - begin), rows: part.count)
      try store.blobs.unlink()
      for file in part where outcome.removed.contains(file.sha256) { report.blobs.add(file.size) }
      report.promised += outcome.reserved
      self.yieldToWriters()
    }
  }

  private mutating func dropOrphans() throws(StoreError) {
    // List the files before reading the rows: a file without a row then belongs to no acknowledged release.
    let files = try store.blobs.files()
    let named = try store.connections.reading(BlobRow.names)
    for part in files.filter({ !named.contains($0) }).batches(of: 500) {
      try store.step("gc")
      let sizes = try store.blobs.markOrphans(part, now: store.clock()).values
      try store.blobs.unlink()
      for size in sizes { report.orphans.add(size) }
      yieldToWriters()
    }
  }

  private mutating func dropTemporary() throws(StoreError) {
    for size in try store.blobs.sweep() { report.temporary.add(size) }
    for size in try store.blobs.sweepQuarantine() { report.temporary.add(size) }
  }

  private mutating func dropDerived() throws(StoreError) {
    for size in try store.removeUnneededDerived() { report.derived.add(size) }
  }
}

extension Store {
  /// Removes files under `derived/` whose blobs or versions are gone, and has those who hold them open close them.
  /// - Returns: their sizes.
  func removeUnneededDerived() throws(StoreError) -> [Int64] {
    let unneeded = try DerivedSweep(store: self).unneeded()
    // Their digests first: a file without a recorded digest counts as missing.
    try derived.forgetFiles(unneeded)
    // Before they go: answers that name one are made again without it.
    if !unneeded.isEmpty { changes.changed() }
    var sizes: [Int64] = []
    for path in unneeded {
      try step("gc")
      try StoreError.disk { () throws(SystemError) in
        sizes.append(try Kernel.status(path)?.size ?? 0)
        try derived.removeFile(path)
      }
    }
    if !unneeded.isEmpty { changes.changed() }
    return sizes
  }
}

extension Array {
  /// The index of the first element for which `isBehind` holds, in an array where it holds for all elements after that.
  package func partitionPoint(_ isBehind: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Slices of up to `size` elements, in order.
  func batches(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}

extension Store {
  /// Announces the next step to a test's disk.
  func step(_ name: StaticString) throws(StoreError) {
    try StoreError.disk { () throws(SystemError) in try blobs.disk.before(name, folder.path) }
  }
}

/// How many rows a transaction of gc deletes, so that writers wait for it only briefly.
struct Pace {
  /// The rows of the next transaction.
  private(set) var rows = 200
  /// The longest time that a transaction held the writing connection, in nanoseconds.
  private(set) var longest: Int64 = 0

  /// The time that a transaction should take: 15 ms.
  private static let target: Int64 = 15_000_000
  private static let minRows = 20
  private static let maxRows = 5000

  /// Adapts to the time that a transaction of `count` rows took.
  mutating func record(_ nanoseconds: Int64, rows count: Int) {
    longest = max(longest, nanoseconds)
    // A small transaction says nothing about a large one.
    guard count >= rows || nanoseconds > Self.target else { return }
    let wanted = Int64(count) * Self.target / max(1, nanoseconds)
    rows = min(Self.maxRows, max(Self.minRows, Int(min(wanted, Int64(rows) * 2))))
  }
}

// What remains of a removed channel: its row, its last release, and the newest versions of its documents, so that its
// versions keep rising if it is created again.
extension Database {
  /// Deletes a removed channel's pins and counts, because nobody can unpin or read them any more.
  func forgetNotes(ofRemoved channel: Int64) throws(StoreError) {
    guard try isRemoved(channel) else { return }
    try run("DELETE FROM pin WHERE channel_id = ?", channel)
    try run("DELETE FROM poll_count WHERE channel_id = ?", channel)
    try run("DELETE FROM failure_count WHERE channel_id = ?", channel)
    try run("DELETE FROM failure_hour WHERE channel_id = ?", channel)
    try forgetEvidence(of: channel)
    _ = try forgetSamples(of: channel)
    try deleteOlderDocuments(of: channel)
    try deleteUnneededCandidates(of: channel, all: true)
  }

  /// Deletes bundles of a removed channel that no other row refers to.
  func forgetBundles(ofRemoved channel: Int64) throws(StoreError) {
    guard try isRemoved(channel) else { return }
    try BundleRow.deleteUnneeded(of: channel, in: self)
  }
}
