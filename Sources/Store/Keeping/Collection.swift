import Manifests
import System

extension Store {
  /// Drops manifest history beyond the policy, and then every file that nothing needs any more.
  ///
  /// Safe at any moment and after any crash: first a channel's releases go, in one transaction, then the rows that no
  /// release needs, then the files that no row names. Each step asks anew what is needed, so one that was cut off is
  /// finished by the next round. Transactions are small, and a publisher who waits goes first. Beside polls it is called
  /// on a thread that lets others have the processor.
  /// - Parameters:
  ///   - dryRun: only works out what would go.
  ///   - record: keeps the report for retries, once the round is over: one that was cut off is begun anew.
  /// - Throws: `leased` where someone reads (mirror, backup) and nothing was begun.
  package func collect(
    _ policy: KeepPolicy = KeepPolicy(), dryRun: Bool = false, by actor: Actor = .local,
    record: AnswerRecord<CollectionReport>? = nil
  ) throws(StoreError) -> CollectionReport {
    if dryRun { return try CollectionForecast(self, policy).report() }
    return try collecting.withLock { (_) throws(StoreError) -> CollectionReport in
      let holders = try connections.reading { (db) throws(StoreError) in try db.leaseHolders(now: clock()) }
      guard holders.isEmpty else { throw .leased(by: holders) }
      var collection = Collection(store: self, policy: policy, actor: actor)
      do throws(StoreError) {
        try collection.run()
      } catch {
        guard case .leased(let holders) = error else { throw error }
        collection.report.stoppedFor = holders
      }
      return try note(collection, record)
    }
  }

  /// Files go before their rows and outside of transactions, so the trail tells of them when they are gone.
  private func note(_ collection: Collection, _ record: AnswerRecord<CollectionReport>?) throws(StoreError)
    -> CollectionReport
  {
    let (report, actor) = (collection.report, collection.actor)
    let act = report.act(collection.policy)
    if act == nil, record == nil { return report }
    return try connections.writing { (db) throws(StoreError) in
      try db.write(keeping: record, now: clock()) { () throws(StoreError) in
        if let act { try db.audit(act, by: actor, now: clock()) }
        return report
      }
    }
  }

  /// What `collect` goes by: why each version of a channel would stay.
  package func keptVersions(of channel: ChannelInfo, _ policy: KeepPolicy) throws(StoreError) -> [KeptVersion]
  {
    try connections.reading { (db) throws(StoreError) in
      try db.keepers(of: channel.id, policy, now: clock())
    }
  }
}

/// One round of garbage collection.
struct Collection {
  let store: Store
  let policy: KeepPolicy
  let actor: Actor
  var report = CollectionReport()

  private var pace = Pace()

  init(store: Store, policy: KeepPolicy, actor: Actor) {
    self.store = store
    self.policy = policy
    self.actor = actor
  }

  mutating func run() throws(StoreError) {
    defer { report.longestWrite = pace.longest }
    let removed = try store.connections.reading { (db) throws(StoreError) in try db.removedChannels() }
    let channels = try store.channels() + removed
    for channel in channels where channel.version > .none { try dropReleases(of: channel) }
    for channel in channels { try dropEntries(of: channel) }
    try dropResources()
    try dropURLs()
    for channel in removed {
      try transaction { (db) throws(StoreError) in try db.forgetBundles(ofRemoved: channel.id) }
    }
    try dropBlobs()
    try dropOrphans()
    try dropTemporary()
    try dropDerived()
    let now = store.clock()
    try transaction { (db) throws(StoreError) in try db.forgetCounts(before: now) }
  }

  /// Runs `body` as one transaction, unless someone reads what it may remove.
  private mutating func transaction<Result: Sendable>(
    rows: Int = 1, _ body: (Database) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try store.step("gc")
    let (result, took) = try store.connections.writing { (db) throws(StoreError) in
      let begin = Clock.monotonicNanoseconds()
      let result = try db.write { () throws(StoreError) in
        try db.refuseLeased(now: store.clock())
        return try body(db)
      }
      return (result, Int64(Clock.monotonicNanoseconds() - begin))
    }
    pace.took(took, rows: rows)
    rest()
    return result
  }

  /// Runs `body` for each row, as many in one transaction as the pace allows.
  /// - Returns: for how many it said that something went.
  private mutating func eachInBatches<Row>(
    _ rows: [Row], _ body: (Database, Row) throws(StoreError) -> Bool
  ) throws(StoreError) -> Int {
    var rest = rows[...]
    var gone = 0
    while !rest.isEmpty {
      let part = rest.prefix(pace.rows)
      rest = rest.dropFirst(part.count)
      gone += try transaction(rows: part.count) { (db) throws(StoreError) in
        var gone = 0
        for row in part where try body(db, row) { gone += 1 }
        return gone
      }
    }
    return gone
  }

  /// Lets others have the disk, and the connection that writes, which is handed over in no order.
  private func rest() {
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
      let kept = try db.keepers(of: channel.id, policy, now: now)
      let staying = Set(kept.map(\.version))
      let dropped = try db.versions(of: channel.id).filter { !staying.contains($0) }
      for version in dropped {
        try db.run(
          "DELETE FROM release_bundle WHERE channel_id = ? AND version = ?", channel.id, version.number)
        try db.run("DELETE FROM release WHERE channel_id = ? AND version = ?", channel.id, version.number)
      }
      let outcome = CollectionReport.Channel(
        app: channel.app, name: channel.name, dropped: dropped, kept: kept)
      if let act = outcome.act(policy) { try db.audit(act, by: actor, now: now) }
      return outcome
    }
    report.channels.append(outcome)
  }

  /// A row that ended stays as long as one of the versions in which it was is kept. Once it is not needed, it never
  /// will be again: new versions are higher.
  private mutating func dropEntries(of channel: ChannelInfo) throws(StoreError) {
    let rows = try store.connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT e.url_id, e.bundle_id, e.since FROM bundle AS b
        JOIN entry AS e ON e.bundle_id = b.id AND e.until IS NOT NULL
        WHERE b.channel_id = ?1 AND NOT EXISTS (SELECT 1 FROM release AS r
          WHERE r.channel_id = ?1 AND r.version >= e.since AND r.version < e.until)
        """, channel.id
      ) {
        (url: $0.get(0, as: Int64.self), bundle: $0.get(1, as: Int64.self), since: $0.get(2, as: Int64.self))
      }
    }
    report.entries += try eachInBatches(rows) { (db, row) throws(StoreError) in
      try db.run(
        "DELETE FROM entry WHERE url_id = ? AND bundle_id = ? AND since = ? AND until IS NOT NULL",
        row.url, row.bundle, row.since)
      return true
    }
  }

  private mutating func dropResources() throws(StoreError) {
    let rows = try store.connections.reading { (db) throws(StoreError) in
      try db.all(
        "SELECT id FROM resource WHERE NOT EXISTS (SELECT 1 FROM entry WHERE resource_id = resource.id)"
      ) { $0.get(0, as: Int64.self) }
    }
    report.resources += try eachInBatches(rows) { (db, id) throws(StoreError) in
      // A release may have taken it again.
      try db.value(
        Int64.self,
        """
        DELETE FROM resource WHERE id = ?1
        AND NOT EXISTS (SELECT 1 FROM entry WHERE resource_id = ?1) RETURNING 1
        """, id) != nil
    }
  }

  /// URLs that had one content go with it: their names mostly carry its hash, and it gets version 1 again should it
  /// come back. One that had several stays, so that its resource versions go on rising; not in a removed channel.
  private mutating func dropURLs() throws(StoreError) {
    let rows = try store.connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT id FROM url
        WHERE (versions <= 1 OR channel_id IN (SELECT id FROM channel WHERE removed_at IS NOT NULL))
          AND NOT EXISTS (SELECT 1 FROM resource WHERE url_id = url.id)
        """
      ) { $0.get(0, as: Int64.self) }
    }
    report.urls += try eachInBatches(rows) { (db, id) throws(StoreError) in
      try db.value(
        Int64.self,
        """
        DELETE FROM url WHERE id = ?1
        AND (versions <= 1 OR channel_id IN (SELECT id FROM channel WHERE removed_at IS NOT NULL))
        AND NOT EXISTS (SELECT 1 FROM resource WHERE url_id = ?1) RETURNING 1
        """, id) != nil
    }
  }

  // MARK: - Files

  private mutating func dropBlobs() throws(StoreError) {
    let rows = try store.connections.reading { (db) throws(StoreError) in
      try db.all(
        "SELECT sha256, size FROM blob WHERE NOT EXISTS (SELECT 1 FROM resource WHERE blob_id = blob.id)"
      ) { (sha256: $0.get(0, as: SHA256.self), size: $0.get(1, as: Int64.self)) }
    }
    store.blobs.forgetPromises(now: store.clock())
    var rest = rows[...]
    while !rest.isEmpty {
      let part = rest.prefix(pace.rows)
      rest = rest.dropFirst(part.count)
      try store.step("gc")
      let begin = Clock.monotonicNanoseconds()
      let outcome = try store.blobs.removeRows(of: part.map(\.sha256), now: store.clock())
      pace.took(Int64(Clock.monotonicNanoseconds() - begin), rows: part.count)
      try store.blobs.unlink()
      for (sha256, size) in part where outcome.removed.contains(sha256) { report.blobs.add(size) }
      report.promised += outcome.promised
      self.rest()
    }
  }

  private mutating func dropOrphans() throws(StoreError) {
    // The files first: one that is listed and has no row afterwards belongs to no release that was acknowledged.
    let files = try store.blobs.files()
    let named = try store.connections.reading { (db) throws(StoreError) in
      Set(try db.all("SELECT sha256 FROM blob") { $0.get(0, as: SHA256.self) })
    }
    for part in files.filter({ !named.contains($0) }).batches(of: 500) {
      try store.step("gc")
      let sizes = try store.blobs.markOrphans(part, now: store.clock()).values
      try store.blobs.unlink()
      for size in sizes { report.orphans.add(size) }
      rest()
    }
  }

  private mutating func dropTemporary() throws(StoreError) {
    for size in try store.blobs.sweep() { report.temporary.add(size) }
    for size in try store.blobs.sweepQuarantine() { report.temporary.add(size) }
  }

  private mutating func dropDerived() throws(StoreError) {
    let sweep = DerivedSweep(store: store)
    let unneeded = try sweep.unneeded()
    // Their digests first: a file without one counts as none.
    try store.derived.forgetFiles(unneeded)
    for path in unneeded {
      try store.step("gc")
      let size = try StoreError.disk { () throws(SystemError) -> Int64 in
        let size = try Kernel.status(path)?.size ?? 0
        try store.derived.removeFile(path)
        return size
      }
      report.derived.add(size)
    }
  }
}

extension Array {
  /// Slices of up to `size` elements, in order.
  func batches(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}

extension Store {
  /// Tells the disk of a test that a step comes next.
  func step(_ name: StaticString) throws(StoreError) {
    try StoreError.disk { () throws(SystemError) in try blobs.disk.before(name, folder.path) }
  }
}

extension Database {
  func versions(of channel: Int64) throws(StoreError) -> [ManifestVersion] {
    try all("SELECT version FROM release WHERE channel_id = ? ORDER BY version", channel) {
      $0.version(0)
    }
  }

  /// - Throws: `leased`.
  func refuseLeased(now: Int64) throws(StoreError) {
    let holders = try leaseHolders(now: now)
    if !holders.isEmpty { throw .leased(by: holders) }
  }

  /// Forgets polls and failures that were counted more than 90 days ago, and the answers of more than a day ago.
  func forgetCounts(before now: Int64) throws(StoreError) {
    try run("DELETE FROM poll_count WHERE hour < ?", now / 3_600_000 - 90 * 24)
    try run("DELETE FROM failure_count WHERE day < ?", now / 86_400_000 - 90)
    try forgetAnswers(now: now)
  }
}
