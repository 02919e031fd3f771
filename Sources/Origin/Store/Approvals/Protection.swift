import Manifests
import System
import Values

extension Store {
  /// The protection of a channel; nil if it has none.
  package func protection(of channel: ChannelInfo) throws(StoreError) -> Protection? {
    try connections.reading { (db) throws(StoreError) in try db.protection(of: channel.id) }
  }

  /// Protects a channel, in place of what protected it before. Acts that wait go on taking as many approvals as when they were asked for,
  /// or more, if the channel takes more now.
  ///
  /// - Parameters:
  ///   - protection: nil ends it.
  ///   - record: keeps the answer for retries.
  /// - Throws: `unknownApp`, `unknownChannel`.
  package func protect(
    _ app: AppName, _ name: ChannelName, _ protection: Protection?, by actor: Actor,
    record: AnswerRecord<Protection?>? = nil
  ) throws(StoreError) -> Protection? {
    try connections.transaction(keeping: record, now: clock(), isUrgent: true) { (db) throws(StoreError) in
      let now = clock()
      let channel = try db.required(app, name)
      let before = try db.protection(of: channel.id)
      let gated = try db.all(
        "SELECT id FROM scheduled_act WHERE channel_id = ? AND state = 'waiting' AND is_gated = 1", channel.id
      ) { $0.get(0, as: Int64.self) }
      var waited: [Int64] = []
      for id in gated where try (db.approvalStanding(of: id)?.missing ?? 0) > 0 { waited.append(id) }
      try db.run(
        "UPDATE channel SET approvals = ?, approvers = ?, approval_share = ? WHERE id = ?",
        protection?.approvals, protection?.approvers?.text, protection?.share ?? 0, channel.id)
      // Those that it held back until now aren't late.
      for id in waited where try (db.approvalStanding(of: id)?.missing ?? 0) == 0 {
        try db.beginNotBefore(now, id)
      }
      let event = AuditEvent(
        "channel.protect", app: app, channel: name, parameters: Protection.terms(protection),
        result: ["was": Protection.terms(before)])
      try db.audit(event, by: actor, now: now)
      return protection
    }
  }
}

extension Protection {
  /// The protection for the audit trail.
  fileprivate static func terms(_ protection: Protection?) -> JSONValue {
    var members = JSONObject()
    members["approvals"] = .integer(protection?.approvals ?? 0)
    if let approvers = protection?.approvers { members["by"] = .string(approvers.text) }
    if let share = protection?.share, share > 0 { members["share"] = .integer(share) }
    return .object(members)
  }

  /// How many approvals a scheduled act takes whose kind may take some.
  ///
  /// What a step of a rollout comes to is only known when it is taken: one that doesn't say so itself takes approvals.
  /// - Parameters:
  ///   - act: what is done, such as `rollout.set`.
  ///   - request: the body of its request; only read for `rollout.set`.
  func required(of act: String, _ request: [UInt8]) -> Int {
    if share >= RolloutRule.all, act.hasPrefix("rollout.") { return 0 }
    guard act == "rollout.set", let body = try? JSONValue.parse(request),
      let own = body["share"]?.integer, body["groups"] == nil, body["app"] == nil, body["networkCap"] == nil,
      body["autoHalt"]?.bool != false
    else { return approvals }
    let steps = (body["ramp"]?["steps"]?.array ?? []).compactMap(\.integer)
    let reach = body["ramp"]?["completes"]?.bool == true ? Int64(RolloutRule.all) : max(own, steps.max() ?? 0)
    return reach > Int64(share) ? approvals : 0
  }
}

extension RolloutInput {
  /// Whether the change could let in somebody new, as the rollout is now.
  package func letsIn(after open: Rollout) -> Bool {
    RolloutOutcome.reach(of: change, course, from: open, to: changed(open, now: open.changedAt)) != nil
  }
}

extension RolloutOutcome {
  /// The most devices, of 10,000, that a change of a rollout could let in; nil for one that lets in nobody new.
  /// - Parameter ramp: the steps that the rollout goes on by itself before the change. They count for a change by which it goes on again,
  ///   or with less care than was approved.
  static func reach(
    of change: RolloutInput.Change, _ course: RolloutCourse?, from before: Rollout, to after: Rollout,
    ramp: RolloutRamp? = nil
  ) -> Int? {
    let groups = Set(after.audience.groups)
    let goesOn = ramp.map { max(after.audience.share, $0.reach) } ?? after.audience.share
    switch change {
    case .pause: return nil
    case .complete: return RolloutRule.all
    case .resume: return groups.isEmpty ? goesOn : RolloutRule.all
    case .audience:
      let steps = course?.ramp.flatMap(\.self)
      let isNarrower =
        after.audience.share <= before.audience.share && groups.isSubset(of: before.audience.groups)
        && after.audience.app == before.audience.app
      // To end the ramp, and to have an alarm halt it, is to be more careful.
      let isCareful = course?.cap == nil && course?.haltsItself != false
      if isNarrower, steps == nil, isCareful { return nil }
      // How many devices are in a group isn't known.
      if !groups.isSubset(of: before.audience.groups) { return RolloutRule.all }
      if let steps { return max(after.audience.share, steps.reach) }
      // The ramp ends.
      if course?.ramp != nil { return after.audience.share }
      // One that stays was approved for these versions of the app, and with what keeps it from going on.
      return isCareful && after.audience.app == before.audience.app ? after.audience.share : goesOn
    }
  }
}

extension RolloutRamp {
  /// The most devices, of 10,000, that it lets in.
  fileprivate var reach: Int { completes ? RolloutRule.all : ramp.steps.max() ?? 0 }
}

extension Database {
  /// The protection of a channel; nil if it has none.
  func protection(of channel: Int64) throws(StoreError) -> Protection? {
    try first("SELECT coalesce(approvals, 0), approvers, approval_share FROM channel WHERE id = ?", channel) {
      (row) throws(StoreError) -> Protection? in
      let text = row.get(1, as: String?.self)
      let approvers = text.flatMap { ApproverGlob($0) }
      // Rather nobody than everybody.
      if text != nil, approvers == nil { throw .corruptRow("the approvers of a channel") }
      return Protection(approvals: row.get(0), approvers: approvers, share: row.get(2))
    } ?? nil
  }

  /// Refuses an act on a protected channel, in the act's own transaction, unless it carries out a scheduled one that has its approvals.
  /// - Parameters:
  ///   - record: of the act.
  ///   - reach: for a step of a rollout, the most devices, of 10,000, that it could let in; nil: all.
  /// - Throws: `needsApproval`.
  func requireApproval<Outcome>(
    in channel: ChannelInfo, for record: AnswerRecord<Outcome>?, reach: Int? = nil
  ) throws(StoreError) {
    if record?.isTrial == true { return }
    guard let protection = try protection(of: channel.id) else { return }
    if let reach, reach <= protection.share { return }
    if let run = record?.run, let standing = try approvalStanding(of: run.id), standing.missing == 0,
      standing.required >= protection.approvals
    {
      return
    }
    throw .needsApproval(channel.app, channel.name, required: protection.approvals)
  }
}
