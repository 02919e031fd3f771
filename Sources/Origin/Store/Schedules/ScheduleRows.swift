import Manifests
import System

extension Database {
  func insert(_ request: ScheduleInput, in channel: Int64, now: Int64) throws(StoreError) -> Int64 {
    try run(
      """
      INSERT INTO scheduled_act
        (channel_id, act, summary, due_at, created_at, token_id, author, address, route, request, state, awaits,
         overrides_freezes, is_gated, approvals, author_key)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?, ?, ?, ?)
      """, channel, request.act, request.summary, request.due, now, request.token, request.actor.name,
      request.actor.address, request.route, request.request, request.awaited.isEmpty ? nil : "signatures",
      request.obeysFreezes ? 0 : 1, request.isGated ? 1 : 0,
      request.isGated ? try protection(of: channel)?.required(of: request.act, request.request) ?? 0 : 0,
      request.author ?? "token:\(request.token)")
    let id = lastRowID
    try insert(request.awaited, awaitedBy: id, in: channel)
    return id
  }

  /// Returns an act that lacks approvals, if the same person asks for the same once more: one that is due at once.
  func unapprovedAct(equalTo request: ScheduleInput, in channel: Int64, now: Int64) throws(StoreError)
    -> ScheduledAct?
  {
    guard request.isGated, request.due <= now, request.awaited.isEmpty else { return nil }
    let id = try value(
      Int64.self,
      """
      SELECT id FROM scheduled_act
      WHERE channel_id = ? AND state = 'waiting' AND is_gated = 1 AND awaits IS NULL AND due_at <= ? AND author_key = ?
        AND route = ? AND request = ? ORDER BY id LIMIT 1
      """, channel, now, request.author ?? "token:\(request.token)", request.route, request.request)
    guard let id, let act = try scheduledAct(id), act.awaitsApprovals else { return nil }
    return act
  }

  /// Keeps what an act needs from gc. Bytes that no release has yet get their rows here, once they are durable under `blobs/`.
  func hold(_ request: ScheduleInput, for id: Int64, persisted blobs: BlobStore, now: Int64)
    throws(StoreError)
  {
    for sha256 in Set(request.contents.map(\.content.sha256)).sorted() {
      let row = try BlobRow.find(sha256, in: self)
      if row == nil || row?.isQuarantined == true {
        guard let digest = blobs.persisted(sha256) else { throw .missingBlobs([sha256]) }
        if row == nil {
          _ = try BlobRow.insert(digest, now: now, in: self)
        } else {
          try BlobRow.markWhole(sha256, at: now, in: self)
        }
      }
      try run("INSERT INTO scheduled_blob (act_id, sha256) VALUES (?, ?)", id, sha256)
    }
    for (channel, version) in request.versions where version != .none {
      guard try ReleaseRow.find(version, of: channel, in: self) != nil else {
        throw .unknownVersion(version)
      }
      try run(
        "INSERT OR IGNORE INTO scheduled_version (act_id, channel_id, version) VALUES (?, ?, ?)", id, channel,
        version.number)
    }
  }

  func isWaiting(_ id: Int64) throws(StoreError) -> Bool {
    try value(Int64.self, "SELECT 1 FROM scheduled_act WHERE id = ? AND state = 'waiting'", id) != nil
  }

  func waitingActs(of channel: Int64) throws(StoreError) -> Int {
    try value(
      Int.self, "SELECT count(*) FROM scheduled_act WHERE channel_id = ? AND state = 'waiting'", channel) ?? 0
  }

  /// Ends an act, and lets go of what it needed.
  func end(
    _ id: Int64, _ state: ScheduledAct.State, at now: Int64, by author: String,
    version: ManifestVersion? = nil, code: String? = nil, reason: String? = nil
  ) throws(StoreError) {
    try run(
      """
      UPDATE scheduled_act SET state = ?, ended_at = ?, ended_by = ?, version = ?, code = ?, reason = ?, request = x''
      WHERE id = ? AND state = 'waiting'
      """, state.rawValue, now, author, version?.number, code, reason, id)
    try run("DELETE FROM scheduled_blob WHERE act_id = ?", id)
    try run("DELETE FROM scheduled_version WHERE act_id = ?", id)
    try run("DELETE FROM scheduled_statement WHERE act_id = ?", id)
  }

  /// Cancels all acts of a channel that wait.
  func cancelSchedules(of channel: ChannelInfo, by actor: Actor, now: Int64) throws(StoreError) {
    for act in try scheduledActs(of: channel.id, ended: 0) {
      try end(act.id, .cancelled, at: now, by: actor.name)
      try audit(act.cancellation(), by: actor, now: now)
    }
  }

  /// Deletes the oldest ended acts of a channel; the audit trail has them.
  func forgetEndedActs(of channel: Int64) throws(StoreError) {
    try run(
      """
      DELETE FROM scheduled_act WHERE id IN (
        SELECT id FROM scheduled_act WHERE channel_id = ? AND state <> 'waiting' ORDER BY ended_at DESC, id DESC
        LIMIT -1 OFFSET ?)
      """, channel, ScheduleLimits.ended)
  }

  /// The ids and lanes of the acts that are due, in the order in which they are carried out. Steps of a rollout are left out while a
  /// release of the channel that was due before them waits, since it may end that rollout; but for halts. What waits for signatures or
  /// approvals is due when it has waited for too long.
  func dueActs(at now: Int64) throws(StoreError) -> [(id: Int64, lane: ScheduleLane)] {
    let all = try all(
      """
      SELECT s.id, s.channel_id, s.act,
        s.is_gated = 1 AND max(s.approvals, coalesce(c.approvals, 0)) > 0 AND s.due_at > ?3
      FROM scheduled_act AS s JOIN channel AS c ON c.id = s.channel_id
      WHERE s.state = 'waiting' AND s.due_at <= ?1 AND (s.awaits IS NULL OR s.due_at <= ?2) ORDER BY s.due_at, s.id
      """, now, now - ScheduleLimits.awaitingSignatures, now - ScheduleLimits.awaitingApprovals
    ) {
      (
        id: $0.get(0, as: Int64.self), channel: $0.get(1, as: Int64.self), act: $0.get(2, as: String.self),
        mayLackApprovals: $0.get(3, as: Int.self) != 0
      )
    }
    var releasing: Set<Int64> = []
    var due: [(id: Int64, lane: ScheduleLane)] = []
    for act in all {
      if act.mayLackApprovals, try (approvalStanding(of: act.id)?.missing ?? 0) > 0 { continue }
      let lane = ScheduleLane(channel: act.channel, ScheduleLane.Kind(act.act))
      if lane.kind == .releases { releasing.insert(act.channel) }
      if lane.kind == .steps, act.act != "rollout.halt", releasing.contains(act.channel) { continue }
      due.append((act.id, lane))
    }
    return due
  }

  /// All acts that wait, in the order in which they are due.
  func waitingActs() throws(StoreError) -> [ScheduledAct] {
    let ids = try all("SELECT id FROM scheduled_act WHERE state = 'waiting' ORDER BY due_at, id") {
      $0.get(0, as: Int64.self)
    }
    var acts: [ScheduledAct] = []
    for id in ids { if let act = try scheduledAct(id) { acts.append(act) } }
    return acts
  }

  func dueAct(_ id: Int64) throws(StoreError) -> DueAct? {
    guard let act = try scheduledAct(id) else { return nil }
    return try first("SELECT route, request FROM scheduled_act WHERE id = ? AND state = 'waiting'", id) {
      DueAct(act: act, route: $0.get(0), request: $0.get(1))
    }
  }

  func scheduledAct(_ id: Int64, of channel: Int64? = nil) throws(StoreError) -> ScheduledAct? {
    try first(
      """
      SELECT s.id, a.name, c.name, s.act, s.summary, s.due_at, s.created_at, s.token_id, s.author, s.address, s.state,
        s.ended_at, s.ended_by, s.version, s.code, s.reason, s.channel_id,
        s.awaits IS NOT NULL AND s.state = 'waiting', coalesce(s.author_key, 'token:' || s.token_id)
      FROM scheduled_act AS s JOIN channel AS c ON c.id = s.channel_id JOIN app AS a ON a.id = c.app_id
      WHERE s.id = ?1 AND (?2 IS NULL OR s.channel_id = ?2)
      """, id, channel
    ) { (row) throws(StoreError) in
      let awaits = row.get(17, as: Int.self) != 0
      var act = try ScheduledAct(row, awaited: awaits ? self.awaited(by: id, in: row.get(16)) : nil)
      act.approvals = try approvalStanding(of: id)
      act.authorKey = row.get(18)
      return act
    }
  }

  func scheduledActs(of channel: Int64, ended limit: Int) throws(StoreError) -> [ScheduledAct] {
    let waiting = try all(
      "SELECT id FROM scheduled_act WHERE channel_id = ? AND state = 'waiting' ORDER BY due_at, id", channel
    ) { $0.get(0, as: Int64.self) }
    let ended = try all(
      """
      SELECT id FROM scheduled_act WHERE channel_id = ? AND state <> 'waiting' ORDER BY ended_at DESC, id DESC LIMIT ?
      """, channel, limit
    ) { $0.get(0, as: Int64.self) }
    var acts: [ScheduledAct] = []
    for id in waiting + ended {
      if let act = try scheduledAct(id, of: channel) { acts.append(act) }
    }
    return acts
  }
}

extension ScheduledAct {
  /// - Parameter awaited: nil if it doesn't wait for signatures; a statement that can't be read is nil.
  fileprivate init(_ row: Statement, awaited: [AwaitedStatement?]?) throws(StoreError) {
    let word: String = row.get(10)
    guard let state = State(rawValue: word) else { throw .corruptRow(word) }
    var end: End?
    if !row.isNull(11) {
      end = End(
        at: row.get(11), by: row.get(12),
        version: row.get(13, as: Int64?.self).map { ManifestVersion($0) })
    }
    var (code, reason): (String?, String?) = (row.get(14), row.get(15))
    if let awaited, awaited.isEmpty || awaited.contains(where: { $0 == nil }) {
      code = ScheduledAct.damaged
      reason = "what is to be signed of it can't be read from the database: cancel it, and publish it again"
    }
    self.init(
      id: row.get(0), app: try Stored.app(row.get(1)), channel: try Stored.channel(row.get(2)),
      act: row.get(3), summary: row.get(4), due: row.get(5), at: row.get(6), token: row.get(7),
      author: row.get(8), address: row.get(9), state: state, end: end, code: code, reason: reason,
      awaitsSignatures: awaited != nil, awaited: (awaited ?? []).compactMap(\.self),
      unpushedAt: row.isNull(11) ? row.get(13, as: Int64?.self).map { ManifestVersion($0) } : nil)
  }
}
