import Manifests
import Values

/// A row of `entry`: which resource a bundle has under a URL, and in which versions. Fields are named like the columns.
struct EntryRow {
  let url: Int64
  let bundle: Int64
  let since: ManifestVersion

  /// Begins rows, each with its resource.
  static func insert(_ rows: [(row: EntryRow, resource: Int64)], in db: Database) throws(StoreError) {
    try db.insert(
      "INSERT INTO entry (url_id, bundle_id, since, resource_id)",
      rows.map { ($0.row.url, $0.row.bundle, $0.row.since.number, $0.resource) })
  }

  /// Ends the live row of a URL. All rows that end must end before any new one begins, because live rows of a URL have to agree.
  static func end(url: Int64, bundle: Int64, at version: ManifestVersion, in db: Database) throws(StoreError)
  {
    try db.run(
      "UPDATE entry SET until = ? WHERE url_id = ? AND bundle_id = ? AND until IS NULL", version.number, url,
      bundle)
  }

  /// Ends the live rows of a bundle whose content differs from that at `target`. A content's resource version says which it is,
  /// whatever the public URL.
  static func end(
    of bundle: Int64, rolledBackTo target: ManifestVersion, at version: ManifestVersion, in db: Database
  ) throws(StoreError) {
    try db.run(
      """
      UPDATE entry INDEXED BY entry_live SET until = ?3
      WHERE bundle_id = ?1 AND since > ?2 AND until IS NULL
        AND (SELECT version FROM resource WHERE id = entry.resource_id) IS NOT (SELECT r.version FROM entry AS old
          JOIN resource AS r ON r.id = old.resource_id
          WHERE old.url_id = entry.url_id AND old.bundle_id = ?1 AND old.since <= ?2 AND old.until > ?2)
      """, bundle, target.number, version.number)
  }

  /// Begins the rows that take a bundle back to `target`, after all rows that end have ended. What comes back is downloaded from
  /// the channel's public URL of today, whose row is `publicURL`.
  static func insert(
    of bundle: Int64, rolledBackTo target: ManifestVersion, at version: ManifestVersion, publicURL: Int64,
    in db: Database
  ) throws(StoreError) {
    try db.run(
      """
      INSERT INTO resource (url_id, version, blob_id, content_type_id, public_url_id, brought_in)
      SELECT r.url_id, r.version, r.blob_id, r.content_type_id, ?3, r.brought_in
      FROM entry AS e
      JOIN resource AS r ON r.id = e.resource_id AND r.public_url_id <> ?3
      WHERE e.bundle_id = ?1 AND e.since <= ?2 AND e.until > ?2
        AND NOT EXISTS (SELECT 1 FROM entry AS live WHERE live.url_id = e.url_id AND live.until IS NULL)
      ON CONFLICT DO NOTHING
      """, bundle, target.number, publicURL)
    // Another bundle may hold the same bytes under another public URL; then its resource is shared.
    try db.run(
      """
      INSERT INTO entry (url_id, bundle_id, since, resource_id)
      SELECT e.url_id, e.bundle_id, ?3, coalesce(
        (SELECT held.resource_id FROM entry AS held WHERE held.url_id = e.url_id AND held.until IS NULL LIMIT 1),
        (SELECT now.id FROM resource AS now
          WHERE now.url_id = r.url_id AND now.version = r.version AND now.public_url_id = ?4))
      FROM entry AS e
      JOIN resource AS r ON r.id = e.resource_id
      WHERE e.bundle_id = ?1 AND e.since <= ?2 AND e.until > ?2
        AND NOT EXISTS (SELECT 1 FROM entry AS live
          WHERE live.url_id = e.url_id AND live.bundle_id = ?1 AND live.until IS NULL)
      """, bundle, target.number, version.number, publicURL)
  }

  /// Ended rows that no kept version includes. They never will be needed again, because new versions are higher.
  static func unneeded(of channel: Int64, in db: Database) throws(StoreError) -> [EntryRow] {
    try db.all(
      """
      SELECT e.url_id, e.bundle_id, e.since FROM bundle AS b
      JOIN entry AS e ON e.bundle_id = b.id AND e.until IS NOT NULL
      WHERE b.channel_id = ?1 AND NOT EXISTS (SELECT 1 FROM release AS r
        WHERE r.channel_id = ?1 AND r.version >= e.since AND r.version < e.until)
      """, channel
    ) { EntryRow(url: $0.get(0), bundle: $0.get(1), since: $0.version(2)) }
  }

  func deleteUnneeded(in db: Database) throws(StoreError) {
    try db.run(
      "DELETE FROM entry WHERE url_id = ? AND bundle_id = ? AND since = ? AND until IS NOT NULL", url, bundle,
      since.number)
  }
}

// What planning a release reads: rows of single URLs, each through an index.
extension Database {
  /// What each bundle holds under a URL now.
  func liveHolders(ofURL url: Int64) throws(StoreError) -> [(bundle: Int64, held: HeldContent)] {
    var holders: [(bundle: Int64, held: HeldContent)] = []
    try each(
      """
      SELECT e.bundle_id, e.resource_id, b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy
      FROM entry AS e
      JOIN resource AS r ON r.id = e.resource_id
      JOIN blob AS b ON b.id = r.blob_id
      JOIN content_type AS t ON t.id = r.content_type_id
      WHERE e.url_id = ? AND e.until IS NULL
      """, url
    ) { (row) throws(StoreError) in
      holders.append(
        (row.get(0), HeldContent(resource: row.get(1), content: try ResourceContent(row, from: 2))))
    }
    return holders
  }

  func liveURLs(ofBundle bundle: Int64) throws(StoreError) -> [ResourceURL] {
    try all(
      """
      SELECT u.text FROM entry AS e JOIN url AS u ON u.id = e.url_id
      WHERE e.bundle_id = ? AND e.until IS NULL
      """, bundle
    ) { (row) throws(StoreError) in try Stored.url(row.get(0)) }
  }

  /// The live URLs of a channel with this match key.
  func liveURLs(matching key: String, in channel: Int64) throws(StoreError) -> [ResourceURL] {
    let plain = try all(
      """
      SELECT u.text FROM url AS u
      WHERE u.channel_id = ?1 AND u.text = ?2 AND u.match_key IS NULL
        AND EXISTS (SELECT 1 FROM entry WHERE url_id = u.id AND until IS NULL)
      """, channel, key
    ) { (row) throws(StoreError) in try Stored.url(row.get(0)) }
    let escaped = try all(
      """
      SELECT u.text FROM url AS u
      WHERE u.channel_id = ?1 AND u.match_key = ?2
        AND EXISTS (SELECT 1 FROM entry WHERE url_id = u.id AND until IS NULL)
      """, channel, key
    ) { (row) throws(StoreError) in try Stored.url(row.get(0)) }
    return plain + escaped
  }

  /// For each URL whose row in a bundle began or ended in (`base`, `version`], what the bundle held at `base`.
  func contents(ofBundle bundle: Int64, changedAfter base: ManifestVersion, upTo version: ManifestVersion)
    throws(StoreError) -> [(ResourceURL, ResourceContent?)]
  {
    var contents: [(ResourceURL, ResourceContent?)] = []
    for url in try changedURLs(ofBundle: bundle, after: base, upTo: version) {
      contents.append((try URLRow.url(url, in: self), try content(ofURL: url, bundle: bundle, at: base)))
    }
    return contents
  }

  /// The URLs whose row in a bundle began or ended in (`base`, `version`].
  func changedURLs(ofBundle bundle: Int64, after base: ManifestVersion, upTo version: ManifestVersion)
    throws(StoreError) -> Set<Int64>
  {
    var urls: Set<Int64> = []
    try each(
      "SELECT url_id FROM entry WHERE bundle_id = ? AND since > ? AND since <= ?", bundle, base.number,
      version.number
    ) { urls.insert($0.get(0)) }
    try each(
      "SELECT url_id FROM entry WHERE bundle_id = ? AND until > ? AND until <= ?", bundle, base.number,
      version.number
    ) { urls.insert($0.get(0)) }
    return urls
  }

  func content(ofURL url: Int64, bundle: Int64, at version: ManifestVersion) throws(StoreError)
    -> ResourceContent?
  {
    try first(
      """
      SELECT b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy
      FROM entry AS e
      JOIN resource AS r ON r.id = e.resource_id
      JOIN blob AS b ON b.id = r.blob_id
      JOIN content_type AS t ON t.id = r.content_type_id
      WHERE e.url_id = ?1 AND e.bundle_id = ?2 AND e.since <= ?3 AND (e.until IS NULL OR e.until > ?3)
      """, url, bundle, version.number
    ) { (row) throws(StoreError) in try ResourceContent(row, from: 0) }
  }
}
