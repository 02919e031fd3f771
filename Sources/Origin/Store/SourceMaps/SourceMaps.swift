import Manifests
import System

extension Store {
  /// Stores source maps of a channel's scripts and styles, all or none. The newest map of a file replaces an earlier one.
  ///
  /// They may come before the release that has the files: then the files' bytes have to be here, and a map that no release needs stays
  /// for a day.
  /// - Parameters:
  ///   - maps: the files and their maps.
  ///   - channel: the channel.
  ///   - bundles: the only bundles that the sender may change; nil: all.
  ///   - actor: who sent them.
  ///   - record: keeps the answer for retries.
  /// - Throws: `missingBlobs`; `digestMismatch` if a map has another size; `purged`.
  package func keep(
    _ maps: [SourceMapClaim], of channel: ChannelInfo, bundles: BundleGlob? = nil, by actor: Actor,
    record: AnswerRecord<SourceMapOutcome>? = nil
  ) throws(StoreError) -> SourceMapOutcome {
    let found = try blobs.survey(maps.map(\.map))
    let files = try blobs.survey(maps.map(\.file))
    defer { blobs.releaseReservations(maps.map(\.map)) }
    let missing = found.survey.missing + files.survey.missing
    guard missing.isEmpty else { throw .missingBlobs(missing) }
    for map in maps {
      guard let stored = found.known[map.map], stored.size != map.size else { continue }
      throw .digestMismatch(
        announced: BlobClaim(sha256: map.map, md5: stored.md5, size: map.size), received: stored)
    }
    try blobs.persist(found.survey.waiting)
    let now = clock()
    let outcome = try connections.transaction(keeping: record, now: now, isUrgent: false) {
      (db) throws(StoreError) in
      var outcome = SourceMapOutcome()
      for map in maps {
        if let bundles, try db.isOnlyInOthers(map.file, than: bundles, in: channel.id) {
          outcome.refused += 1
        } else if try db.put(map, in: channel.id, persisted: blobs, now: now) {
          outcome.stored += 1
        } else {
          outcome.known += 1
        }
      }
      guard outcome.stored > 0 else { return outcome }
      try db.audit(
        AuditEvent(
          "source-maps", app: channel.app, channel: channel.name,
          parameters: ["maps": .integer(maps.count)],
          result: ["refused": .integer(outcome.refused), "stored": .integer(outcome.stored)]),
        by: actor, now: now)
      return outcome
    }
    blobs.forgetPersisted(found.survey.waiting)
    return outcome
  }

  /// The source maps of files: those that were sent to the channel or, for what was promoted, to another one of the app.
  /// - Returns: the digest of each file's map; files without one aren't in it.
  package func sourceMaps(of files: Set<SHA256>, in channel: ChannelInfo) throws(StoreError)
    -> [SHA256: SHA256]
  {
    try connections.reading { (db) throws(StoreError) in
      var maps: [SHA256: SHA256] = [:]
      for file in files { maps[file] = try db.sourceMap(of: file, in: channel) }
      return maps
    }
  }
}

extension Database {
  fileprivate func sourceMap(of file: SHA256, in channel: ChannelInfo) throws(StoreError) -> SHA256? {
    try value(
      SHA256.self,
      """
      SELECT b.sha256 FROM source_map AS m
      JOIN channel AS c ON c.id = m.channel_id AND c.app_id = ?2
      JOIN blob AS b ON b.id = m.blob_id AND b.quarantined_at IS NULL
      WHERE m.file = ?1 ORDER BY m.channel_id = ?3 DESC, m.stored_at DESC LIMIT 1
      """, file, channel.appID, channel.id)
  }

  /// Whether kept versions of a channel have a file, and none of them in a bundle that the pattern names.
  fileprivate func isOnlyInOthers(_ file: SHA256, than bundles: BundleGlob, in channel: Int64)
    throws(StoreError) -> Bool
  {
    let names = try all(
      """
      SELECT DISTINCT n.name FROM blob AS b
      JOIN resource AS r ON r.blob_id = b.id
      JOIN entry AS e ON e.resource_id = r.id
      JOIN bundle AS n ON n.id = e.bundle_id
      WHERE b.sha256 = ? AND n.channel_id = ?
      """, file, channel
    ) { (row) throws(StoreError) in try Stored.bundle(row.get(0)) }
    return !names.isEmpty && !names.contains(where: bundles.matches)
  }

  /// Makes a map a file's, once its bytes are durable under `blobs/`. Its time is renewed even if it was that before: gc may be about to
  /// forget it.
  /// - Returns: whether the file had another map, or none.
  fileprivate func put(_ map: SourceMapClaim, in channel: Int64, persisted blobs: BlobStore, now: Int64)
    throws(StoreError) -> Bool
  {
    let row = try BlobRow.find(map.map, in: self)
    if row == nil || row?.isQuarantined == true {
      guard let digest = blobs.persisted(map.map) else { throw .missingBlobs([map.map]) }
      if row == nil {
        _ = try BlobRow.insert(digest, now: now, in: self)
      } else {
        try BlobRow.markWhole(map.map, at: now, in: self)
      }
    }
    guard let id = try BlobRow.find(map.map, in: self)?.id else { throw .missingBlobs([map.map]) }
    let before = try value(
      Int64.self, "SELECT blob_id FROM source_map WHERE channel_id = ? AND file = ?", channel, map.file)
    try run(
      """
      INSERT INTO source_map (channel_id, file, blob_id, stored_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (channel_id, file) DO UPDATE SET blob_id = excluded.blob_id, stored_at = excluded.stored_at
      """, channel, map.file, id, now)
    return before != id
  }
}
