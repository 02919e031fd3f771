import Manifests
import System
import Values

/// A request to change the open rollout of a channel.
package struct RolloutInput: Sendable {
  /// What to change.
  package enum Change: Hashable, Sendable {
    /// Whom it goes to; what is nil stays as it is. `.some(nil)` as the range is all apps.
    case audience(share: Int?, groups: [String]?, app: AppVersionRange??)
    /// Nobody new is let in.
    case pause
    case resume
    /// The candidate becomes the full version.
    case complete

    /// The act's name in the audit trail.
    var name: String {
      switch self {
      case .audience: "rollout.set"
      case .pause: "rollout.pause"
      case .resume: "rollout.resume"
      case .complete: "rollout.complete"
      }
    }
  }

  /// The channel's app.
  package let app: AppName
  /// The channel.
  package let channel: ChannelName
  /// What to change.
  package let change: Change
  /// Who changes it.
  package let actor: Actor
  /// The candidate that the request is about; nil: whichever is open.
  package var candidate: ManifestVersion?
  /// The reason for letting more devices in although the channel is frozen.
  package var breakGlass: String?
  /// What it is to do by itself from now on; only with an audience.
  package var course: RolloutCourse?
  /// When the change was scheduled, in milliseconds since 1970; nil for one that is made at once. Whoever scheduled it didn't know of an
  /// alarm since.
  package var scheduledAt: Int64?
  /// The numbers of the alarm that pauses it; nil if a person changes it.
  package var alarm: JSONValue?
  /// The rollout that the change was decided for, and what that did by itself: it isn't made if the rollout is another one by then, or
  /// one of them has changed.
  package var ifIs: (rollout: Rollout, plan: RolloutPlan)?

  /// Creates a request about whichever rollout is open.
  package init(app: AppName, channel: ChannelName, _ change: Change, by actor: Actor) {
    self.app = app
    self.channel = channel
    self.change = change
    self.actor = actor
  }
}

/// What a request did to a rollout.
package struct RolloutOutcome: Sendable {
  /// The channel afterwards.
  package let channel: ChannelInfo
  /// The rollout before.
  package let before: Rollout
  /// The rollout afterwards.
  package let after: Rollout
  /// The row of the audit trail; nil if nothing was changed.
  package let receipt: AuditHead?
  /// The channel's other documents, if the act changed them.
  package var extras: ChannelExtras?
  /// Whether an alarm pauses the rollout from now on; nil if the act doesn't change that.
  package var pausesItself: Bool?

  /// Whether anything was changed.
  package var isChanged: Bool { receipt != nil }
}

extension Store {
  /// The newest rollouts of a channel, newest first; the first one may be open.
  package func rollouts(of channel: ChannelInfo, limit: Int = 50) throws(StoreError) -> [Rollout] {
    try connections.reading { (db) throws(StoreError) in
      try db.rollouts(of: channel.id, limit: max(0, limit))
    }
  }

  /// The rollout whose candidate a version is, or was; nil if it went to all devices at once.
  package func rollout(of version: ManifestVersion, in channel: ChannelInfo) throws(StoreError) -> Rollout? {
    try connections.reading { (db) throws(StoreError) in try db.rollout(of: version, in: channel.id) }
  }

  /// The bundles that hold something else in the open candidate than in the full version; none if no rollout is open.
  package func candidateBundles(of channel: ChannelInfo) throws(StoreError) -> [BundleName] {
    guard let rollout = channel.rollout else { return [] }
    return try connections.reading { (db) throws(StoreError) in
      try db.bundles(of: rollout, in: channel.id).map(\.name)
    }
  }

  /// The bundles of a channel as most devices have them, sorted by name: beside an open rollout, those of the full version.
  package func fullBundles(of channel: ChannelInfo) throws(StoreError) -> [BundleInfo] {
    try connections.reading { (db) throws(StoreError) in
      channel.rollout == nil
        ? try db.bundles(of: channel.id)
        : try db.bundles(of: channel.id, atFull: channel.full.version)
    }
  }

  /// Changes the open rollout of a channel, or completes it: its candidate becomes the full version, under the same number.
  /// - Parameters:
  ///   - request: the change.
  ///   - committed: called after the commit, before anything else can be written, with the channel afterwards, and
  ///     with its other documents if they changed.
  ///   - record: keeps the answer for retries.
  /// - Throws: `noRollout`, `otherRollout`, `alarmed`; `frozen`, except for a pause.
  package func changeRollout(
    _ request: RolloutInput, committed: (ChannelInfo, ChannelExtras?) -> Void = { _, _ in },
    record: AnswerRecord<RolloutOutcome>? = nil
  ) throws(StoreError) -> RolloutOutcome {
    try connections.transaction(
      keeping: record, now: clock(), goesFirst: request.change == .pause,
      then: { if $0.isChanged { committed($0.channel, $0.extras) } }
    ) { (db) throws(StoreError) in
      let (channel, rollout) = try db.openRollout(request.app, request.channel, request.candidate)
      let now = clock()
      let after = request.changed(rollout, now: now)
      let plan = try db.plan(of: rollout.seed, in: channel.id)
      if let at = request.scheduledAt, request.change == .resume || request.change == .complete,
        plan.isAlarmed,
        let alarm = plan.alarmedAt, alarm >= at
      {
        throw .alarmed(channel.app, channel.name, rollout.candidate, at: alarm, isScheduled: true)
      }
      let course = plan.with(request.course)
      guard request.mayChange(rollout, plan),
        after.audience != rollout.audience || after.isPaused != rollout.isPaused || after.state != .open
          || course != plan
      else {
        return RolloutOutcome(channel: channel, before: rollout, after: rollout, receipt: nil)
      }
      if request.change != .pause, request.breakGlass == nil,
        let freeze = try db.freeze(of: channel.id, at: now)
      {
        throw .frozen(channel.app, channel.name, freeze)
      }
      // What it does by itself was approved with the release, or with the ramp.
      if request.ifIs == nil,
        let reach = RolloutOutcome.reach(
          of: request.change, request.course, from: rollout, to: after, ramp: plan.ramp)
      {
        try db.requireApproval(in: channel, for: record, reach: reach)
      }
      if request.change == .complete {
        let completed = try db.complete(
          channel, by: request.actor, breakGlass: request.breakGlass, now: now)
        try renewHead(after: completed.channel, in: db)
        return RolloutOutcome(
          channel: completed.channel, before: rollout, after: completed.change.ended ?? after,
          receipt: completed.receipt, extras: completed.extras)
      }
      try db.update(after, of: channel.id)
      let next = try db.plan(
        course, after: plan, from: rollout, to: after, isAlarm: request.alarm != nil, channel, now: now)
      if next != plan { try db.keep(next, of: rollout.seed, in: channel.id) }
      var parameters = JSONObject()
      parameters["breakGlass"] = request.breakGlass.map { .string($0) } ?? .null
      if let alarm = request.alarm { parameters["evidence"] = alarm }
      var result = JSONObject()
      (result["is"], result["was"]) = (after.terms, rollout.terms)
      result["version"] = .string(rollout.candidate.text)
      if course != plan || next.pausesItself != plan.pausesItself { result["course"] = next.terms }
      let receipt = try db.audit(
        AuditEvent(
          request.change.name, app: channel.app, channel: channel.name, parameters: .object(parameters),
          result: .object(result)),
        by: request.actor, now: now)
      try renewHead(after: channel, in: db)
      return RolloutOutcome(
        channel: channel.with(after), before: rollout, after: after, receipt: receipt,
        pausesItself: next.pausesItself == plan.pausesItself ? nil : next.pausesItself)
    }
  }

  /// Halts the open rollout of a channel: the content of the full version is released again, as a rollback, so that those who have
  /// the candidate go back. A freeze doesn't keep it.
  /// - Parameters:
  ///   - candidate: the candidate that it is about; nil: whichever is open.
  ///   - actor: who halts it.
  ///   - reason: why.
  ///   - ifIs: as in `RolloutInput`; nil if a person halts it.
  ///   - digest: as in `commit`.
  ///   - committed: as in `commit`.
  ///   - record: keeps the answer for retries.
  /// - Throws: `noRollout`, `otherRollout`.
  package func haltRollout(
    _ app: AppName, _ name: ChannelName, _ candidate: ManifestVersion?, by actor: Actor, reason: String,
    ifIs: (rollout: Rollout, plan: RolloutPlan)? = nil,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)? = nil,
    committed: (ReleaseOutcome) -> Void = { _ in }, record: AnswerRecord<ReleaseOutcome>? = nil
  ) throws(StoreError) -> ReleaseOutcome {
    try connections.transaction(
      keeping: record, now: clock(), goesFirst: true, then: { committed($0) }
    ) { (db) throws(StoreError) in
      let (channel, rollout) = try db.openRollout(app, name, candidate)
      if let ifIs {
        let plan = try db.plan(of: rollout.seed, in: channel.id)
        guard ifIs.rollout == rollout, plan.agrees(with: ifIs.plan) else {
          throw .otherRollout(wanted: rollout.candidate, known: rollout, open: rollout)
        }
      }
      let bundles = try db.bundles(of: rollout, in: channel.id)
      var input = ReleaseInput(
        app: app, channel: name, author: actor.name, message: reason,
        bundles: bundles.map { BundleChange($0.name, .update(base: rollout.full, set: [:], remove: [])) })
      input.address = actor.address
      input.source = ReleaseSource(channel: channel, version: rollout.full, bundle: nil)
      input.act = .halt
      var outcome = try write(
        try ReleasePlanner.plan(input, in: db), of: input, in: db, digest: digest)
      outcome.headProblem = try renewHead(after: outcome.channel, in: db)
      return outcome
    }
  }
}

extension Database {
  /// A channel and its open rollout.
  /// - Throws: `noRollout`; `otherRollout` if it isn't that of the wanted candidate.
  fileprivate func openRollout(_ app: AppName, _ name: ChannelName, _ wanted: ManifestVersion?)
    throws(StoreError) -> (ChannelInfo, Rollout)
  {
    let channel = try required(app, name)
    guard let rollout = channel.rollout else {
      throw .noRollout(app, name, last: try rollouts(of: channel.id, limit: 1).first)
    }
    if let wanted, wanted != rollout.candidate {
      throw .otherRollout(wanted: wanted, known: try self.rollout(of: wanted, in: channel.id), open: rollout)
    }
    return (channel, rollout)
  }
}

extension Database {
  /// Refuses a release that has the content of a candidate that an alarm has paused: it would give it to all devices.
  func checkAlarm(of channel: ChannelInfo) throws(StoreError) {
    guard let rollout = channel.rollout else { return }
    let plan = try plan(of: rollout.seed, in: channel.id)
    if plan.isAlarmed, let alarm = plan.alarmedAt {
      throw .alarmed(channel.app, channel.name, rollout.candidate, at: alarm, isScheduled: false)
    }
  }

  /// What a rollout does by itself after a change of it.
  fileprivate func plan(
    _ course: RolloutPlan, after before: RolloutPlan, from rollout: Rollout, to after: Rollout, isAlarm: Bool,
    _ channel: ChannelInfo, now: Int64
  ) throws(StoreError) -> RolloutPlan {
    var plan = course
    if isAlarm { plan.alarmedAt = now }
    let isResumed = rollout.isPaused && !after.isPaused
    if isResumed, plan.isAlarmed {
      plan.pausesItself = false
      plan.firstHour = now / 3_600_000 + 1
    }
    if isResumed || after.audience != rollout.audience {
      plan.steppedAt = now
      plan.begin(try evidence(of: rollout.seed, in: channel.id, from: plan.firstHour, cap: plan.cap))
    } else if plan.cap != before.cap, let steppedAt = plan.steppedAt {
      // What counted before the step by the new cap. The hour in which it began can't be divided: none of it counts for the step.
      plan.begin(
        try evidence(
          of: rollout.seed, in: channel.id, from: plan.firstHour, to: steppedAt / 3_600_000 + 1,
          cap: plan.cap))
    }
    return plan
  }
}

extension RolloutPlan {
  /// A step begins after this evidence.
  fileprivate mutating func begin(_ evidence: RolloutEvidence) {
    steppedCandidate = evidence.sums(.candidate).opened
    steppedControl = evidence.sums(.control).opened
  }

  /// What it does by itself, for the audit trail, in the words of the command line.
  var terms: JSONValue {
    var members = JSONObject()
    (members["autoHalt"], members["pausesItself"]) = (.bool(haltsItself), .bool(pausesItself))
    if cap != .standard { members["networkCap"] = .integer(cap.share) }
    if let ramp {
      members["atLeast"] = .integer(ramp.ramp.atLeast / 1000)
      members["each"] = .integer(ramp.ramp.each)
      members["ramp"] = .strings(
        ramp.ramp.steps.map { ShareText.option($0) } + (ramp.completes ? ["complete"] : []))
    }
    return .object(members)
  }
}

extension RolloutInput {
  /// Whether the rollout is still the one that the change was decided for.
  fileprivate func mayChange(_ rollout: Rollout, _ plan: RolloutPlan) -> Bool {
    if let ifIs, ifIs.rollout != rollout || !plan.agrees(with: ifIs.plan) { return false }
    return alarm == nil || plan.pausesItself
  }

  /// The rollout as it is to be.
  func changed(_ rollout: Rollout, now: Int64) -> Rollout {
    switch change {
    case .audience(let share, let groups, let app):
      let before = rollout.audience
      let audience = RolloutAudience(
        share: share ?? before.share, groups: groups ?? before.groups, app: app ?? before.app)
      return rollout.with(audience: audience, at: now, by: actor.name)
    case .pause: return rollout.with(isPaused: true, at: now, by: actor.name)
    case .resume: return rollout.with(isPaused: false, at: now, by: actor.name)
    case .complete: return rollout.with(state: .completed, at: now, by: actor.name)
    }
  }
}

extension Rollout {
  /// The rule and its pause, for the audit trail.
  fileprivate var terms: JSONValue {
    [
      "app": audience.app.map { .string($0.text) } ?? .null, "groups": .strings(audience.groups),
      "paused": .bool(isPaused), "share": .integer(audience.share),
    ]
  }
}
