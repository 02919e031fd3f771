import Manifests
import System
import Values

/// A row of `blob`: bytes that are stored, or were.
struct BlobRow {
  let id: Int64
  let digest: FileDigest
  /// Whether its file was found damaged or missing. Then it counts as not stored, and waits to be sent again.
  let isQuarantined: Bool

  static func find(_ sha256: SHA256, in db: Database) throws(StoreError) -> BlobRow? {
    try db.first("SELECT id, md5, size, quarantined_at FROM blob WHERE sha256 = ?", sha256) { row in
      BlobRow(
        id: row.get(0), digest: FileDigest(md5: row.get(1), sha256: sha256, size: row.get(2)),
        isQuarantined: !row.isNull(3))
    }
  }

  /// Inserts a row.
  /// - Parameters:
  ///   - digest: the blob's digests and size.
  ///   - isLost: whether a manifest names the blob although its bytes are nowhere.
  ///   - now: milliseconds since 1970.
  ///   - db: the connection.
  static func insert(_ digest: FileDigest, isLost: Bool = false, now: Int64, in db: Database)
    throws(StoreError) -> Int64
  {
    try db.run(
      "INSERT INTO blob (sha256, md5, size, stored_at, quarantined_at) VALUES (?, ?, ?, ?, ?)",
      digest.sha256, digest.md5, digest.size, now, isLost ? now : nil)
    let id = db.lastRowID
    // Its bytes were hashed as they arrived.
    if !isLost { try db.run("INSERT INTO blob_check (blob_id, checked_at) VALUES (?, ?)", id, now) }
    return id
  }

  /// Inserts rows for those that have none.
  /// - Returns: the ids of the inserted rows. A digest that isn't among them had a row already, or may have had one.
  static func insertNew(_ digests: [FileDigest], now: Int64, in db: Database) throws(StoreError)
    -> [SHA256: Int64]
  {
    let first = try Database.firstID(
      after: try db.value(Int64.self, "SELECT max(id) FROM blob"), for: digests.count)
    // In the order of the digests, so that their index is written page by page.
    let sorted = digests.sorted { $0.sha256 < $1.sha256 }
    var made: [SHA256: Int64] = [:]
    made.reserveCapacity(digests.count)
    try db.insert(
      "INSERT INTO blob (id, sha256, md5, size, stored_at)",
      sorted.enumerated().map { (first + Int64($0), $1.sha256, $1.md5, $1.size, now) },
      "ON CONFLICT (sha256) DO NOTHING"
    ) { (range, count) in
      guard count == range.count else { return }
      for index in range { made[sorted[index].sha256] = first + Int64(index) }
    }
    // All ids from the first on are new, whichever digests had rows.
    try db.run(
      "INSERT INTO blob_check (blob_id, checked_at) SELECT id, ? FROM blob WHERE id >= ?", now, first)
    return made
  }

  /// Marks the file of a blob as whole, as read back at `time`.
  static func markWhole(_ sha256: SHA256, at time: Int64, in db: Database) throws(StoreError) {
    try db.run(
      "UPDATE blob SET quarantined_at = NULL WHERE sha256 = ? AND quarantined_at IS NOT NULL", sha256)
    try db.run(
      """
      INSERT INTO blob_check (blob_id, checked_at) SELECT id, ? FROM blob WHERE sha256 = ?
      ON CONFLICT (blob_id) DO UPDATE SET checked_at = excluded.checked_at
      """, time, sha256)
  }

  /// Marks the file of a blob as damaged or missing, unless it is marked already.
  static func markDamaged(_ sha256: SHA256, at time: Int64, in db: Database) throws(StoreError) {
    try db.run(
      "UPDATE blob SET quarantined_at = ? WHERE sha256 = ? AND quarantined_at IS NULL", time, sha256)
    try db.run("DELETE FROM blob_check WHERE blob_id = (SELECT id FROM blob WHERE sha256 = ?)", sha256)
  }

  /// Marks whether a copy has a blob's bytes, and when they were read back.
  static func mark(_ sha256: SHA256, isWhole: Bool, at time: Int64, in db: Database) throws(StoreError) {
    if isWhole {
      try markWhole(sha256, at: time, in: db)
    } else {
      try markDamaged(sha256, at: time, in: db)
    }
  }

  /// Notes that the file of a blob was read back and is good.
  static func noteRead(_ sha256: SHA256, at time: Int64, in db: Database) throws(StoreError) {
    try db.run(
      "UPDATE blob_check SET checked_at = ? WHERE blob_id = (SELECT id FROM blob WHERE sha256 = ?)", time,
      sha256)
  }

  /// Blobs that no resource and no picture of a page names, that are no file's source map, and that no scheduled act needs.
  static func unneeded(in db: Database) throws(StoreError) -> [BlobFile] {
    try db.all(
      """
      SELECT sha256, size FROM blob WHERE NOT EXISTS (SELECT 1 FROM resource WHERE blob_id = blob.id)
      AND NOT EXISTS (SELECT 1 FROM source_map WHERE blob_id = blob.id)
      AND NOT EXISTS (SELECT 1 FROM scheduled_blob AS s WHERE s.sha256 = blob.sha256)
      AND NOT EXISTS (SELECT 1 FROM page_picture WHERE blob_id = blob.id)
      """, read: BlobFile.init)
  }

  /// - Returns: whether it was deleted; a release may have come to use it again.
  static func deleteUnneeded(_ sha256: SHA256, in db: Database) throws(StoreError) -> Bool {
    try db.value(
      Int64.self,
      """
      DELETE FROM blob WHERE sha256 = ?
      AND NOT EXISTS (SELECT 1 FROM resource WHERE blob_id = blob.id)
      AND NOT EXISTS (SELECT 1 FROM source_map WHERE blob_id = blob.id)
      AND NOT EXISTS (SELECT 1 FROM page_picture WHERE blob_id = blob.id)
      AND NOT EXISTS (SELECT 1 FROM scheduled_blob AS s WHERE s.sha256 = blob.sha256) RETURNING 1
      """, sha256) != nil
  }

  /// The digests of all blobs, whether or not their files are whole.
  static func names(in db: Database) throws(StoreError) -> Set<SHA256> {
    Set(try db.all("SELECT sha256 FROM blob") { $0.get(0, as: SHA256.self) })
  }

  /// The number of blobs that wait to be sent again.
  static func damaged(in db: Database) throws(StoreError) -> Int {
    try db.value(Int.self, "SELECT count(*) FROM blob WHERE quarantined_at IS NOT NULL") ?? 0
  }
}

/// The file of a blob that has a row.
struct BlobFile {
  let sha256: SHA256
  /// The size in bytes.
  let size: Int64

  fileprivate init(_ row: Statement) { (sha256, size) = (row.get(0), row.get(1)) }

  /// All blobs in the order in which they were stored, including those in quarantine: another copy may have their bytes.
  static func all(in db: Database) throws(StoreError) -> [BlobFile] {
    try db.all("SELECT sha256, size FROM blob ORDER BY id", read: BlobFile.init)
  }

  /// The blobs that count as good, in the order in which they were stored.
  static func good(in db: Database) throws(StoreError) -> [BlobFile] {
    try db.all("SELECT sha256, size FROM blob WHERE quarantined_at IS NULL ORDER BY id", read: BlobFile.init)
  }
}

extension ResourceContent {
  /// - Throws: `contentMismatch` if the publisher's MD5 or size isn't that of the stored bytes.
  func check(against stored: FileDigest, _ url: ResourceURL) throws(StoreError) {
    guard md5 == stored.md5, size == stored.size else {
      throw .contentMismatch(
        url: url, claimed: FileDigest(md5: md5, sha256: sha256, size: size), stored: stored)
    }
  }
}
