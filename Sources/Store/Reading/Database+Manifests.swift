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

  /// The resource live at `version` under a URL, over all bundles.
  func resourceID(ofURL url: Int64, at version: ManifestVersion) throws(StoreError) -> Int64? {
    try value(
      Int64.self,
      """
      SELECT resource_id FROM entry
      WHERE url_id = ?1 AND since <= ?2 AND (until IS NULL OR until > ?2) LIMIT 1
      """, url, version.number)
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

  /// The URLs of a channel of which any bundle's row began or ended in (`from`, `to`].
  func changedURLs(of channel: Int64, after from: ManifestVersion, upTo to: ManifestVersion)
    throws(StoreError) -> Set<Int64>
  {
    var urls: Set<Int64> = []
    for bundle in try all(
      "SELECT id FROM bundle WHERE channel_id = ?", channel, read: { $0.get(0, as: Int64.self) })
    {
      urls.formUnion(try changedURLs(ofBundle: bundle, after: from, upTo: to))
    }
    return urls
  }

  /// The URLs whose entry at `to` differs from that at `from`, sorted, with the resource rows of both.
  func differences(of channel: ChannelInfo, from: ManifestVersion, to: ManifestVersion) throws(StoreError)
    -> [(url: ResourceURL, was: Int64?, now: Int64?)]
  {
    for version in [from, to] where !(try isKept(version, in: channel.id)) { throw .unknownVersion(version) }
    let (low, high) = (min(from, to), max(from, to))
    var differences: [(url: ResourceURL, was: Int64?, now: Int64?)] = []
    for url in try changedURLs(of: channel.id, after: low, upTo: high) {
      let was = try resourceID(ofURL: url, at: from)
      let now = try resourceID(ofURL: url, at: to)
      guard was != now else { continue }
      let text = try value(String.self, "SELECT text FROM url WHERE id = ?", url) ?? ""
      differences.append((try Stored.url(text), was, now))
    }
    return differences.sorted { $0.url < $1.url }
  }
}
