import Manifests
import Values

extension Database {
  /// Calls `body` with each URL of the manifest at `version`, in order, and its resource.
  func eachEntry(
    of channel: ChannelInfo, at version: ManifestVersion,
    _ body: (ResourceURL, ManifestRow) throws(StoreError) -> Void
  ) throws(StoreError) {
    // All bundles that hold a URL agree on its resource, so any one row will do.
    try each(
      """
      SELECT u.text, b.md5, b.sha256, b.size, t.text, t.headers, r.version, r.brought_in, p.text
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
      try body(try Stored.url(row.get(0)), try ManifestRow(row, from: 1))
    }
  }

  /// Calls `body` with each URL whose entry at `to` differs from that at `from`, in order, and its old and new resource.
  ///
  /// It reads only the rows that began or ended between the two versions, whatever the manifests' size, and each of
  /// those URLs' resource at either version over all bundles.
  func eachDifference(
    of channel: ChannelInfo, from: ManifestVersion, to: ManifestVersion,
    _ body: (ResourceURL, DifferenceRow) throws(StoreError) -> Void
  ) throws(StoreError) {
    for version in [from, to] { try requireKept(version, in: channel.id) }
    try each(
      """
      SELECT u.text, was.id, was_blob.md5, was_blob.sha256, was_blob.size, was_type.text, was_type.headers,
        was.version, was.brought_in, was_p.text, now.id, b.md5, b.sha256, b.size, t.text, t.headers, now.version, now.brought_in, p.text
      FROM url AS u
      LEFT JOIN resource AS was ON was.id = (SELECT resource_id FROM entry
        WHERE url_id = u.id AND since <= ?2 AND (until IS NULL OR until > ?2) LIMIT 1)
      LEFT JOIN resource AS now ON now.id = (SELECT resource_id FROM entry
        WHERE url_id = u.id AND since <= ?3 AND (until IS NULL OR until > ?3) LIMIT 1)
      LEFT JOIN blob AS was_blob ON was_blob.id = was.blob_id
      LEFT JOIN content_type AS was_type ON was_type.id = was.content_type_id
      LEFT JOIN public_url AS was_p ON was_p.id = was.public_url_id
      LEFT JOIN blob AS b ON b.id = now.blob_id
      LEFT JOIN content_type AS t ON t.id = now.content_type_id
      LEFT JOIN public_url AS p ON p.id = now.public_url_id
      WHERE u.id IN (
          SELECT e.url_id FROM bundle AS b JOIN entry AS e ON e.bundle_id = b.id
          WHERE b.channel_id = ?1 AND e.since > min(?2, ?3) AND e.since <= max(?2, ?3)
          UNION ALL
          SELECT e.url_id FROM bundle AS b JOIN entry AS e ON e.bundle_id = b.id
          WHERE b.channel_id = ?1 AND e.until > min(?2, ?3) AND e.until <= max(?2, ?3))
        AND was.id IS NOT now.id
      ORDER BY u.text
      """, channel.id, from.number, to.number
    ) { (row) throws(StoreError) in try body(try Stored.url(row.get(0)), DifferenceRow(row: row)) }
  }
}

/// The old and new resource of a URL, in the columns after the URL; read only on demand.
struct DifferenceRow {
  fileprivate let row: Statement

  /// The first column of the new resource, which is its id.
  private static let now = 2 + ManifestRow.columns

  init(row: Statement) { self.row = row }

  /// The old resource; nil if there was none.
  func was() throws(StoreError) -> ManifestRow? {
    row.isNull(1) ? nil : try ManifestRow(row, from: 2)
  }

  var hadEntry: Bool { !row.isNull(1) }

  /// The size of the old resource, in bytes.
  var sizeBefore: Int64 { row.isNull(1) ? 0 : row.get(4) }

  /// The new resource; nil if there is none.
  func now() throws(StoreError) -> ManifestRow? {
    row.isNull(Self.now) ? nil : try ManifestRow(row, from: Self.now + 1)
  }
}

/// A resource of a channel, as read from its rows.
struct ManifestRow {
  let content: ResourceContent
  let version: Int64
  let broughtIn: ManifestVersion
  let publicURL: String

  /// The number of columns that a resource is read from.
  static let columns = ResourceContent.columns + 3

  /// Reads a resource's columns. In the statements, `r`, `b`, `t` and `p` are the resource with its blob, type and
  /// public URL. (A StaticString can't be concatenated, so each statement lists the columns.)
  init(_ row: Statement, from column: Int32) throws(StoreError) {
    content = try ResourceContent(row, from: column)
    let next = column + ResourceContent.columns
    version = row.get(next)
    broughtIn = row.version(next + 1)
    publicURL = row.sharedText(next + 2)
  }

  /// The resource's manifest entry. It never changes, because all of it is fixed by the resource's row.
  func entry(_ url: ResourceURL, in channel: ChannelInfo) throws(StoreError) -> Entry {
    let path = DownloadPath(
      channel: channel.name, appID: channel.appID, manifestVersion: broughtIn, resourceVersion: version,
      sha256: content.sha256, url: url)
    let base = publicURL == channel.publicURL.text ? channel.publicURL : try Stored.base(publicURL)
    return Entry(content, download: path.url(publicURL: base), version: version)
  }
}
