import Manifests
import System

extension Store {
  /// Makes a release, or says why not; all of it or nothing. What it acknowledges survives power loss.
  ///
  /// Planning and the bytes' way to the disk run beside other releases; the transaction itself is one at a time.
  /// - Parameters:
  ///   - digest: Gives the sha256 of the resourcemap that the changes lead to. Called at most once, by the thread
  ///     that commits or one that it waits for, while no other release can come between; it may read from the store, not
  ///     write to it. nil: worked out from the database.
  ///   - committed: Called after the commit, before any other release can begin: the place to move a catalog on.
  ///     Not called where nothing changed.
  ///   - record: keeps the answer for retries, with the release. Where the channel is as it was asked to be, nothing is
  ///     kept: a retry finds the same, or does what is left to do.
  /// - Throws: the refusals of `StoreError`; nothing is changed then.
  package func commit(
    _ request: ReleaseInput,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)? = nil,
    committed: (ReleaseOutcome) -> Void = { _ in }, record: AnswerRecord<ReleaseOutcome>? = nil
  ) throws(StoreError) -> ReleaseOutcome {
    let (draft, edition) = try plan(request)
    guard draft.isChange || request.prefetch != nil else { return .unchanged(draft) }
    // A dry run says that it is frozen.
    if draft.isChange, !request.dryRun, let channel = draft.channel { try checkFreeze(of: channel, request) }
    let survey = try blobs.survey(draft.contents)
    if request.dryRun {
      blobs.releaseReservations(draft.contents.lazy.map(\.content.sha256))
      return try dryRun(draft, of: request, missing: survey.missing)
    }
    guard survey.missing.isEmpty else { throw .missingBlobs(survey.missing) }
    try blobs.place(survey.waiting)
    let outcome = try connections.transaction(
      keeping: record, now: clock(), isUrgent: draft.contents.isEmpty,
      then: { if $0.changed || $0.extras != nil { committed($0) } }
    ) { (db) throws(StoreError) in
      // Others may have committed since the draft was made; then it is made again.
      let plan = connections.edition == edition ? draft : try ReleasePlanner.plan(request, in: db)
      return try write(plan, of: request, in: db, digest: digest)
    }
    if outcome.changed { blobs.forgetPlaced(survey.waiting) }
    blobs.releaseReservations(draft.contents.lazy.map(\.content.sha256))
    lastPlan.drop()
    return outcome
  }

  /// Works a release out without making it.
  /// - Returns: also the edition of the database that it was worked out from, or of an older one.
  func plan(_ request: ReleaseInput) throws(StoreError) -> (plan: ReleasePlan, edition: Int) {
    let edition = connections.edition
    if let known = lastPlan.plan(of: request, at: edition) { return (known, edition) }
    let plan = try connections.reading { (db) throws(StoreError) in try ReleasePlanner.plan(request, in: db) }
    return (plan, edition)
  }

  private func write(
    _ plan: ReleasePlan, of request: ReleaseInput, in db: Database,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)?
  ) throws(StoreError) -> ReleaseOutcome {
    guard plan.isChange else {
      var outcome = ReleaseOutcome.unchanged(plan)
      if let channel = plan.channel { try follow(request, channel, in: db, &outcome) }
      return outcome
    }
    let freeze = try plan.channel.flatMap { (channel) throws(StoreError) in try db.freeze(of: channel.id) }
    if let freeze, request.breakGlass == nil { throw .frozen(request.app, request.channel, freeze) }
    var writer = try ReleaseWriter(plan, of: request, in: db, blobs: blobs, now: clock())
    var outcome = try writer.write { (prepared, rows) throws(StoreError) in
      guard let digest else {
        try rows()
        return try db.digest(of: prepared)
      }
      return try Self.digest(prepared, digest, beside: rows)
    }
    if let channel = outcome.channel {
      if let source = request.source { try db.note(source, of: outcome.version, in: channel.id) }
      try db.recordOverride(request.breakGlass, freeze, outcome.version, in: channel.id)
      try follow(request, channel, in: db, &outcome)
    }
    outcome.receipt = try db.audit(
      request.act(outcome), by: Actor(name: request.author, address: request.address), now: clock())
    return outcome
  }

  /// Changes from which on a thread is worth starting.
  private static let manyChanges = 1000

  /// What `digest` gives for a release, worked out while `rows` writes those of it that don't need it.
  private static func digest(
    _ prepared: PreparedRelease, _ digest: @escaping (PreparedRelease) throws(StoreError) -> SHA256,
    beside rows: () throws(StoreError) -> Void
  ) throws(StoreError) -> SHA256 {
    let result = Locked<Result<SHA256, StoreError>?>(nil)
    // The thread below runs it while this one waits or writes rows, and nobody runs it afterwards.
    nonisolated(unsafe) let work = digest
    let thread =
      prepared.changes.count < manyChanges
      ? nil
      : try? OSThread(name: "digest") {
        let made = Result { () throws(StoreError) in try work(prepared) }
        result.withLock { $0 = made }
      }
    let written = Result { () throws(StoreError) in try rows() }
    thread?.join()
    try written.get()
    if let made = result.withLock({ $0 }) { return try made.get() }
    return try digest(prepared)
  }

  private func dryRun(_ plan: ReleasePlan, of request: ReleaseInput, missing: [SHA256]) throws(StoreError)
    -> ReleaseOutcome
  {
    var outcome =
      plan.isChange ? ReleaseOutcome.dryRun(plan, missing: missing, now: clock()) : .unchanged(plan)
    if plan.isChange, request.breakGlass == nil, let channel = plan.channel {
      outcome.freeze = try connections.reading { (db) throws(StoreError) in try db.freeze(of: channel.id) }
    }
    if let carryOver = request.prefetch {
      outcome.prefetch = try connections.reading { (db) throws(StoreError) in
        try db.forecast(carryOver, in: plan.channel, by: PrefetchReconciler(request))
      }
    }
    return outcome
  }

  /// Has the prefetch config come along, where one is to.
  private func follow(
    _ request: ReleaseInput, _ channel: ChannelInfo, in db: Database, _ outcome: inout ReleaseOutcome
  ) throws(StoreError) {
    guard let carryOver = request.prefetch else { return }
    try outcome.follow(
      carryOver, in: channel, at: outcome.version, by: PrefetchReconciler(request), now: clock(), in: db)
  }

  /// Tells before the bytes go to the disk what the transaction would say.
  func checkFreeze(of channel: ChannelInfo, _ request: ReleaseInput) throws(StoreError) {
    guard request.breakGlass == nil else { return }
    let freeze = try connections.reading { (db) throws(StoreError) in try db.freeze(of: channel.id) }
    if let freeze { throw .frozen(channel.app, channel.name, freeze) }
  }
}
