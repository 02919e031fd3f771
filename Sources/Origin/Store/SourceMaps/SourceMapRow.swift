import System

/// A row of `source_map`: that a file of a channel has a map.
struct SourceMapRow: Sendable {
  private let channel: Int64
  private let file: SHA256

  /// The maps of files that no kept version of the app has, nor a scheduled act: but for those of the last day, whose release may be
  /// about to be made.
  static func unneeded(now: Int64, in db: Database) throws(StoreError) -> [SourceMapRow] {
    try db.all(
      """
      SELECT m.channel_id, m.file FROM source_map AS m WHERE m.stored_at < ?1
      AND NOT EXISTS (SELECT 1 FROM blob AS b
        JOIN resource AS r ON r.blob_id = b.id
        JOIN url AS u ON u.id = r.url_id
        JOIN channel AS c ON c.id = u.channel_id
        WHERE b.sha256 = m.file AND c.app_id = (SELECT app_id FROM channel WHERE id = m.channel_id))
      AND NOT EXISTS (SELECT 1 FROM scheduled_blob AS s WHERE s.sha256 = m.file)
      """, now - BlobStore.gracePeriod
    ) { SourceMapRow(channel: $0.get(0), file: $0.get(1)) }
  }

  /// - Returns: whether it was deleted; a release may have come to have the file again.
  func deleteUnneeded(now: Int64, in db: Database) throws(StoreError) -> Bool {
    try db.value(
      Int64.self,
      """
      DELETE FROM source_map AS m WHERE m.channel_id = ?2 AND m.file = ?3 AND m.stored_at < ?1
      AND NOT EXISTS (SELECT 1 FROM blob AS b
        JOIN resource AS r ON r.blob_id = b.id
        JOIN url AS u ON u.id = r.url_id
        JOIN channel AS c ON c.id = u.channel_id
        WHERE b.sha256 = m.file AND c.app_id = (SELECT app_id FROM channel WHERE id = m.channel_id))
      AND NOT EXISTS (SELECT 1 FROM scheduled_blob AS s WHERE s.sha256 = m.file) RETURNING 1
      """, now - BlobStore.gracePeriod, channel, file) != nil
  }

  /// Adds to a forecast the blobs of maps that would stay.
  /// - Parameters:
  ///   - resources: the ids of the resources that stay.
  ///   - blobs: receives the blobs' ids.
  ///   - now: milliseconds since 1970.
  ///   - db: the connection.
  static func addStaying(with resources: Set<Int64>, to blobs: inout Set<Int64>, now: Int64, in db: Database)
    throws(StoreError)
  {
    try db.each(
      """
      SELECT m.blob_id FROM source_map AS m WHERE m.stored_at >= ?
      OR EXISTS (SELECT 1 FROM scheduled_blob AS s WHERE s.sha256 = m.file)
      """, now - BlobStore.gracePeriod
    ) { blobs.insert($0.get(0)) }
    try db.each(
      """
      SELECT m.blob_id, r.id FROM source_map AS m
      JOIN channel AS o ON o.id = m.channel_id
      JOIN blob AS b ON b.sha256 = m.file
      JOIN resource AS r ON r.blob_id = b.id
      JOIN url AS u ON u.id = r.url_id
      JOIN channel AS c ON c.id = u.channel_id AND c.app_id = o.app_id
      """
    ) { row in
      if resources.contains(row.get(1)) { blobs.insert(row.get(0)) }
    }
  }
}

extension Database {
  /// Forgets the maps of a file that is purged, whose source text they may contain, and the files of a map that is.
  func forgetSourceMaps(with sha256: SHA256) throws(StoreError) {
    try run(
      "DELETE FROM source_map WHERE file = ?1 OR blob_id = (SELECT id FROM blob WHERE sha256 = ?1)", sha256)
  }
}
