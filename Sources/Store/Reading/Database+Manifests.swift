import Manifests
import Platform

extension Database {
  /// Hands each URL of the manifest at `version`, in order, with its resource to `body`.
  func eachEntry(
    of channel: ChannelInfo, at version: ManifestVersion,
    _ body: (ResourceURL, EntryRow) throws(StoreError) -> Void
  ) throws(StoreError) {
    // All bundles that hold a URL agree on its resource, so any one row tells it.
    try each(
      """
      SELECT u.text, b.md5, b.sha256, b.size, t.text, r.version, r.brought_in, p.text
      FROM url AS u
      JOIN resource AS r ON r.id = (SELECT e.resource_id FROM entry AS e
        WHERE e.url_id = u.id AND e.since <= ?2 AND (e.until IS NULL OR e.until > ?2) LIMIT 1)
      JOIN blob AS b ON b.id = r.blob_id
      JOIN content_type AS t ON t.id = r.content_type_id
      JOIN public_url AS p ON p.id = r.public_url_id
      WHERE u.channel_id = ?1
      ORDER BY u.text
      """, channel.id, version.number
    ) { (row) throws(StoreError) in
      try body(try Stored.url(row.get(0)), try EntryRow(row, from: 1))
    }
  }

  /// The URLs whose entry at `to` differs from that at `from`, sorted, with the resources of both.
  ///
  /// It reads the rows that began or ended between the two, whatever the manifests' size, and one state of each URL
  /// at either end over all bundles.
  func differences(of channel: ChannelInfo, from: ManifestVersion, to: ManifestVersion) throws(StoreError)
    -> [(url: ResourceURL, was: Int64?, now: Int64?)]
  {
    for version in [from, to] where !(try isKept(version, in: channel.id)) { throw .unknownVersion(version) }
    return try all(
      """
      SELECT u.text,
        (SELECT resource_id FROM entry
          WHERE url_id = u.id AND since <= ?2 AND (until IS NULL OR until > ?2) LIMIT 1) AS was,
        (SELECT resource_id FROM entry
          WHERE url_id = u.id AND since <= ?3 AND (until IS NULL OR until > ?3) LIMIT 1) AS now
      FROM url AS u
      WHERE u.id IN (
          SELECT e.url_id FROM bundle AS b JOIN entry AS e ON e.bundle_id = b.id
          WHERE b.channel_id = ?1 AND e.since > min(?2, ?3) AND e.since <= max(?2, ?3)
          UNION ALL
          SELECT e.url_id FROM bundle AS b JOIN entry AS e ON e.bundle_id = b.id
          WHERE b.channel_id = ?1 AND e.until > min(?2, ?3) AND e.until <= max(?2, ?3))
        AND was IS NOT now
      ORDER BY u.text
      """, channel.id, from.number, to.number
    ) { (row) throws(StoreError) in (try Stored.url(row.get(0)), row.get(1), row.get(2)) }
  }

  func entryRow(_ resource: Int64) throws(StoreError) -> EntryRow? {
    try first(
      """
      SELECT b.md5, b.sha256, b.size, t.text, r.version, r.brought_in, p.text
      FROM resource AS r
      JOIN blob AS b ON b.id = r.blob_id
      JOIN content_type AS t ON t.id = r.content_type_id
      JOIN public_url AS p ON p.id = r.public_url_id
      WHERE r.id = ?
      """, resource
    ) { (row) throws(StoreError) in try EntryRow(row, from: 0) }
  }
}
