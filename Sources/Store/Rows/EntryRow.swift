import Manifests

// What planning a release reads: rows of single URLs, each by an index.
extension Database {
  func urlID(_ url: ResourceURL, in channel: Int64) throws(StoreError) -> Int64? {
    try value(Int64.self, "SELECT id FROM url WHERE channel_id = ? AND text = ?", channel, url.text)
  }

  func bundleName(_ id: Int64) throws(StoreError) -> BundleName {
    try Stored.bundle(value(String.self, "SELECT name FROM bundle WHERE id = ?", id) ?? "")
  }

  /// What each bundle holds live under a URL.
  func liveHolders(ofURL url: Int64) throws(StoreError) -> [Int64: Held] {
    var holders: [Int64: Held] = [:]
    try each(
      """
      SELECT e.bundle_id, e.resource_id, b.md5, b.sha256, b.size, t.text
      FROM entry AS e
      JOIN resource AS r ON r.id = e.resource_id
      JOIN blob AS b ON b.id = r.blob_id
      JOIN content_type AS t ON t.id = r.content_type_id
      WHERE e.url_id = ? AND e.until IS NULL
      """, url
    ) { (row) throws(StoreError) in
      holders[row.get(0)] = Held(resource: row.get(1), content: try ResourceContent(row, from: 2))
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
      let text = try value(String.self, "SELECT text FROM url WHERE id = ?", url) ?? ""
      contents.append((try Stored.url(text), try content(ofURL: url, bundle: bundle, at: base)))
    }
    return contents
  }

  /// The URLs of which a bundle's row began or ended in (`base`, `version`].
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
      SELECT b.md5, b.sha256, b.size, t.text
      FROM entry AS e
      JOIN resource AS r ON r.id = e.resource_id
      JOIN blob AS b ON b.id = r.blob_id
      JOIN content_type AS t ON t.id = r.content_type_id
      WHERE e.url_id = ?1 AND e.bundle_id = ?2 AND e.since <= ?3 AND (e.until IS NULL OR e.until > ?3)
      """, url, bundle, version.number
    ) { (row) throws(StoreError) in try ResourceContent(row, from: 0) }
  }
}

extension ResourceContent {
  /// Reads the columns md5, sha256, size and type that begin at `column`.
  init(_ row: Statement, from column: Int32) throws(StoreError) {
    self.init(
      md5: row.get(column), sha256: row.get(column + 1), size: row.get(column + 2),
      ctype: try Stored.contentType(row.get(column + 3)))
  }
}
