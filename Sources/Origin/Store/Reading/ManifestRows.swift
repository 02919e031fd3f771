import Manifests
import Values

extension Database {
  /// Calls `body` with each URL of the manifest at `version`, in order, and its resource.
  ///
  /// - Parameter names: whether the rows name their bundle; nil: as the entries of the version do. In a version before those that do,
  ///   a URL of two bundles then comes twice.
  func eachEntry(
    of channel: ChannelInfo, at version: ManifestVersion, names: Bool? = nil,
    _ body: (ResourceURL, ManifestRow) throws(StoreError) -> Void
  ) throws(StoreError) {
    if names ?? channel.namesBundles(at: version) {
      return try each(
        """
        SELECT u.text, b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy, r.version, r.brought_in, p.text, n.name
        FROM url AS u
        JOIN entry AS e ON e.url_id = u.id AND e.since <= ?2 AND (e.until IS NULL OR e.until > ?2)
        JOIN bundle AS n ON n.id = e.bundle_id
        JOIN resource AS r ON r.id = e.resource_id
        JOIN blob AS b ON b.id = r.blob_id
        JOIN content_type AS t ON t.id = r.content_type_id
        JOIN public_url AS p ON p.id = r.public_url_id
        WHERE u.channel_id = ?1
        ORDER BY u.text
        """, channel.id, version.number
      ) { (row) throws(StoreError) in
        try body(try Stored.url(row.get(0)), try ManifestRow(row, from: 1, namedIn: 11))
      }
    }
    // All bundles that hold a URL agree on its resource, so any one row will do.
    try each(
      """
      SELECT u.text, b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy, r.version, r.brought_in, p.text
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
  ///
  /// - Parameter names: whether the rows name their bundle, and one that moved to another bundle is a difference.
  func eachDifference(
    of channel: ChannelInfo, from: ManifestVersion, to: ManifestVersion, names: Bool = false,
    _ body: (ResourceURL, DifferenceRow) throws(StoreError) -> Void
  ) throws(StoreError) {
    for version in [from, to] { try requireKept(version, in: channel.id) }
    if names {
      return try each(
        """
        SELECT u.text, was.id, was_blob.md5, was_blob.sha256, was_blob.size, was_type.text, was_type.headers, was_type.fallback, was_type.lazy,
          was.version, was.brought_in, was_p.text, now.id, b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy, now.version, now.brought_in, p.text,
          was_n.name, now_n.name
        FROM url AS u
        LEFT JOIN entry AS was_e ON was_e.url_id = u.id AND was_e.since <= ?2
          AND (was_e.until IS NULL OR was_e.until > ?2)
        LEFT JOIN entry AS now_e ON now_e.url_id = u.id AND now_e.since <= ?3
          AND (now_e.until IS NULL OR now_e.until > ?3)
        LEFT JOIN bundle AS was_n ON was_n.id = was_e.bundle_id
        LEFT JOIN bundle AS now_n ON now_n.id = now_e.bundle_id
        LEFT JOIN resource AS was ON was.id = was_e.resource_id
        LEFT JOIN resource AS now ON now.id = now_e.resource_id
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
          AND (was.id IS NOT now.id OR was_e.bundle_id IS NOT now_e.bundle_id)
        ORDER BY u.text
        """, channel.id, from.number, to.number
      ) { (row) throws(StoreError) in
        try body(try Stored.url(row.get(0)), DifferenceRow(row: row, isNamed: true))
      }
    }
    try each(
      """
      SELECT u.text, was.id, was_blob.md5, was_blob.sha256, was_blob.size, was_type.text, was_type.headers, was_type.fallback, was_type.lazy,
        was.version, was.brought_in, was_p.text, now.id, b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy, now.version, now.brought_in, p.text
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
  /// Whether the names of both bundles follow.
  private let isNamed: Bool

  /// The first column of the new resource, which is its id.
  private static let now = 2 + ManifestRow.columns
  /// The column of the old bundle's name, before that of the new one's.
  private static let names = now + 1 + ManifestRow.columns

  init(row: Statement, isNamed: Bool = false) {
    self.row = row
    self.isNamed = isNamed
  }

  /// The old resource; nil if there was none.
  func was() throws(StoreError) -> ManifestRow? {
    row.isNull(1) ? nil : try ManifestRow(row, from: 2, namedIn: isNamed ? Self.names : nil)
  }

  var hadEntry: Bool { !row.isNull(1) }

  /// The size of the old resource, in bytes.
  var sizeBefore: Int64 { row.isNull(1) ? 0 : row.get(4) }

  /// The new resource; nil if there is none.
  func now() throws(StoreError) -> ManifestRow? {
    row.isNull(Self.now)
      ? nil : try ManifestRow(row, from: Self.now + 1, namedIn: isNamed ? Self.names + 1 : nil)
  }
}

/// A resource of a channel, as read from its rows.
struct ManifestRow {
  let content: ResourceContent
  let version: Int64
  let broughtIn: ManifestVersion
  let publicURL: String
  /// The bundle that the entry names; nil in a version whose entries name none.
  let bundle: BundleName?

  /// The number of columns that a resource is read from.
  static let columns = ResourceContent.columns + 3

  /// Reads a resource's columns. In the statements, `r`, `b`, `t` and `p` are the resource with its blob, type and
  /// public URL. (A StaticString can't be concatenated, so each statement lists the columns.)
  ///
  /// - Parameter name: the column of the bundle's name; nil if the entry names none.
  init(_ row: Statement, from column: Int32, namedIn name: Int32? = nil) throws(StoreError) {
    bundle = try name.map { (name) throws(StoreError) in try Stored.bundle(row.sharedText(name)) }
    content = try ResourceContent(row, from: column)
    let next = column + ResourceContent.columns
    version = row.get(next)
    broughtIn = row.version(next + 1)
    publicURL = row.sharedText(next + 2)
  }

  /// The resource's manifest entry. It never changes, because all of it but the bundle is fixed by the resource's row.
  func entry(_ url: ResourceURL, in channel: ChannelInfo) throws(StoreError) -> Entry {
    let path = DownloadPath(
      channel: channel.name, appID: channel.appID, manifestVersion: broughtIn, resourceVersion: version,
      sha256: content.sha256, url: url)
    let base = publicURL == channel.publicURL.text ? channel.publicURL : try Stored.base(publicURL)
    return Entry(content, download: path.url(publicURL: base), version: version, bundle: bundle)
  }
}
