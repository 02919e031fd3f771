import Manifests
import System
import Values

extension Store {
  /// Records an act that is to be carried out later, and keeps what it needs from gc until it has ended.
  /// - Parameters:
  ///   - request: the act.
  ///   - record: keeps the answer for retries.
  /// - Throws: `unknownApp`, `unknownChannel`, `missingBlobs`, `unknownVersion`, `tooManySchedules`; `frozen` for a freeze that is
  ///   planned for that time.
  package func schedule(_ request: ScheduleInput, record: AnswerRecord<ScheduledAct>? = nil)
    throws(StoreError) -> ScheduledAct
  {
    let survey = try blobs.survey(request.contents)
    defer { blobs.releaseReservations(request.contents.lazy.map(\.content.sha256)) }
    guard survey.missing.isEmpty else { throw .missingBlobs(survey.missing) }
    try blobs.persist(survey.waiting)
    let act = try connections.transaction(keeping: record, now: clock(), isUrgent: request.contents.isEmpty) {
      (db) throws(StoreError) in
      let now = clock()
      let channel = try db.required(request.app, request.channel)
      if request.obeysFreezes, let freeze = try db.plannedFreeze(of: channel.id, at: request.due) {
        throw .frozen(channel.app, channel.name, freeze)
      }
      // Only what waits for approvals is due at once. With signatures missing, a freeze may be over by the last one.
      if request.obeysFreezes, request.due <= now, request.awaited.isEmpty,
        let freeze = try db.freeze(of: channel.id, at: now)
      {
        throw .frozen(channel.app, channel.name, freeze)
      }
      // Asked for twice, it needn't be approved twice.
      if let act = try db.unapprovedAct(equalTo: request, in: channel.id, now: now) { return act }
      guard try db.waitingActs(of: channel.id) < ScheduleLimits.waiting else {
        throw .tooManySchedules(channel.app, channel.name)
      }
      let id = try db.insert(request, in: channel.id, now: now)
      try db.hold(request, for: id, persisted: blobs, now: now)
      try db.forgetEndedActs(of: channel.id)
      guard let act = try db.scheduledAct(id, of: channel.id) else {
        throw .corruptRow("scheduled act \(id)")
      }
      try db.requireCompletable(act, in: channel)
      var result = JSONObject()
      if act.awaitsApprovals { result["approvals"] = .integer(act.approvals?.missing ?? 0) }
      result["schedule"] = .integer(id)
      let event = AuditEvent(
        "schedule.add", app: channel.app, channel: channel.name,
        parameters: [
          "act": .string(act.act), "due": .string(Timestamp.text(act.due)), "summary": .string(act.summary),
        ],
        result: .object(result))
      try db.audit(event, by: request.actor, now: now)
      return act
    }
    blobs.forgetPersisted(survey.waiting)
    return act
  }

  /// Cancels a scheduled act that waits.
  /// - Throws: `unknownSchedule`; `scheduleOver` if it doesn't wait any more.
  package func cancelSchedule(
    _ id: Int64, of app: AppName, _ name: ChannelName, by actor: Actor,
    record: AnswerRecord<ScheduledAct>? = nil
  ) throws(StoreError) -> ScheduledAct {
    try connections.transaction(keeping: record, now: clock(), goesFirst: true) { (db) throws(StoreError) in
      let channel = try db.required(app, name)
      guard let act = try db.scheduledAct(id, of: channel.id) else { throw .unknownSchedule(app, name, id) }
      guard act.state == .waiting else { throw .scheduleOver(act) }
      let now = clock()
      try db.end(id, .cancelled, at: now, by: actor.name)
      try db.audit(act.cancellation(), by: actor, now: now)
      guard let ended = try db.scheduledAct(id, of: channel.id) else { throw .unknownSchedule(app, name, id) }
      return ended
    }
  }

  /// The scheduled acts of a channel: those that wait in the order in which they are due, then the newest `limit` others by their ends.
  package func scheduledActs(of channel: ChannelInfo, ended limit: Int = ScheduleLimits.ended)
    throws(StoreError) -> [ScheduledAct]
  {
    try connections.reading { (db) throws(StoreError) in
      try db.scheduledActs(of: channel.id, ended: max(0, limit))
    }
  }

  /// The scheduled acts of all channels that wait, in the order in which they are due.
  package func waitingActs() throws(StoreError) -> [ScheduledAct] {
    try connections.reading { (db) throws(StoreError) in try db.waitingActs() }
  }

  /// The steps of rollouts that wait for a time to come, or may wait for approvals, with what is carried out then.
  package func waitingSteps() throws(StoreError) -> [DueAct] {
    try connections.reading { (db) throws(StoreError) in
      let ids = try db.all(
        "SELECT id FROM scheduled_act WHERE state = 'waiting' AND act LIKE 'rollout.%' AND (due_at > ? OR is_gated = 1)",
        clock()
      ) { $0.get(0, as: Int64.self) }
      var steps: [DueAct] = []
      for id in ids { if let step = try db.dueAct(id) { steps.append(step) } }
      return steps
    }
  }

  /// One scheduled act of a channel.
  /// - Throws: `unknownSchedule`.
  package func scheduledAct(_ id: Int64, of channel: ChannelInfo) throws(StoreError) -> ScheduledAct {
    let act = try connections.reading { (db) throws(StoreError) in
      try db.scheduledAct(id, of: channel.id)
    }
    guard let act else { throw .unknownSchedule(channel.app, channel.name, id) }
    return act
  }

  /// The next scheduled act that is due, in the order of their times, then in that in which they were scheduled; nil if none is.
  /// - Parameters:
  ///   - lane: the only lane; nil: all.
  ///   - postponed: the ids of acts that are left out.
  package func dueAct(in lane: ScheduleLane? = nil, without postponed: Set<Int64> = []) throws(StoreError)
    -> DueAct?
  {
    try connections.reading { (db) throws(StoreError) in
      let next = try db.dueActs(at: clock()).first {
        !postponed.contains($0.id) && (lane == nil || lane == $0.lane)
      }
      guard let next else { return nil }
      return try db.dueAct(next.id)
    }
  }

  /// The lanes of the scheduled acts that are due, the longest due first, each once.
  /// - Parameter postponed: the ids of acts that are left out.
  package func dueLanes(without postponed: Set<Int64> = []) throws(StoreError) -> [ScheduleLane] {
    let due = try connections.reading { (db) throws(StoreError) in try db.dueActs(at: clock()) }
    var known: Set<ScheduleLane> = []
    return due.filter { !postponed.contains($0.id) }.map(\.lane).filter { known.insert($0).inserted }
  }

  /// The token with this id, if what it scheduled is still carried out.
  package func tokenInUse(id: String) throws(StoreError) -> AccessToken? {
    let kept = try connections.reading { (db) throws(StoreError) in try db.token(id)?.token }
    return kept.flatMap { $0.carriesOutSchedules(at: clock()) ? $0 : nil }
  }

  /// Ends a scheduled act that isn't ended by its own transaction: it had nothing to do, was refused, or is too late.
  /// - Returns: whether it waited.
  @discardableResult
  package func endSchedule(
    _ act: ScheduledAct, as state: ScheduledAct.State, version: ManifestVersion? = nil, code: String? = nil,
    reason: String? = nil
  ) throws(StoreError) -> Bool {
    try connections.urgently { (db) throws(StoreError) in
      try db.write { () throws(StoreError) in
        guard try db.isWaiting(act.id) else { return false }
        let now = clock()
        try db.end(act.id, state, at: now, by: act.author, version: version, code: code, reason: reason)
        try db.audit(
          act.event(state, version: version, code: code, reason: reason),
          by: Actor(name: act.author, address: act.address), now: now)
        return true
      }
    }
  }

  /// Notes why an act that is due couldn't be carried out yet.
  /// - Parameter isUnpushed: whether its files couldn't be pushed: then a release that is made meanwhile takes its place.
  package func noteSchedule(_ act: ScheduledAct, code: String, reason: String, isUnpushed: Bool)
    throws(StoreError)
  {
    try connections.urgently { (db) throws(StoreError) in
      try db.write { () throws(StoreError) in
        let version = isUnpushed ? try db.required(act.app, act.channel).version.number : nil
        try db.run(
          """
          UPDATE scheduled_act SET code = ?, reason = ?, version = coalesce(version, ?)
          WHERE id = ? AND state = 'waiting'
          """, code, reason, version, act.id)
      }
    }
  }
}

extension ScheduledAct {
  /// The audit trail's record of its being cancelled.
  func cancellation(because reason: String? = nil) -> AuditEvent {
    var result = JSONObject()
    (result["act"], result["due"]) = (.string(act), .string(Timestamp.text(due)))
    result["summary"] = .string(summary)
    if let reason { result["reason"] = .string(reason) }
    return AuditEvent(
      "schedule.cancel", app: app, channel: channel, parameters: ["schedule": .integer(id)],
      result: .object(result))
  }

  /// The audit trail's record of its end.
  fileprivate func event(_ state: State, version: ManifestVersion?, code: String?, reason: String?)
    -> AuditEvent
  {
    var result = JSONObject()
    result["state"] = .string(state.rawValue)
    if let version { result["version"] = .string(version.text) }
    if let code { result["code"] = .string(code) }
    if let reason { result["reason"] = .string(reason) }
    return AuditEvent(
      state == .done ? "schedule.run" : "schedule.fail", app: app, channel: channel,
      parameters: [
        "act": .string(act), "due": .string(Timestamp.text(due)), "schedule": .integer(id),
        "summary": .string(summary),
      ], result: .object(result))
  }
}

extension Database {
  /// Begins to carry out a scheduled act, in the act's own transaction.
  /// - Throws: `alreadyDone` if it doesn't wait any more, `tokenEnded` if its token was revoked or, unless it is a session or a job, has
  ///   expired.
  func begin(_ run: ScheduledRun, now: Int64) throws(StoreError) {
    guard try isWaiting(run.id) else { throw .alreadyDone }
    guard let token = try token(run.token.id)?.token, token.carriesOutSchedules(at: now) else {
      throw .tokenEnded(run.token.name)
    }
    // Approvals may be missing again since it was found to be due: the channel takes more, or an approver's token was revoked.
    if let act = try scheduledAct(run.id), let standing = act.approvals, standing.missing > 0 {
      throw .needsApproval(act.app, act.channel, required: standing.required)
    }
  }

  /// Writes the end of a scheduled act, in the transaction in which it was carried out.
  func finish(_ run: ScheduledRun, _ answer: StoredAnswer, now: Int64) throws(StoreError) {
    guard let act = try scheduledAct(run.id) else { throw .alreadyDone }
    let body = try? JSONValue.parse(answer.body)
    // Documents have numbers of their own.
    let isDocument = ["policy.", "prefetch."].contains { act.act.hasPrefix($0) }
    let version =
      isDocument
      ? nil
      : (body?["version"] ?? body?["rollout"]?["version"])?.string.flatMap { ManifestVersion(text: $0) }
    try end(run.id, .done, at: now, by: run.token.name, version: version)
    try audit(
      act.event(.done, version: version, code: nil, reason: nil),
      by: Actor(name: run.token.name, address: act.address), now: now)
  }
}
