import Manifests
import System
import Values

// What the rollback of a bundle reads (and `EntryRow` writes), as sets of rows: live rows that began after the target,
// and rows of the target that have ended. Each set has its own index, so the length of the history doesn't matter.
extension Database {
  /// Calls `body` with each URL of the channel's manifest that a rollback of one bundle changes, in order. Resource versions say
  /// which contents differ: after a channel was moved to another public URL, equal contents have several resources.
  func eachDifference(
    rollingBack bundle: BundleInfo, to target: ManifestVersion,
    _ body: (ResourceURL, DifferenceRow) throws(StoreError) -> Void
  ) throws(StoreError) {
    try each(
      """
      SELECT u.text, was.id, was_blob.md5, was_blob.sha256, was_blob.size, was_type.text, was_type.headers, was_type.fallback, was_type.lazy,
        was.version, was.brought_in, was_p.text, now.id, b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy, now.version, now.brought_in, p.text
      FROM url AS u
      LEFT JOIN resource AS was ON was.id = (SELECT resource_id FROM entry
        WHERE url_id = u.id AND until IS NULL LIMIT 1)
      LEFT JOIN resource AS now ON now.id = coalesce(
        (SELECT resource_id FROM entry WHERE url_id = u.id AND bundle_id <> ?1 AND until IS NULL LIMIT 1),
        (SELECT resource_id FROM entry
          WHERE url_id = u.id AND bundle_id = ?1 AND since <= ?2 AND (until IS NULL OR until > ?2)))
      LEFT JOIN blob AS was_blob ON was_blob.id = was.blob_id
      LEFT JOIN content_type AS was_type ON was_type.id = was.content_type_id
      LEFT JOIN public_url AS was_p ON was_p.id = was.public_url_id
      LEFT JOIN blob AS b ON b.id = now.blob_id
      LEFT JOIN content_type AS t ON t.id = now.content_type_id
      LEFT JOIN public_url AS p ON p.id = now.public_url_id
      WHERE u.id IN (
          SELECT url_id FROM entry INDEXED BY entry_live WHERE bundle_id = ?1 AND until IS NULL AND since > ?2
          UNION ALL
          SELECT url_id FROM entry INDEXED BY entry_by_until WHERE bundle_id = ?1 AND until > ?2 AND since <= ?2)
        AND was.version IS NOT now.version
      ORDER BY u.text
      """, bundle.id, target.number
    ) { (row) throws(StoreError) in try body(try Stored.url(row.get(0)), DifferenceRow(row: row)) }
  }

  /// The counts and bytes by which going back to `target` changes a bundle.
  func growth(rollingBack bundle: BundleInfo, to target: ManifestVersion) throws(StoreError)
    -> (counts: ChangeCounts, bytes: Int64)
  {
    try first(
      """
      SELECT count(*) FILTER (WHERE live.id IS NULL), count(*) FILTER (WHERE live.id IS NOT NULL AND old.id IS NOT NULL),
        count(*) FILTER (WHERE old.id IS NULL), coalesce(sum(coalesce(b.size, 0) - coalesce(a.size, 0)), 0)
      FROM (
        SELECT url_id FROM entry INDEXED BY entry_live WHERE bundle_id = ?1 AND until IS NULL AND since > ?2
        UNION
        SELECT url_id FROM entry INDEXED BY entry_by_until WHERE bundle_id = ?1 AND until > ?2 AND since <= ?2) AS u
      LEFT JOIN resource AS live ON live.id = (SELECT resource_id FROM entry
        WHERE url_id = u.url_id AND bundle_id = ?1 AND until IS NULL)
      LEFT JOIN resource AS old ON old.id = (SELECT resource_id FROM entry
        WHERE url_id = u.url_id AND bundle_id = ?1 AND since <= ?2 AND (until IS NULL OR until > ?2))
      LEFT JOIN blob AS a ON a.id = live.blob_id
      LEFT JOIN blob AS b ON b.id = old.blob_id
      WHERE live.version IS NOT old.version
      """, bundle.id, target.number
    ) { row in
      (ChangeCounts(added: row.get(0), changed: row.get(1), removed: row.get(2)), row.get(3))
    } ?? (ChangeCounts(), 0)
  }

  /// URLs that come back with this bundle and that another bundle holds with other bytes, or of which something else is said.
  func conflicts(rollingBack bundle: BundleInfo, to target: ManifestVersion) throws(StoreError)
    -> [URLConflict]
  {
    try all(
      """
      SELECT u.text, other.name, b.sha256
      FROM entry AS e
      JOIN resource AS old ON old.id = e.resource_id
      JOIN entry AS held ON held.url_id = e.url_id AND held.until IS NULL AND held.bundle_id <> e.bundle_id
      JOIN resource AS r ON r.id = held.resource_id
      JOIN bundle AS other ON other.id = held.bundle_id
      JOIN blob AS b ON b.id = r.blob_id
      JOIN url AS u ON u.id = e.url_id
      WHERE e.bundle_id = ?1 AND e.since <= ?2 AND e.until > ?2
        AND (r.blob_id <> old.blob_id OR r.content_type_id <> old.content_type_id)
      ORDER BY u.text, other.name
      """, bundle.id, target.number
    ) { (row) throws(StoreError) in
      URLConflict(url: try Stored.url(row.get(0)), bundle: try Stored.bundle(row.get(1)), sha256: row.get(2))
    }
  }

  /// URLs that come back with this bundle and that another bundle holds.
  func shared(rollingBack bundle: BundleInfo, to target: ManifestVersion, in channel: ChannelInfo)
    throws(StoreError) -> [SharedURL]
  {
    try all(
      """
      SELECT u.text, other.name
      FROM entry AS e
      JOIN entry AS held ON held.url_id = e.url_id AND held.until IS NULL AND held.bundle_id <> e.bundle_id
      JOIN bundle AS other ON other.id = held.bundle_id
      JOIN url AS u ON u.id = e.url_id
      WHERE e.bundle_id = ?1 AND e.since <= ?2 AND e.until > ?2
      ORDER BY u.text, other.name
      """, bundle.id, target.number
    ) { (row) throws(StoreError) in
      SharedURL(
        channel: channel.name, url: try Stored.url(row.get(0)),
        bundles: [bundle.name, try Stored.bundle(row.get(1))].sorted())
    }
  }

  /// URLs that come back with this bundle and match a URL that another bundle holds. (Within one version of a bundle,
  /// no two match.)
  func duplicates(rollingBack bundle: BundleInfo, to target: ManifestVersion) throws(StoreError)
    -> [URLDuplicate]
  {
    try all(
      """
      SELECT mine.text, other.text
      FROM entry AS e
      JOIN url AS mine ON mine.id = e.url_id
      JOIN url AS other ON other.channel_id = mine.channel_id
        AND other.text = coalesce(mine.match_key, mine.text) AND other.match_key IS NULL AND other.id <> mine.id
      JOIN entry AS held ON held.url_id = other.id AND held.until IS NULL AND held.bundle_id <> ?1
      WHERE e.bundle_id = ?1 AND e.since <= ?2 AND e.until > ?2
      UNION
      SELECT mine.text, other.text
      FROM entry AS e
      JOIN url AS mine ON mine.id = e.url_id
      JOIN url AS other ON other.channel_id = mine.channel_id
        AND other.match_key = coalesce(mine.match_key, mine.text) AND other.id <> mine.id
      JOIN entry AS held ON held.url_id = other.id AND held.until IS NULL AND held.bundle_id <> ?1
      WHERE e.bundle_id = ?1 AND e.since <= ?2 AND e.until > ?2
      """, bundle.id, target.number
    ) { (row) throws(StoreError) in
      URLDuplicate(url: try Stored.url(row.get(0)), other: try Stored.url(row.get(1)))
    }
  }

  /// Bytes that come back with a bundle and have since been found damaged.
  func damaged(rollingBack bundle: BundleInfo, to target: ManifestVersion) throws(StoreError) -> [SHA256] {
    guard try value(Int64.self, "SELECT EXISTS (SELECT 1 FROM blob WHERE quarantined_at IS NOT NULL)") == 1
    else { return [] }
    return try all(
      """
      SELECT DISTINCT b.sha256 FROM entry AS e
      JOIN resource AS r ON r.id = e.resource_id
      JOIN blob AS b ON b.id = r.blob_id
      WHERE e.bundle_id = ?1 AND e.since <= ?2 AND e.until > ?2 AND b.quarantined_at IS NOT NULL
      """, bundle.id, target.number
    ) { $0.get(0) }
  }

  /// Bytes that would come back with a bundle although somebody purges them.
  func purged(rollingBack bundle: BundleInfo, to target: ManifestVersion) throws(StoreError) -> [Purge] {
    guard try value(Int64.self, "SELECT EXISTS (SELECT 1 FROM purge)") == 1 else { return [] }
    return try all(
      """
      SELECT DISTINCT p.sha256, p.at, p.author, p.reason FROM entry AS e
      JOIN resource AS r ON r.id = e.resource_id
      JOIN blob AS b ON b.id = r.blob_id
      JOIN purge AS p ON p.sha256 = b.sha256
      WHERE e.bundle_id = ?1 AND e.since <= ?2 AND e.until > ?2
      """, bundle.id, target.number
    ) { Purge(sha256: $0.get(0), at: $0.get(1), author: $0.get(2), reason: $0.get(3)) }
  }

  /// The releases that changed a bundle after the last one whose content came from another channel, newest first.
  func stamps(of bundle: BundleInfo, notFrom source: ChannelInfo) throws(StoreError) -> [ReleaseStamp] {
    let last = try value(
      Int64.self,
      """
      SELECT max(b.version) FROM release_bundle AS b
      JOIN release_source AS s ON s.channel_id = b.channel_id AND s.version = b.version
      WHERE b.bundle_id = ? AND s.source_channel_id = ?
      """, bundle.id, source.id)
    return try stamps(of: bundle, after: ManifestVersion(last ?? 0))
  }

  /// The releases that changed a bundle after `target`, newest first.
  func stamps(of bundle: BundleInfo, after target: ManifestVersion) throws(StoreError) -> [ReleaseStamp] {
    try all(
      """
      SELECT r.version, r.author, r.at FROM release_bundle AS b
      JOIN release AS r ON r.channel_id = b.channel_id AND r.version = b.version
      WHERE b.bundle_id = ? AND b.version > ? ORDER BY b.version DESC
      """, bundle.id, target.number
    ) { ReleaseStamp(version: $0.version(0), author: $0.get(1), at: $0.get(2)) }
  }
}

extension Store {
  /// The releases of each bundle of a channel since the last one that was promoted from `source`, newest first.
  package func releases(of channel: ChannelInfo, notFrom source: ChannelInfo) throws(StoreError)
    -> [BundleName: [ReleaseStamp]]
  {
    try connections.reading { (db) throws(StoreError) in
      var releases: [BundleName: [ReleaseStamp]] = [:]
      for bundle in try db.bundles(of: channel.id) {
        releases[bundle.name] = try db.stamps(of: bundle, notFrom: source)
      }
      return releases
    }
  }
}
