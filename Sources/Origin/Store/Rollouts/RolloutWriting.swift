import Manifests
import System
import Trust
import Values

extension ReleasePlan {
  /// Whether the release makes a version, or completes a rollout.
  var acts: Bool { isChange || makesVersion || effect == .completes }

  /// What a rollout that is open before the release becomes.
  var endOfRollout: Rollout.State? {
    switch effect {
    case .none: nil
    case .opens, .supersedes: .superseded
    case .completes: .completed
    case .remakes: .remade
    case .halts: .halted
    }
  }

  /// What the release would do to the channel's rollouts.
  func forecast(of request: ReleaseInput, now: Int64) -> RolloutChange? {
    guard let state = endOfRollout, let channel else { return nil }
    let ended = channel.rollout?.with(state: state, at: now, by: request.author)
    var open: Rollout?
    switch effect {
    case .opens:
      open = request.rollout.map {
        Rollout(
          candidate: channel.nextVersion, on: channel.full.version, to: $0, by: request.author, at: now)
      }
    case .remakes:
      let version = channel.nextVersion
      open = channel.rollout?.remade(as: ManifestVersion(version.number + 1), on: version)
    default: break
    }
    return RolloutChange(ended: ended, open: open, course: effect == .opens ? request.rollout?.course : nil)
  }
}

extension ReleaseOutcome {
  /// Whether polls are answered in another way afterwards.
  var isToShow: Bool { changed || extras != nil || rollout != nil }
}

extension Rollout {
  /// A new rollout, with a seed of its own.
  init(
    candidate: ManifestVersion, on full: ManifestVersion, to audience: RolloutAudience, by author: String,
    at now: Int64
  ) {
    var audience = audience
    audience.course = nil
    self.init(
      candidate: candidate, full: full, seed: Hex.encode(Secrets.random(8).span.bytes), audience: audience,
      isPaused: false, state: .open, author: author, startedAt: now, changedAt: now, changedBy: author,
      reason: nil, prefetch: nil)
  }
}

extension RolloutChange {
  /// For the audit trail.
  var json: JSONValue {
    var members = JSONObject()
    if let ended {
      members["ended"] = .string(ended.candidate.text)
      members["state"] = .string(ended.state.rawValue)
    }
    if let open {
      members["candidate"] = .string(open.candidate.text)
      members["full"] = .string(open.full.text)
      members["share"] = .integer(open.audience.share)
      if !open.audience.groups.isEmpty { members["groups"] = .strings(open.audience.groups) }
      if let app = open.audience.app { members["app"] = .string(app.text) }
      if let prefetch = open.prefetch { members["prefetch"] = .string(String(prefetch)) }
    }
    return .object(members)
  }
}

extension Database {
  /// Ends the rollout that is open before a release, as the release does.
  func end(_ plan: ReleasePlan, of request: ReleaseInput, now: Int64) throws(StoreError) -> Rollout? {
    guard let channel = plan.channel, let rollout = channel.rollout, let state = plan.endOfRollout else {
      return nil
    }
    let ended = rollout.with(
      state: state, reason: state == .halted ? request.message : nil, at: now, by: request.author)
    try update(ended, of: channel.id)
    return ended
  }

  /// Completes the open rollout of a channel: its candidate becomes the full version.
  /// - Parameters:
  ///   - statements: what came with the request, for the candidate's bundles.
  ///   - overtaken: the prefetch config that went along with the candidate, if the channel just got a newer one.
  ///   - dropsPrefetch: whether the config that goes along is dropped.
  /// - Throws: `noRollout`; `unsigned` if devices would refuse the candidate as it is now.
  func complete(
    _ channel: ChannelInfo, by actor: Actor, breakGlass: String?,
    statements: [Signed<ReleaseStatement>] = [], overtaken: Int64? = nil, dropsPrefetch: Bool = false,
    now: Int64
  ) throws(StoreError)
    -> (channel: ChannelInfo, change: RolloutChange, extras: ChannelExtras?, receipt: AuditHead)
  {
    guard let rollout = channel.rollout else { throw .noRollout(channel.app, channel.name, last: nil) }
    let completed = rollout.with(state: .completed, at: now, by: actor.name)
    try update(completed, of: channel.id)
    try sign(
      channel, at: rollout.candidate, after: rollout.full, with: statements, as: .completed, by: actor.name,
      now: now)
    if channel.rollback == rollout.candidate {
      try ChannelRow.noteRollback(rollout.candidate, of: channel.id, in: self)
    }
    let prefetch = dropsPrefetch ? nil : try completePrefetch(of: rollout, in: channel, now: now)
    let receipt = try audit(
      AuditEvent(
        "rollout.complete", app: channel.app, channel: channel.name,
        parameters: ["breakGlass": breakGlass.map { .string($0) } ?? .null],
        result: [
          "overtaken": overtaken.map { .string(String($0)) } ?? .null,
          "prefetch": prefetch.map { .string(String($0)) } ?? .null, "previous": .string(rollout.full.text),
          "version": .string(rollout.candidate.text),
        ]),
      by: actor, now: now)
    return (
      channel.with(nil), RolloutChange(ended: completed, open: nil),
      prefetch == nil && !dropsPrefetch ? nil : try extras(of: channel.id), receipt
    )
  }
}

extension Store {
  /// Opens the rollout of a candidate that was just made, or makes one again on top of a full version that was.
  /// - Returns: the channel afterwards, and its open rollout.
  func openRollout(
    after outcome: ReleaseOutcome, _ ended: Rollout?, _ plan: ReleasePlan, _ request: ReleaseInput,
    in db: Database, digest: ((PreparedRelease) throws(StoreError) -> SHA256)?
  ) throws(StoreError) -> (ChannelInfo, Rollout?) {
    guard let made = outcome.channel else { throw .unknownChannel(request.app, request.channel) }
    if plan.effect != .none { try step("rollout") }
    switch plan.effect {
    case .opens:
      guard let full = plan.channel?.stateOfFull, let audience = request.rollout else {
        throw .rolloutOfFirst
      }
      let rollout = Rollout(
        candidate: outcome.version, on: full.version, to: audience, by: request.author, at: outcome.at)
      try db.insert(rollout, of: made.id)
      if let course = audience.course, !course.isEmpty {
        try db.keep(RolloutPlan().with(course), of: rollout.seed, in: made.id)
      }
      return (made.with(rollout, full: full), rollout)
    case .remakes:
      guard let ended, let full = made.stateOfFull else { return (made, nil) }
      let candidate = try remake(ended, plan.candidateBundles, on: made, in: db, digest: digest)
      try step("rollout")
      let rollout = ended.remade(as: candidate.version, on: full.version)
      try db.insert(rollout, of: made.id)
      return (candidate.with(rollout, full: full), rollout)
    default: return (made, nil)
    }
  }

  /// Makes the version of a candidate again on top of a newer full version.
  private func remake(
    _ rollout: Rollout, _ bundles: [BundleName], on channel: ChannelInfo, in db: Database,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)?
  ) throws(StoreError) -> ChannelInfo {
    guard let first = try ReleaseRow.find(rollout.candidate, of: channel.id, in: db) else {
      throw .corruptRow("rollout \(rollout.candidate)")
    }
    var request = ReleaseInput(
      app: channel.app, channel: channel.name, author: first.author, message: first.message,
      bundles: bundles.map { BundleChange($0, .update(base: rollout.candidate, set: [:], remove: [])) })
    request.act = .remake(first.kind)
    let plan = try ReleasePlanner.plan(request, on: channel, bounded: 0, in: db)
    let made = try makeVersion(plan, of: request, in: db, digest: digest)
    do throws(StoreError) {
      try db.sign(
        channel, at: made.version, after: channel.version, as: .candidate, by: first.author, now: clock())
    } catch .unsigned(_, let bundles) where bundles.allSatisfy({ $0.problem == .releaseFloor }) {
      // A floor that just rose.
      throw .floorBesideRollout(
        channel.app, channel.name, rollout.candidate, bundles.map(\.bundle.text))
    }
    try db.copySource(of: rollout.candidate, to: made.version, in: channel.id)
    guard let after = made.channel else { throw .unknownChannel(channel.app, channel.name) }
    return after
  }
}
