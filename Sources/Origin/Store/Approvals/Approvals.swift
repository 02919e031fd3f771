import Manifests
import System
import Values

// Acts that wait until others approve them. They are scheduled acts, due at once or at their time: an act that lacks approvals isn't due.
extension Store {
  /// The acts of all channels that lack approvals or signatures, the oldest first.
  package func awaitingActs() throws(StoreError) -> [ScheduledAct] {
    try connections.reading { (db) throws(StoreError) in try db.awaitingActs() }
  }

  /// Approves an act that waits. Doing so again changes nothing, and neither does it if the act was carried out since. With the last
  /// approval, and once no signature is missing, its time counts: it is carried out then, or at once if that is over.
  ///
  /// - Parameters:
  ///   - id: the scheduled act.
  ///   - app: the app of its channel.
  ///   - name: the channel.
  ///   - caller: who approves it.
  ///   - bundles: the bundles that it changes; nil: it concerns the whole channel, or that isn't known.
  ///   - message: a remark for the audit trail; may be empty.
  ///   - actor: the same as `caller`, for the audit trail.
  ///   - record: keeps the answer for retries.
  /// - Throws: `unknownSchedule`, `scheduleOver`, `approvalNotNeeded`, `mayNotApprove`, `tokenEnded`; for the last approval also `frozen`
  ///   and `authorEnded`, where the act would be refused.
  package func approve(
    _ id: Int64, of app: AppName, _ name: ChannelName, with caller: AccessToken,
    bundles: [BundleName]? = nil, message: String = "", by actor: Actor,
    record: AnswerRecord<ScheduledAct>? = nil
  ) throws(StoreError) -> ScheduledAct {
    try connections.transaction(keeping: record, now: clock(), isUrgent: true) { (db) throws(StoreError) in
      let now = clock()
      let channel = try db.required(app, name)
      guard let act = try db.scheduledAct(id, of: channel.id) else { throw .unknownSchedule(app, name, id) }
      let isGiven = act.approvals?.given.contains { $0.isBy(caller) } ?? false
      if act.state == .done, isGiven { return act }
      try db.requireDecidable(act, with: caller, bundles: bundles, now: now)
      if isGiven { return act }
      try db.add(
        Approval(approver: caller.authorKey, token: caller.id, name: caller.name, at: now), of: id,
        message: message)
      guard let after = try db.scheduledAct(id, of: channel.id), let standing = after.approvals else {
        throw .corruptRow("scheduled act \(id)")
      }
      var parameters = JSONObject()
      if !message.isEmpty { parameters["message"] = .string(message) }
      parameters["schedule"] = .integer(id)
      let event = AuditEvent(
        "approval.give", app: app, channel: name, parameters: .object(parameters),
        result: [
          "act": .string(act.act), "author": .string(act.author), "missing": .integer(standing.missing),
          "summary": .string(act.summary),
        ])
      try db.audit(event, by: actor, now: now)
      guard standing.missing == 0, !after.awaitsSignatures else { return after }
      try db.requireCarriedOut(after, in: channel, at: now)
      try db.beginNotBefore(now, id)
      return try db.scheduledAct(id, of: channel.id) ?? after
    }
  }

  /// Rejects an act that waits, which ends it.
  /// - Parameters:
  ///   - reason: why.
  ///   - record: keeps the answer for retries.
  /// - Throws: `unknownSchedule`, `scheduleOver`, `approvalNotNeeded`, `mayNotApprove`, `tokenEnded`.
  package func reject(
    _ id: Int64, of app: AppName, _ name: ChannelName, with caller: AccessToken,
    bundles: [BundleName]? = nil, reason: String, by actor: Actor,
    record: AnswerRecord<ScheduledAct>? = nil
  ) throws(StoreError) -> ScheduledAct {
    try connections.transaction(keeping: record, now: clock(), goesFirst: true) { (db) throws(StoreError) in
      let now = clock()
      let channel = try db.required(app, name)
      guard let act = try db.scheduledAct(id, of: channel.id) else { throw .unknownSchedule(app, name, id) }
      try db.requireDecidable(act, with: caller, bundles: bundles, now: now)
      try db.end(id, .cancelled, at: now, by: actor.name, code: ScheduledAct.rejected, reason: reason)
      let event = AuditEvent(
        "approval.reject", app: app, channel: name,
        parameters: ["message": .string(reason), "schedule": .integer(id)],
        result: [
          "act": .string(act.act), "author": .string(act.author), "due": .string(Timestamp.text(act.due)),
          "summary": .string(act.summary),
        ])
      try db.audit(event, by: actor, now: now)
      return try db.scheduledAct(id, of: channel.id) ?? act
    }
  }
}

extension ScheduledAct {
  /// The code of an act that somebody rejected.
  package static let rejected = "rejected"
  /// The code of an act that was missed since it lacked approvals.
  package static let unapproved = "unapproved"

  /// Whether it lacks approvals.
  package var awaitsApprovals: Bool { state == .waiting && (approvals?.missing ?? 0) > 0 }

  /// Why someone may not approve or reject it; nil if they may, provided that they may decide over releases of the channel.
  /// - Parameter bundles: the bundles that it changes; nil: the whole channel, or that isn't known.
  package func refusal(of caller: AccessToken, bundles: [BundleName]?) -> ApprovalRefusal? {
    guard let approvals else { return nil }
    if caller.kind == .job { return .job }
    if caller.isSame(as: approvals.author, named: author) { return .author }
    if let approvers = approvals.approvers, !approvers.matches(caller.name) {
      return .notNamed(approvers, name: caller.name)
    }
    if let own = caller.bundles, !(bundles?.allSatisfy { caller.allows(bundle: $0) } ?? false) {
      return .bundles(own)
    }
    return nil
  }
}

extension Database {
  /// Refuses a decision over an act that has ended or is too old, or by someone who may not make it. The token is read again: it may have
  /// been revoked since the request was let in.
  fileprivate func requireDecidable(
    _ act: ScheduledAct, with caller: AccessToken, bundles: [BundleName]?, now: Int64
  ) throws(StoreError) {
    guard act.state == .waiting else { throw .scheduleOver(act) }
    guard let token = try token(caller.id)?.token, token.revokedAt == nil,
      token.expiresAt.map({ $0 > now }) ?? true
    else { throw .tokenEnded(caller.name) }
    guard let approvals = act.approvals, approvals.required > 0 else { throw .approvalNotNeeded(act) }
    if let refusal = act.refusal(of: caller, bundles: bundles) { throw .mayNotApprove(act, refusal) }
    // It is about to be ended as missed.
    if approvals.missing > 0, act.due <= now - ScheduleLimits.awaitingApprovals { throw .scheduleOver(act) }
  }

  /// Adds an approval, in the place of one by the same person whose token was revoked since.
  fileprivate func add(_ approval: Approval, of act: Int64, message: String) throws(StoreError) {
    try run("DELETE FROM approval WHERE act_id = ? AND approver = ?", act, approval.approver)
    try run(
      "INSERT INTO approval (act_id, approver, token_id, name, message, at) VALUES (?, ?, ?, ?, ?, ?)", act,
      approval.approver, approval.token, approval.name, message.isEmpty ? nil : message, approval.at)
  }

  /// The acts that lack approvals or signatures, the oldest first.
  func awaitingActs() throws(StoreError) -> [ScheduledAct] {
    let ids = try all(
      """
      SELECT s.id FROM scheduled_act AS s JOIN channel AS c ON c.id = s.channel_id
      WHERE s.state = 'waiting'
        AND (s.awaits IS NOT NULL OR s.is_gated = 1 AND max(s.approvals, coalesce(c.approvals, 0)) > 0)
      ORDER BY s.created_at, s.id
      """
    ) { $0.get(0, as: Int64.self) }
    var acts: [ScheduledAct] = []
    for id in ids {
      guard let act = try scheduledAct(id), act.awaitsApprovals || act.awaitsSignatures else { continue }
      acts.append(act)
    }
    return acts
  }

  /// Makes an act that has waited for approvals due now, if its time is over: it isn't late.
  func beginNotBefore(_ now: Int64, _ act: Int64) throws(StoreError) {
    try run("UPDATE scheduled_act SET due_at = max(due_at, ?) WHERE id = ?", now, act)
  }

  /// The approvals that an act takes and has; nil if it takes and has none.
  func approvalStanding(of act: Int64) throws(StoreError) -> ApprovalStanding? {
    let row = try first(
      """
      SELECT s.approvals, s.is_gated, s.author_key, s.token_id, s.state = 'waiting', s.act,
        CASE WHEN s.act = 'rollout.set' THEN s.request ELSE x'' END, coalesce(c.approvals, 0), c.approvers, c.approval_share
      FROM scheduled_act AS s JOIN channel AS c ON c.id = s.channel_id WHERE s.id = ?
      """, act
    ) { row in
      (
        asked: row.get(0, as: Int.self), isGated: row.get(1, as: Int.self) != 0,
        author: row.get(2, as: String?.self) ?? "token:\(row.get(3, as: String.self))",
        isWaiting: row.get(4, as: Int.self) != 0,
        protection: Protection(
          approvals: row.get(7), approvers: row.get(8, as: String?.self).flatMap { ApproverGlob($0) },
          share: row.get(9)), act: row.get(5, as: String.self), request: row.get(6, as: [UInt8].self)
      )
    }
    guard let row, row.isGated else { return nil }
    var required = row.asked
    if row.isWaiting, let protection = row.protection {
      required = max(required, protection.required(of: row.act, row.request))
    }
    let approvers = row.isWaiting ? row.protection?.approvers : nil
    let given = try all(
      """
      SELECT a.approver, a.token_id, a.name, a.at FROM approval AS a LEFT JOIN token AS t ON t.id = a.token_id
      WHERE a.act_id = ?1 AND (t.revoked_at IS NULL OR NOT ?2) ORDER BY a.at, a.approver
      """, act, row.isWaiting ? 1 : 0
    ) { Approval(approver: $0.get(0), token: $0.get(1), name: $0.get(2), at: $0.get(3)) }
    .filter { approvers?.matches($0.name) ?? true }
    if required == 0, given.isEmpty { return nil }
    return ApprovalStanding(
      required: required, given: given, approvers: row.protection?.approvers, author: row.author)
  }
}
