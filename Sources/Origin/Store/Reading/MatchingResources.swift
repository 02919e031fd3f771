import Manifests
import Values

/// What a kept version has under a URL.
package struct ListedResource: Hashable, Sendable {
  /// The URL as the version lists it.
  package let url: ResourceURL
  package let content: ResourceContent
  /// The bundles that hold it, sorted.
  package let bundles: [BundleName]
}

extension Store {
  /// What a kept version lists under a URL, or under one that devices take for it (`ResourceURL.matchKey`); nil if nothing.
  /// - Throws: `unknownVersion`.
  package func listed(_ url: ResourceURL, of channel: ChannelInfo, at version: ManifestVersion)
    throws(StoreError) -> ListedResource?
  {
    try connections.reading { (db) throws(StoreError) in
      try db.requireKept(version, in: channel.id)
      return try db.listed(url, of: channel.id, at: version)
    }
  }
}

extension Database {
  fileprivate func listed(_ url: ResourceURL, of channel: Int64, at version: ManifestVersion)
    throws(StoreError) -> ListedResource?
  {
    let rows = try all(
      """
      SELECT u.text, b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy, n.name FROM (
        SELECT id, text FROM url WHERE channel_id = ?1 AND text = ?2 AND match_key IS NULL
        UNION ALL SELECT id, text FROM url WHERE channel_id = ?1 AND match_key = ?2) AS u
      JOIN entry AS e ON e.url_id = u.id AND e.since <= ?3 AND (e.until IS NULL OR e.until > ?3)
      JOIN bundle AS n ON n.id = e.bundle_id
      JOIN resource AS r ON r.id = e.resource_id
      JOIN blob AS b ON b.id = r.blob_id
      JOIN content_type AS t ON t.id = r.content_type_id
      ORDER BY n.name
      """, channel, url.matchKey, version.number
    ) { (row) throws(StoreError) in
      (
        url: try Stored.url(row.get(0)), content: try ResourceContent(row, from: 1),
        bundle: try Stored.bundle(row.get(8))
      )
    }
    guard let first = rows.first else { return nil }
    return ListedResource(url: first.url, content: first.content, bundles: rows.map(\.bundle))
  }
}
