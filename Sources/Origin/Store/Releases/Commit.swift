import Manifests
import System

extension Store {
  /// Makes a release, all or nothing. An acknowledged release survives power loss.
  ///
  /// Planning and writing the bytes to the disk run concurrently with other releases; transactions run one at a time.
  /// - Parameters:
  ///   - request: the release to make.
  ///   - digest: Returns the SHA-256 of the resourcemap that the changes result in; nil to compute it from the
  ///     database. Called at most once for each version, in their order (a candidate that is made again is a second one), on the committing thread or one that it waits for, while no other release can
  ///     commit; it may read from the store, but not write to it.
  ///   - committed: Called after the commit, before any other release can begin, to update a catalog. Not called if
  ///     nothing changed, not even the state of a rollout.
  ///   - record: Keeps the answer for retries, with the release. Nothing is kept if the channel already is as
  ///     requested: a retry finds the same, or does what is left to do.
  /// - Throws: the refusals of `StoreError`, with nothing changed.
  package func commit(
    _ request: ReleaseInput,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)? = nil,
    committed: (ReleaseOutcome) -> Void = { _ in }, record: AnswerRecord<ReleaseOutcome>? = nil
  ) throws(StoreError) -> ReleaseOutcome {
    let (draft, edition) = try plan(request)
    guard draft.acts || request.prefetch != nil else { return .unchanged(draft) }
    // A dry run reports the freeze in its outcome.
    if draft.acts, !request.dryRun, let channel = draft.channel { try checkFreeze(of: channel, request) }
    let survey = try blobs.survey(draft.contents)
    if request.dryRun {
      blobs.releaseReservations(draft.contents.lazy.map(\.content.sha256))
      return try dryRun(draft, of: request, missing: survey.missing)
    }
    guard survey.missing.isEmpty else { throw .missingBlobs(survey.missing) }
    try blobs.persist(survey.waiting)
    let outcome = try connections.transaction(
      keeping: record, now: clock(), isUrgent: draft.contents.isEmpty, goesFirst: request.act == .halt,
      then: { if $0.isToShow { committed($0) } }
    ) { (db) throws(StoreError) in
      // Others may have committed since the draft was made; then plan again.
      let plan = connections.edition == edition ? draft : try ReleasePlanner.plan(request, in: db)
      if request.act == nil, plan.acts || request.prefetch != nil, let channel = plan.channel {
        try db.requireApproval(in: channel, for: record)
      }
      var outcome = try write(plan, of: request, in: db, digest: digest)
      outcome.headProblem = try renewHead(after: outcome.channel, in: db)
      return outcome
    }
    if outcome.changed { blobs.forgetPersisted(survey.waiting) }
    blobs.releaseReservations(draft.contents.lazy.map(\.content.sha256))
    lastPlan.drop()
    return outcome
  }

  /// Plans a release without making it.
  /// - Returns: the plan, and the edition of the database that it is based on, or an older one.
  func plan(_ request: ReleaseInput) throws(StoreError) -> (plan: ReleasePlan, edition: Int) {
    let edition = connections.edition
    if let known = lastPlan.plan(of: request, at: edition) { return (known, edition) }
    let plan = try connections.reading { (db) throws(StoreError) in try ReleasePlanner.plan(request, in: db) }
    return (plan, edition)
  }

  /// Makes a planned release inside the transaction that its caller began.
  func write(
    _ plan: ReleasePlan, of request: ReleaseInput, in db: Database,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)?
  ) throws(StoreError) -> ReleaseOutcome {
    guard plan.acts else {
      var outcome = ReleaseOutcome.unchanged(plan)
      if let channel = plan.channel { try follow(request, channel, in: db, &outcome) }
      return outcome
    }
    let freeze = try plan.channel.flatMap { (channel) throws(StoreError) in
      try db.freeze(of: channel.id, at: clock())
    }
    if let freeze, request.breakGlass == nil, request.act != .halt {
      throw .frozen(request.app, request.channel, freeze)
    }
    let actor = Actor(name: request.author, address: request.address)
    // A purge goes first: its release may happen to have the candidate's content.
    if plan.keepsCandidate, request.candidatePrefetch != .dropped, let channel = plan.channel {
      try db.checkAlarm(of: channel)
    }
    if plan.effect == .completes, let channel = plan.channel {
      var outcome = ReleaseOutcome.unchanged(plan)
      let completed = try db.complete(
        channel, by: actor, breakGlass: request.breakGlass, statements: request.statements,
        dropsPrefetch: request.candidatePrefetch == .dropped, now: clock())
      (outcome.channel, outcome.rollout, outcome.receipt) = (
        completed.channel, completed.change, completed.receipt
      )
      outcome.extras = completed.extras
      try follow(request, completed.channel, in: db, &outcome)
      return outcome
    }
    let ended = try db.end(plan, of: request, now: clock())
    if plan.effect != .none { try step("rollout") }
    var outcome = try makeVersion(plan, of: request, in: db, digest: digest)
    if let channel = outcome.channel {
      if let source = request.source { try db.note(source, of: outcome.version, in: channel.id) }
      try db.recordOverride(request.breakGlass, freeze, outcome.version, in: channel.id)
      outcome.trust = try db.sign(
        channel, at: outcome.version, after: plan.channel?.full.version ?? .none, with: request.statements,
        as: plan.effect == .opens ? .candidate : .full,
        goingBackTo: request.kind == .rollback ? request.source?.version : nil, by: request.author,
        now: outcome.at)
      let (now, open) = try openRollout(after: outcome, ended, plan, request, in: db, digest: digest)
      outcome.channel = now
      if ended != nil || open != nil {
        outcome.rollout = RolloutChange(
          ended: ended, open: open, course: plan.effect == .opens ? request.rollout?.course : nil)
      }
      if request.act != .halt, let digest = now.answered(outcome.version)?.digest {
        outcome.sameAsHalted = try db.haltedRollout(withContent: digest, in: channel.id)
      }
      try follow(request, now, in: db, &outcome)
    }
    outcome.receipt = try db.audit(request.act(outcome), by: actor, now: clock())
    return outcome
  }

  /// Writes the rows of one version.
  func makeVersion(
    _ plan: ReleasePlan, of request: ReleaseInput, in db: Database,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)?
  ) throws(StoreError) -> ReleaseOutcome {
    var writer = try ReleaseWriter(plan, of: request, in: db, blobs: blobs, now: clock())
    return try writer.write { (prepared, rows) throws(StoreError) in
      guard let digest else {
        try rows()
        return try db.digest(of: prepared)
      }
      return try Self.digest(prepared, digest, alongside: rows)
    }
  }

  /// The number of changes from which starting a thread pays off.
  private static let manyChanges = 1000

  /// Calls `digest` for a release on another thread, while `rows` writes those rows that don't need it.
  private static func digest(
    _ prepared: PreparedRelease, _ digest: @escaping (PreparedRelease) throws(StoreError) -> SHA256,
    alongside rows: () throws(StoreError) -> Void
  ) throws(StoreError) -> SHA256 {
    guard prepared.changes.count >= manyChanges else {
      try rows()
      return try digest(prepared)
    }
    // The task's thread runs it while this one waits or writes rows; nothing runs it afterwards.
    nonisolated(unsafe) let work = digest
    let task = ThreadTask("digest") { () throws(StoreError) in try work(prepared) }
    let written = Result { () throws(StoreError) in try rows() }
    let made = Result { () throws(StoreError) in try task.value() }
    try written.get()
    return try made.get()
  }

  private func dryRun(_ plan: ReleasePlan, of request: ReleaseInput, missing: [SHA256]) throws(StoreError)
    -> ReleaseOutcome
  {
    var outcome =
      plan.isChange ? ReleaseOutcome.dryRun(plan, missing: missing, now: clock()) : .unchanged(plan)
    if plan.acts { outcome.rollout = plan.forecast(of: request, now: clock()) }
    if plan.isChange { outcome.trust = try trust(of: plan, request) }
    if plan.acts, request.breakGlass == nil, let channel = plan.channel {
      outcome.freeze = try connections.reading { (db) throws(StoreError) in
        try db.freeze(of: channel.id, at: clock())
      }
    }
    if let carryOver = request.prefetch {
      outcome.prefetch = try connections.reading { (db) throws(StoreError) in
        try db.forecast(
          carryOver, in: plan.channel, by: PrefetchReconciler(request), to: request.rollout,
          opens: plan.effect == .opens && plan.acts, completes: plan.effect == .completes)
      }
      if request.rollout == nil {
        outcome.rollout = try connections.reading { [outcome] (db) throws(StoreError) in
          try db.forecast(outcome.rollout, overtaking: outcome.prefetch, in: plan.channel)
        }
      }
    }
    return outcome
  }

  /// Promotes the prefetch config along with the release, if requested.
  private func follow(
    _ request: ReleaseInput, _ channel: ChannelInfo, in db: Database, _ outcome: inout ReleaseOutcome
  ) throws(StoreError) {
    guard let carryOver = request.prefetch else { return }
    try outcome.follow(
      carryOver, in: channel, at: outcome.version, by: PrefetchReconciler(request), to: request.rollout,
      now: clock(), in: db)
  }

  /// Refuses a frozen channel before the bytes are written to the disk; the transaction checks it again.
  func checkFreeze(of channel: ChannelInfo, _ request: ReleaseInput) throws(StoreError) {
    if request.act == .halt { return }
    try checkFreeze(of: channel, breakGlass: request.breakGlass)
  }

  /// Refuses a frozen channel, unless there is a reason to override the freeze.
  package func checkFreeze(of channel: ChannelInfo, breakGlass: String?) throws(StoreError) {
    guard breakGlass == nil else { return }
    let freeze = try connections.reading { (db) throws(StoreError) in
      try db.freeze(of: channel.id, at: clock())
    }
    if let freeze { throw .frozen(channel.app, channel.name, freeze) }
  }
}
