import Manifests

extension Database {
  /// The newest change of a bundle after a version that its publishers have to know of; nil if there is none.
  ///
  /// The full version counts: candidates that came since are no change, nor is their end, nor that a release of other bundles took
  /// one's bundles back and made it again on top. Whoever names a candidate means that it still stands: made again and completed are
  /// no change then, and halted or replaced by another one is.
  func change(of bundle: BundleInfo, after limit: ManifestVersion, in channel: ChannelInfo)
    throws(StoreError) -> ManifestVersion?
  {
    if bundle.version <= limit { return nil }
    let full = channel.full.version
    let named = try rollout(of: limit, in: channel.id)
    let rows = try all(
      """
      SELECT b.version, r.seed, r.state FROM release_bundle AS b
      LEFT JOIN rollout AS r ON r.channel_id = ?1 AND r.version = b.version
      WHERE b.bundle_id = ?2 AND b.version > ?3 AND b.version <= ?4 ORDER BY b.version DESC
      """, channel.id, bundle.id, limit.number, full.number
    ) { (version: $0.version(0), seed: $0.get(1, as: String?.self), state: $0.get(2, as: String?.self)) }
    if bundle.version <= full, rows.first?.version != bundle.version { return bundle.version }
    if rows.isEmpty, limit < full {
      // The release may be kept no more. What the versions hold is known, though.
      guard try isKept(limit, in: channel.id) else { return full }
      if named == nil { return try differs(bundle, between: limit, and: full) ? full : nil }
    }
    for row in rows {
      if row.state.map({ $0 != Rollout.State.completed.rawValue }) ?? false { continue }
      if let named, row.seed == named.seed { continue }
      guard let before = try fullVersions(of: channel.id, below: row.version, limit: 1).first else {
        return row.version
      }
      if try differs(bundle, between: before, and: row.version) { return row.version }
    }
    return try named.flatMap { (named) throws(StoreError) in try end(of: named, with: bundle, in: channel.id)
    }
  }

  /// The version that ended a candidate, if the candidate had changed this bundle and doesn't stand any more.
  private func end(of named: Rollout, with bundle: BundleInfo, in channel: Int64) throws(StoreError)
    -> ManifestVersion?
  {
    guard try differs(bundle, between: named.full, and: named.candidate) else { return nil }
    let last = try first(
      """
      SELECT version, state FROM rollout WHERE channel_id = ? AND seed = ? ORDER BY version DESC LIMIT 1
      """, channel, named.seed
    ) { (version: $0.version(0), state: Rollout.State(rawValue: $0.get(1))) }
    guard let last, last.state == .halted || last.state == .superseded else { return nil }
    let next = try value(
      Int64?.self, "SELECT min(version) FROM release WHERE channel_id = ? AND version > ?", channel,
      last.version.number)
    return (next ?? nil).map { ManifestVersion($0) }
  }

  /// Whether a bundle holds something else in one kept version than in another, older one.
  private func differs(_ bundle: BundleInfo, between old: ManifestVersion, and new: ManifestVersion)
    throws(StoreError) -> Bool
  {
    try value(
      Int64.self,
      """
      WITH was AS (SELECT url_id, resource_id FROM entry
          WHERE bundle_id = ?1 AND since <= ?2 AND until > ?2 AND until <= ?3),
        now AS (SELECT url_id, resource_id FROM entry
          WHERE bundle_id = ?1 AND since > ?2 AND since <= ?3 AND (until IS NULL OR until > ?3))
      SELECT 1 WHERE EXISTS (SELECT * FROM was EXCEPT SELECT * FROM now)
        OR EXISTS (SELECT * FROM now EXCEPT SELECT * FROM was)
      """, bundle.id, old.number, new.number) != nil
  }

  /// The newest `limit` kept versions below a number that are, or were, for all devices; newest first.
  func fullVersions(of channel: Int64, below version: ManifestVersion, limit: Int) throws(StoreError)
    -> [ManifestVersion]
  {
    try all(
      """
      SELECT version FROM release AS v WHERE channel_id = ?1 AND version < ?2
        AND NOT EXISTS (SELECT 1 FROM rollout AS r
          WHERE r.channel_id = ?1 AND r.version = v.version AND r.state <> 'completed')
      ORDER BY version DESC LIMIT ?3
      """, channel, version.number, limit
    ) { $0.version(0) }
  }
}

extension Store {
  /// The newest `limit` kept versions below `version` that are, or were, for all devices; newest first.
  package func fullVersions(_ channel: ChannelInfo, below version: ManifestVersion, limit: Int)
    throws(StoreError) -> [ManifestVersion]
  {
    try connections.reading { (db) throws(StoreError) in
      try db.fullVersions(of: channel.id, below: version, limit: limit)
    }
  }

  /// The version that most devices come from to another one: of a candidate, the full version beside it. `none` of the first one.
  package func base(of version: ManifestVersion, in channel: ChannelInfo) throws(StoreError)
    -> ManifestVersion
  {
    try connections.reading { (db) throws(StoreError) in
      if let full = try db.rollout(of: version, in: channel.id)?.full, try db.isKept(full, in: channel.id) {
        return full
      }
      return try db.fullVersions(of: channel.id, below: version, limit: 1).first ?? .none
    }
  }
}
