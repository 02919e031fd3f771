import Manifests
import System

extension Database {
  /// The open rollout of a channel.
  func openRollout(of channel: Int64) throws(StoreError) -> Rollout? {
    try first(
      """
      SELECT version, full_version, seed, share, group_names, app_range, is_paused, state, author, started_at, changed_at,
        changed_by, reason, prefetch
      FROM rollout_with_prefetch WHERE channel_id = ? AND state = 'open'
      """, channel, read: Rollout.init)
  }

  /// The rollout whose candidate a version is, or was.
  func rollout(of version: ManifestVersion, in channel: Int64) throws(StoreError) -> Rollout? {
    try first(
      """
      SELECT version, full_version, seed, share, group_names, app_range, is_paused, state, author, started_at, changed_at,
        changed_by, reason, prefetch
      FROM rollout_with_prefetch WHERE channel_id = ? AND version = ?
      """, channel, version.number, read: Rollout.init)
  }

  /// The newest `limit` rollouts of a channel, newest first.
  func rollouts(of channel: Int64, limit: Int) throws(StoreError) -> [Rollout] {
    try all(
      """
      SELECT version, full_version, seed, share, group_names, app_range, is_paused, state, author, started_at, changed_at,
        changed_by, reason, prefetch
      FROM rollout_with_prefetch WHERE channel_id = ? ORDER BY version DESC LIMIT ?
      """, channel, limit, read: Rollout.init)
  }

  /// The newest rollout that was halted and whose candidate had a content; nil if there is none.
  func haltedRollout(withContent digest: SHA256, in channel: Int64) throws(StoreError) -> Rollout? {
    let version = try value(
      Int64.self,
      """
      SELECT o.version FROM rollout AS o JOIN release AS r ON r.channel_id = o.channel_id AND r.version = o.version
      WHERE o.channel_id = ? AND o.state = 'halted' AND r.digest = ? ORDER BY o.version DESC LIMIT 1
      """, channel, digest)
    return try version.flatMap { (version) throws(StoreError) in
      try rollout(of: ManifestVersion(version), in: channel)
    }
  }

  /// The state of the full version beside an open rollout.
  func fullState(of rollout: Rollout, in channel: Int64, rollback: ManifestVersion?) throws(StoreError)
    -> FullState
  {
    guard let row = try ReleaseRow.find(rollout.full, of: channel, in: self) else {
      throw .corruptRow("rollout \(rollout.candidate)")
    }
    return FullState(
      version: row.version, at: row.at, digest: row.digest, resources: row.resources, bytes: row.bytes,
      rollback: rollback)
  }

  func insert(_ rollout: Rollout, of channel: Int64) throws(StoreError) {
    try run(
      """
      INSERT INTO rollout (channel_id, version, full_version, seed, share, group_names, app_range, is_paused, state, author,
        started_at, changed_at, changed_by, reason)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, channel, rollout.candidate.number, rollout.full.number, rollout.seed, rollout.audience.share,
      Self.text(rollout.audience.groups), rollout.audience.app?.text, rollout.isPaused ? 1 : 0,
      rollout.state.rawValue, rollout.author, rollout.startedAt, rollout.changedAt, rollout.changedBy,
      rollout.reason)
  }

  /// Writes what may change of an open rollout: its audience, its pause and its end.
  func update(_ rollout: Rollout, of channel: Int64) throws(StoreError) {
    try run(
      """
      UPDATE rollout SET share = ?, group_names = ?, app_range = ?, is_paused = ?, state = ?, changed_at = ?,
        changed_by = ?, reason = ?
      WHERE channel_id = ? AND version = ?
      """, rollout.audience.share, Self.text(rollout.audience.groups), rollout.audience.app?.text,
      rollout.isPaused ? 1 : 0, rollout.state.rawValue, rollout.changedAt, rollout.changedBy, rollout.reason,
      channel, rollout.candidate.number)
  }

  private static func text(_ groups: [String]) -> String? {
    groups.isEmpty ? nil : groups.joined(separator: " ")
  }

  /// The bundles that hold something else in the candidate than in the full version, sorted by name.
  func bundles(of rollout: Rollout, in channel: Int64) throws(StoreError) -> [BundleInfo] {
    var changed: [BundleInfo] = []
    for bundle in try bundles(of: channel) where bundle.version > rollout.full {
      if try !growth(rollingBack: bundle, to: rollout.full).counts.isEmpty { changed.append(bundle) }
    }
    return changed
  }

  /// The bundles of a channel as they are in the full version beside an open rollout, sorted by name.
  func bundles(of channel: Int64, atFull full: ManifestVersion) throws(StoreError) -> [BundleInfo] {
    var result: [BundleInfo] = []
    for bundle in try bundles(of: channel) {
      let info = try self.bundle(bundle, atFull: full)
      if info.version != .none { result.append(info) }
    }
    return result
  }

  /// A bundle as it is in the full version beside an open rollout; version 0 if it is newer.
  func bundle(_ bundle: BundleInfo, atFull full: ManifestVersion) throws(StoreError) -> BundleInfo {
    if bundle.version <= full { return bundle }
    let held = try first(
      """
      SELECT count(*), coalesce(sum(b.size), 0) FROM entry AS e
      JOIN resource AS r ON r.id = e.resource_id
      JOIN blob AS b ON b.id = r.blob_id
      WHERE e.bundle_id = ?1 AND e.since <= ?2 AND (e.until IS NULL OR e.until > ?2)
      """, bundle.id, full.number
    ) { (resources: $0.get(0, as: Int.self), bytes: $0.get(1, as: Int64.self)) }
    let last = try value(
      Int64?.self, "SELECT max(version) FROM release_bundle WHERE bundle_id = ? AND version <= ?", bundle.id,
      full.number)
    let (resources, bytes) = held ?? (0, 0)
    // The release that changed it last may be kept no more; what it holds is that of the full version.
    let version = (last ?? nil).map { ManifestVersion($0) } ?? (resources > 0 ? full : .none)
    return BundleInfo(
      name: bundle.name, version: version, resources: resources, bytes: bytes, id: bundle.id)
  }
}

extension Rollout {
  init(_ row: Statement) throws(StoreError) {
    guard let state = State(rawValue: row.get(7)) else { throw .corruptRow(row.get(7)) }
    var app: AppVersionRange?
    if let text = row.get(5, as: String?.self) {
      guard let range = try? AppVersionRange(text) else { throw .corruptRow(text) }
      app = range
    }
    let groups = row.get(4, as: String?.self).map { $0.split(separator: " ").map(String.init) } ?? []
    self.init(
      candidate: row.version(0), full: row.version(1), seed: row.get(2),
      audience: RolloutAudience(share: row.get(3), groups: groups, app: app),
      isPaused: row.get(6, as: Int64.self) != 0, state: state, author: row.get(8), startedAt: row.get(9),
      changedAt: row.get(10), changedBy: row.get(11), reason: row.get(12), prefetch: row.get(13))
  }

  /// The same rollout, changed.
  func with(
    audience: RolloutAudience? = nil, isPaused: Bool? = nil, state: State? = nil, reason: String? = nil,
    at now: Int64, by author: String
  ) -> Rollout {
    Rollout(
      candidate: candidate, full: full, seed: seed, audience: audience ?? self.audience,
      isPaused: isPaused ?? self.isPaused, state: state ?? self.state, author: self.author,
      startedAt: startedAt, changedAt: now, changedBy: author, reason: reason ?? self.reason,
      prefetch: prefetch)
  }

  /// The same rollout in another state.
  func with(state: State) -> Rollout {
    Rollout(
      candidate: candidate, full: full, seed: seed, audience: audience, isPaused: isPaused, state: state,
      author: author, startedAt: startedAt, changedAt: changedAt, changedBy: changedBy, reason: reason,
      prefetch: prefetch)
  }

  /// The same rollout, with another prefetch config.
  func with(prefetch: Int64?) -> Rollout {
    Rollout(
      candidate: candidate, full: full, seed: seed, audience: audience, isPaused: isPaused, state: state,
      author: author, startedAt: startedAt, changedAt: changedAt, changedBy: changedBy, reason: reason,
      prefetch: prefetch)
  }

  /// The rollout of a candidate that is made again.
  func remade(as candidate: ManifestVersion, on full: ManifestVersion) -> Rollout {
    Rollout(
      candidate: candidate, full: full, seed: seed, audience: audience, isPaused: isPaused, state: .open,
      author: author, startedAt: startedAt, changedAt: changedAt, changedBy: changedBy, reason: nil,
      prefetch: prefetch)
  }
}
