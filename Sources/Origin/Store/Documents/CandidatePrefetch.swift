import Manifests
import System
import Values

/// What a prefetch config that was pushed for a part of the devices first did.
package struct CandidatePrefetchOutcome: Sendable {
  /// As of any change of a document.
  package let document: DocumentOutcome
  /// The channel afterwards.
  package let channel: ChannelInfo
  /// The release that made a candidate for it; nil if it joined an open rollout, or nothing changed.
  package internal(set) var release: ReleaseOutcome?
}

// Prefetch configs that go along with the candidate of a rollout (`candidate_prefetch`): only devices that are in follow them.
extension Store {
  /// Makes a prefetch config that only a part of the devices follows: along with the candidate of the open rollout, or, if none is
  /// open, with a new candidate that has the content of the full version.
  ///
  /// - Parameters:
  ///   - request: who pushes it, and why.
  ///   - audience: whom it is for; it has to be that of the open rollout, and what it says about the course has to be true of that.
  ///   - content: canonical JSON: the config array.
  ///   - ifNoRollout: refuse it if a rollout is open.
  ///   - digest: as in `commit`.
  ///   - committed: as in `commit`, if a candidate was made.
  ///   - joined: called after the commit if the config joined the open rollout.
  ///   - record: keeps the answer for retries.
  /// - Throws: `unknownApp`, `unknownChannel`, `rolloutOfFirst`, `rolloutOpen`, `otherAudience`, `otherCourse`, `foreignHosts`, `frozen`.
  package func pushCandidatePrefetch(
    _ request: DocumentRequest, to audience: RolloutAudience, _ content: [UInt8], ifNoRollout: Bool = false,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)? = nil,
    committed: (ReleaseOutcome) -> Void = { _ in },
    joined: (ChannelInfo, ChannelExtras) -> Void = { _, _ in },
    record kept: AnswerRecord<CandidatePrefetchOutcome>? = nil
  ) throws(StoreError) -> CandidatePrefetchOutcome {
    var extras: ChannelExtras?
    return try connections.transaction(
      keeping: kept, now: clock(),
      then: { outcome in
        if let release = outcome.release { committed(release) }
        if let extras { joined(outcome.channel, extras) }
      }
    ) { (db) throws(StoreError) in
      let channel = try db.required(request.app, request.channel)
      let newest = try db.newest(.prefetch, of: channel.id)
      let held = try db.candidatePrefetch(of: channel.id) ?? newest
      if let limit = request.ifVersion, let held, held.version > limit {
        return CandidatePrefetchOutcome(document: .conflict(held), channel: channel)
      }
      guard channel.full.version != .none else { throw .rolloutOfFirst }
      if let open = channel.rollout {
        if ifNoRollout { throw .rolloutOpen(channel.app, channel.name, open.candidate) }
        var wanted = audience
        wanted.course = nil
        guard open.audience == wanted else { throw .otherAudience(open) }
        // What an open rollout does by itself is no config's to change.
        let plan = try db.plan(of: open.seed, in: channel.id)
        guard plan.with(audience.course) == plan else {
          throw .otherCourse(channel.app, channel.name, open.candidate)
        }
      }
      try HostBounds(channel, token: request.author, request.hosts).check(prefetch: content)
      if content == held?.content ?? ChannelExtras.noPrefetch {
        return CandidatePrefetchOutcome(document: .unchanged(held), channel: channel)
      }
      let freeze = try db.freeze(of: channel.id, at: clock())
      if let freeze, request.breakGlass == nil { throw .frozen(request.app, request.channel, freeze) }
      try db.requireApproval(in: channel, for: kept)
      try db.sign(
        prefetch: content, in: channel, with: request.statement, isCandidate: true, by: request.author,
        now: clock())
      var release: ReleaseOutcome?
      if channel.rollout == nil {
        release = try write(
          ReleasePlan(candidateOf: channel), of: ReleaseInput(request, to: audience), in: db, digest: digest)
      }
      let now = try db.required(request.app, request.channel)
      guard let open = now.rollout else { throw .noRollout(request.app, request.channel, last: nil) }
      let made = try db.makeCandidate(
        request, content, after: held, newest, in: now, seed: open.seed, now: clock())
      let after = now.with(open.with(prefetch: made.version))
      try renewHead(after: after, in: db)
      extras = try db.extras(of: channel.id)
      if var made = release {
        made.channel = after
        made.extras = extras
        made.rollout = RolloutChange(ended: nil, open: after.rollout)
        made.receipt = try db.auditHead()
        release = made
        extras = nil
      }
      return CandidatePrefetchOutcome(
        document: .changed(made, replaced: held), channel: after, release: release)
    }
  }
}

extension ReleasePlan {
  /// A candidate with the content of the full version: what it brings is a prefetch config.
  fileprivate init(candidateOf channel: ChannelInfo) {
    self.init(channel: channel, appExists: true, bundles: [], union: [], urlIDs: [:], shared: [:])
    effect = .opens
    makesVersion = true
  }
}

extension ReleaseInput {
  fileprivate init(_ request: DocumentRequest, to audience: RolloutAudience) {
    self.init(
      app: request.app, channel: request.channel, author: request.author, message: request.message,
      bundles: [])
    address = request.address
    breakGlass = request.breakGlass
    rollout = audience
    act = .prefetch
  }
}

extension Database {
  /// The prefetch config that goes along with the candidate of the open rollout; nil if none does, or if the channel got a newer
  /// one since.
  func candidatePrefetch(of channel: Int64) throws(StoreError) -> DocumentRecord? {
    try first(
      """
      SELECT p.version, 'push', NULL, p.at, p.author, p.message, o.version, p.content, o.state
      FROM rollout AS o JOIN candidate_prefetch AS p ON p.channel_id = o.channel_id AND p.seed = o.seed
      WHERE o.channel_id = ?1 AND o.state = 'open'
        AND p.version > coalesce((SELECT max(version) FROM document WHERE channel_id = ?1 AND name = 'prefetch'), 0)
      ORDER BY p.version DESC LIMIT 1
      """, channel, read: DocumentRecord.withRollout)
  }

  /// A prefetch config that goes, or went, along with a candidate; nil if there is none of that version.
  func candidatePrefetch(of channel: Int64, at version: Int64) throws(StoreError) -> DocumentRecord? {
    try first(
      """
      SELECT version, 'push', NULL, at, author, message, candidate, content, state
      FROM candidate_prefetch_state WHERE channel_id = ? AND version = ?
      """, channel, version, read: DocumentRecord.withRollout)
  }

  /// Writes a prefetch config of the open rollout, and its row in the audit trail.
  func makeCandidate(
    _ request: DocumentRequest, _ content: [UInt8], after held: DocumentRecord?, _ newest: DocumentRecord?,
    in channel: ChannelInfo, seed: String, now: Int64
  ) throws(StoreError) -> DocumentRecord {
    let record = DocumentRecord(
      version: try nextVersion(of: .prefetch, in: channel.id), kind: request.kind, source: request.source,
      at: max(now, held?.at ?? 0, newest?.at ?? 0), author: request.author, message: request.message,
      manifestVersion: channel.version, content: content)
    try run(
      """
      INSERT INTO candidate_prefetch (channel_id, version, seed, at, author, message, content)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """, channel.id, record.version, seed, record.at, record.author, record.message,
      String(decoding: content, as: UTF8.self))
    var act = request.act(record)
    if let reason = request.breakGlass {
      var parameters = act.parameters.object ?? JSONObject()
      parameters["breakGlass"] = .string(reason)
      act.parameters = .object(parameters)
    }
    var result = act.result.object ?? JSONObject()
    result["candidate"] = .string(channel.version.text)
    result["changes"] = DocumentDifference(.prefetch, from: held, to: record).json
    act.result = .object(result)
    try audit(act, by: Actor(name: request.author, address: request.address), now: now)
    return record
  }

  /// Makes the prefetch config of a rollout that is completed the channel's.
  /// - Returns: its version; nil if none went along with the candidate.
  func completePrefetch(of rollout: Rollout, in channel: ChannelInfo, now: Int64) throws(StoreError) -> Int64?
  {
    guard let version = rollout.prefetch, let made = try candidatePrefetch(of: channel.id, at: version) else {
      return nil
    }
    // After a restore, numbers go on above those that devices may know.
    let isFree = version >= (try leastNext(.prefetch, of: channel.id))
    let record = DocumentRecord(
      version: isFree ? version : try nextVersion(of: .prefetch, in: channel.id), kind: .push, source: nil,
      at: max(now, made.at), author: made.author, message: made.message,
      manifestVersion: rollout.candidate, content: made.content)
    try run("DELETE FROM candidate_prefetch WHERE channel_id = ? AND version = ?", channel.id, version)
    try insert(record, .prefetch, of: channel.id)
    try requireSigned(prefetch: made.content, in: channel)
    return record.version
  }

  /// What carrying over a prefetch config to all devices would make of an open rollout.
  /// - Parameter change: what the release would do to it by its files.
  func forecast(_ change: RolloutChange?, overtaking prefetch: PrefetchOutcome?, in channel: ChannelInfo?)
    throws(StoreError) -> RolloutChange?
  {
    guard prefetch?.changed == true, let channel, let open = channel.rollout, open.prefetch != nil,
      change == nil || change?.open?.seed == open.seed
    else { return change }
    let isEmpty = try bundles(of: open, in: channel.id).isEmpty
    return isEmpty
      ? change.overtaken(open, isOver: true)
      : change?.open == nil ? change : change.overtaken(open, isOver: false)
  }

  /// Deletes configs of ended rollouts that nobody will look for: those of releases that are kept no more. The newest number stays, and so
  /// do those below the channel's first config, by which it is known that there was none before.
  func deleteUnneededCandidates(of channel: Int64, all: Bool = false) throws(StoreError) {
    try run(
      """
      DELETE FROM candidate_prefetch WHERE channel_id = ?1
        AND version < (SELECT max(version) FROM candidate_prefetch WHERE channel_id = ?1)
        AND version > (SELECT min(version) FROM document WHERE channel_id = ?1 AND name = 'prefetch')
        AND (?2 OR NOT EXISTS (SELECT 1 FROM rollout AS r
          WHERE r.channel_id = ?1 AND r.seed = candidate_prefetch.seed))
      """, channel, all ? 1 : 0)
  }

  /// Ends a rollout that had nothing but a prefetch config, if the channel just got a newer one: nothing is left of it.
  /// - Parameter before: the channel before that.
  /// - Returns: the channel afterwards.
  func endOvertakenRollout(of before: ChannelInfo, by actor: Actor, breakGlass: String?, now: Int64)
    throws(StoreError) -> ChannelInfo
  {
    let channel = try required(before.app, before.name)
    guard let overtaken = before.rollout?.prefetch, let open = channel.rollout, open.prefetch == nil,
      try bundles(of: open, in: channel.id).isEmpty
    else { return channel }
    return try complete(channel, by: actor, breakGlass: breakGlass, overtaken: overtaken, now: now).channel
  }
}

extension RolloutChange? {
  /// The same once the channel got a newer prefetch config than the one that went along with `open`, which may have been made again.
  /// - Parameter isOver: whether nothing is left of the rollout.
  func overtaken(_ open: Rollout?, isOver: Bool) -> RolloutChange? {
    let last = (self?.open ?? open)?.with(prefetch: nil)
    return isOver
      ? RolloutChange(ended: last?.with(state: .completed), open: nil)
      : RolloutChange(ended: self?.ended, open: last, course: self?.course)
  }
}
