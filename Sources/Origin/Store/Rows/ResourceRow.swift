import Manifests
import Values

/// The rows of URLs (`url`).
enum URLRow {
  static func id(of url: ResourceURL, in channel: Int64, _ db: Database) throws(StoreError) -> Int64? {
    try db.value(Int64.self, "SELECT id FROM url WHERE channel_id = ? AND text = ?", channel, url.text)
  }

  static func url(_ id: Int64, in db: Database) throws(StoreError) -> ResourceURL {
    try Stored.url(db.value(String.self, "SELECT text FROM url WHERE id = ?", id) ?? "")
  }

  static func insert(_ url: ResourceURL, of channel: Int64, in db: Database) throws(StoreError) -> Int64 {
    let key = url.matchKey
    try db.run(
      "INSERT INTO url (channel_id, text, match_key) VALUES (?, ?, ?)", channel, url.text,
      key == url.text ? nil : key)
    return db.lastRowID
  }

  /// Inserts rows with these ids.
  static func insert(_ rows: [(id: Int64, url: ResourceURL)], of channel: Int64, in db: Database)
    throws(StoreError)
  {
    try db.insert(
      "INSERT INTO url (id, channel_id, text, match_key)",
      rows.map { row in
        let (text, key) = (row.url.text, row.url.matchKey)
        return (row.id, channel, text, key == text ? String?.none : key)
      })
  }

  /// The id of the next new row.
  /// - Parameters:
  ///   - count: how many rows are to be inserted at most.
  ///   - db: the connection.
  static func nextID(for count: Int, in db: Database) throws(StoreError) -> Int64 {
    try Database.firstID(after: try db.value(Int64.self, "SELECT max(id) FROM url"), for: count)
  }

  /// The version that the next resource of a URL gets.
  static func nextVersion(of id: Int64, in db: Database) throws(StoreError) -> Int64 {
    try db.value(Int64.self, "SELECT versions + 1 FROM url WHERE id = ?", id) ?? 1
  }

  /// Raises the number of resource versions that a URL has had.
  static func raiseVersions(of id: Int64, to versions: Int64, in db: Database) throws(StoreError) {
    try db.run("UPDATE url SET versions = max(versions, ?) WHERE id = ?", versions, id)
  }

  /// URLs that can be deleted. A URL that had one content goes with it: its name mostly carries the content's hash, and
  /// it gets version 1 again if it comes back. A URL that had several stays, so that its resource versions keep rising,
  /// unless its channel was removed.
  static func unneeded(in db: Database) throws(StoreError) -> [Int64] {
    try db.all(
      """
      SELECT id FROM url
      WHERE (versions <= 1 OR channel_id IN (SELECT id FROM channel WHERE removed_at IS NOT NULL))
        AND NOT EXISTS (SELECT 1 FROM resource WHERE url_id = url.id)
      """
    ) { $0.get(0) }
  }

  /// - Returns: whether it was deleted; a release may have come to use it again.
  static func deleteUnneeded(_ id: Int64, in db: Database) throws(StoreError) -> Bool {
    try db.value(
      Int64.self,
      """
      DELETE FROM url WHERE id = ?1
      AND (versions <= 1 OR channel_id IN (SELECT id FROM channel WHERE removed_at IS NOT NULL))
      AND NOT EXISTS (SELECT 1 FROM resource WHERE url_id = ?1) RETURNING 1
      """, id) != nil
  }
}

/// The ids of a channel's URLs, as far as a transaction knows them.
struct URLRows {
  private let channel: Int64
  private var ids: [ResourceURL: Int64]

  /// - Parameters:
  ///   - channel: the channel's id.
  ///   - ids: the existing ids of all URLs that will be asked for.
  ///   - room: about how many URLs those are.
  init(of channel: Int64, known ids: [ResourceURL: Int64] = [:], capacity: Int = 0) {
    self.channel = channel
    self.ids = ids
    self.ids.reserveCapacity(capacity)
  }

  /// The id of a URL that the channel has seen; nil if it never has.
  subscript(url: ResourceURL) -> Int64? { ids[url] }

  /// Records the id of a new URL.
  mutating func add(_ url: ResourceURL, _ id: Int64) { ids[url] = id }

  /// The id of a URL that must have one by now.
  func id(of url: ResourceURL) throws(StoreError) -> Int64 {
    guard let id = ids[url] else { throw .corruptRow(url.text) }
    return id
  }

  /// The id of a URL, inserted if the channel has never seen it.
  mutating func findOrInsert(_ url: ResourceURL, in db: Database) throws(StoreError) -> Int64 {
    if let id = ids[url] { return id }
    let id = try URLRow.insert(url, of: channel, in: db)
    ids[url] = id
    return id
  }
}

/// A row of `resource`: a URL with its bytes, and all that its download URL consists of. It never changes.
struct ResourceRow {
  let url: Int64
  let version: Int64
  let blob: Int64
  let contentType: Int64
  let publicURL: Int64
  let broughtIn: ManifestVersion

  /// - Returns: the row's id.
  func insert(in db: Database) throws(StoreError) -> Int64 {
    try db.run(
      """
      INSERT INTO resource (url_id, version, blob_id, content_type_id, public_url_id, brought_in)
      VALUES (?, ?, ?, ?, ?, ?)
      """, url, version, blob, contentType, publicURL, broughtIn.number)
    return db.lastRowID
  }

  /// Inserts rows with these ids.
  static func insert(_ rows: [(id: Int64, row: ResourceRow)], in db: Database) throws(StoreError) {
    try db.insert(
      "INSERT INTO resource (id, url_id, version, blob_id, content_type_id, public_url_id, brought_in)",
      rows.map { id, row in
        (id, row.url, row.version, row.blob, row.contentType, row.publicURL, row.broughtIn.number)
      })
  }

  /// The id of the next new row.
  /// - Parameters:
  ///   - count: how many rows are to be inserted at most.
  ///   - db: the connection.
  static func nextID(for count: Int, in db: Database) throws(StoreError) -> Int64 {
    try Database.firstID(after: try db.value(Int64.self, "SELECT max(id) FROM resource"), for: count)
  }

  /// Finds the resource of a URL with these bytes and what is said of them, and passes `read` what its download URL consists of now:
  /// the public URL is the channel's, except if the resource is live with another one, because live rows of a URL have to agree.
  /// `id` is nil if the resource has no row with that public URL: the channel was moved since.
  static func find<Result>(
    url: Int64, blob: Int64, contentType: Int64, of channel: ChannelInfo, in db: Database,
    read: (_ id: Int64?, _ version: Int64, _ broughtIn: ManifestVersion, _ base: BaseURL) -> Result
  ) throws(StoreError) -> Result? {
    try db.first(
      """
      SELECT r.id, r.version, r.brought_in, p.text, r.public_url_id = ?4,
        EXISTS (SELECT 1 FROM entry WHERE resource_id = r.id AND until IS NULL) AS is_live
      FROM resource AS r JOIN public_url AS p ON p.id = r.public_url_id
      WHERE r.url_id = ?1 AND r.blob_id = ?2 AND r.content_type_id = ?3
      ORDER BY is_live DESC, r.public_url_id = ?4 DESC, r.id DESC LIMIT 1
      """, url, blob, contentType, channel.publicURLID
    ) { (row) throws(StoreError) in
      let isUsed = row.get(4, as: Int64.self) == 1 || row.get(5, as: Int64.self) == 1
      return read(
        isUsed ? row.get(0) : nil, row.get(1), row.version(2),
        isUsed ? try Stored.base(row.get(3)) : channel.publicURL)
    }
  }

  /// Resources that no entry names.
  static func unneeded(in db: Database) throws(StoreError) -> [Int64] {
    try db.all(
      "SELECT id FROM resource WHERE NOT EXISTS (SELECT 1 FROM entry WHERE resource_id = resource.id)"
    ) { $0.get(0) }
  }

  /// - Returns: whether it was deleted; a release may have come to use it again.
  static func deleteUnneeded(_ id: Int64, in db: Database) throws(StoreError) -> Bool {
    try db.value(
      Int64.self,
      """
      DELETE FROM resource WHERE id = ?1
      AND NOT EXISTS (SELECT 1 FROM entry WHERE resource_id = ?1) RETURNING 1
      """, id) != nil
  }
}

/// The rows of what is said of bytes (`content_type`): a content type with headers and fallbacks, lazy or not.
enum ContentTypeRow {
  /// The id of the row, inserted if there is none.
  static func findOrInsert(
    _ type: String, _ headers: EntryHeaders, _ fallbacks: PageFallbacks, isLazy: Bool, in db: Database
  ) throws(StoreError) -> Int64 {
    if let id = try find(type, headers, fallbacks, isLazy: isLazy, in: db) { return id }
    try db.run(
      "INSERT INTO content_type (text, headers, fallback, lazy) VALUES (?, ?, ?, ?)", type,
      text(headers.json), text(fallbacks.json), isLazy ? 1 : 0)
    return db.lastRowID
  }

  /// The id of the row; nil if there is none.
  static func find(
    _ type: String, _ headers: EntryHeaders, _ fallbacks: PageFallbacks, isLazy: Bool, in db: Database
  ) throws(StoreError) -> Int64? {
    try db.value(
      Int64.self, "SELECT id FROM content_type WHERE text = ? AND headers = ? AND fallback = ? AND lazy = ?",
      type, text(headers.json), text(fallbacks.json), isLazy ? 1 : 0)
  }

  private static func text(_ json: JSONValue) -> String { String(decoding: json.canonical, as: UTF8.self) }

  /// Rows that no resource has.
  static func unneeded(in db: Database) throws(StoreError) -> [Int64] {
    try db.all(
      """
      SELECT id FROM content_type
      WHERE NOT EXISTS (SELECT 1 FROM resource WHERE content_type_id = content_type.id)
      """
    ) { $0.get(0) }
  }

  /// - Returns: whether it was deleted; a release may have come to use it again.
  static func deleteUnneeded(_ id: Int64, in db: Database) throws(StoreError) -> Bool {
    try db.value(
      Int64.self,
      """
      DELETE FROM content_type WHERE id = ?1
      AND NOT EXISTS (SELECT 1 FROM resource WHERE content_type_id = ?1) RETURNING 1
      """, id) != nil
  }
}

extension ResourceContent {
  /// The number of columns that a content is read from.
  static let columns: Int32 = 7

  /// Reads the columns md5, sha256, size, type, headers, fallback and lazy, starting at `column`.
  init(_ row: Statement, from column: Int32) throws(StoreError) {
    self.init(
      md5: row.get(column), sha256: row.get(column + 1), size: row.get(column + 2),
      ctype: try Stored.contentType(row, column + 3), headers: try Stored.headers(row, column + 4),
      fallbacks: try Stored.fallbacks(row, column + 5), isLazy: row.get(column + 6, as: Int64.self) != 0)
  }
}
