import Manifests
import System

/// A version of a document that nothing needs any more.
struct UnneededDocument: Sendable {
  let channel: Int64
  let name: String
  let version: Int64

  /// The successor of a version that stays is removed: what devices had afterwards isn't known any more.
  func delete(in db: Database) throws(StoreError) {
    try db.run(
      """
      INSERT INTO document_end (channel_id, name, version, at, manifest_version)
      SELECT d.channel_id, d.name, (SELECT max(version) FROM document AS k
          WHERE k.channel_id = d.channel_id AND k.name = d.name AND k.version < d.version), d.at, d.manifest_version
      FROM document AS d WHERE d.channel_id = ?1 AND d.name = ?2 AND d.version = ?3
      ON CONFLICT DO NOTHING
      """, channel, name, version)
    try db.run(
      "DELETE FROM document WHERE channel_id = ? AND name = ? AND version = ?", channel, name, version)
  }
}

// The versions of documents are kept like those of manifests: the newest, and those that a rollback to a kept manifest
// brings back.
extension Database {
  /// The versions of a channel's documents that gc removes, oldest first.
  ///
  /// These stay: as many of the newest as of releases, the policy that last turned interception on or off, each prefetch
  /// config that was the last one while a kept release was the newest, and the oldest version, so that it is known since when
  /// there is a config.
  func unneededDocuments(of channel: Int64, _ policy: RetentionPolicy, now: Int64) throws(StoreError)
    -> [UnneededDocument]
  {
    let releases = try retainedVersions(of: channel, policy, now: now).map(\.version.number)
    var unneeded: [UnneededDocument] = []
    for document in ChannelDocument.allCases {
      let rows = try all(
        """
        SELECT version, manifest_version, kind IN ('bypass', 'script') FROM document
        WHERE channel_id = ? AND name = ? ORDER BY version
        """, channel, document.rawValue
      ) {
        (
          version: $0.get(0, as: Int64.self), release: $0.get(1, as: Int64.self),
          isSwitch: $0.get(2, as: Int64.self) == 0
        )
      }
      var kept = Set(rows.suffix(max(1, policy.versions)).map(\.version))
      if let oldest = rows.first { kept.insert(oldest.version) }
      switch document {
      case .policy:
        if let last = rows.last(where: \.isSwitch) { kept.insert(last.version) }
      case .prefetch:
        for release in releases {
          let next = rows.partitionPoint { $0.release > release }
          if next > 0 { kept.insert(rows[next - 1].version) }
        }
      }
      unneeded += rows.filter { !kept.contains($0.version) }.map {
        UnneededDocument(channel: channel, name: document.rawValue, version: $0.version)
      }
    }
    return unneeded
  }

  /// The oldest version of a document above `version`; `version` if there is none.
  func oldestVersion(of document: ChannelDocument, in channel: Int64, after version: Int64) throws(StoreError)
    -> Int64
  {
    let oldest = try value(
      Int64?.self, "SELECT min(version) FROM document WHERE channel_id = ? AND name = ? AND version > ?",
      channel,
      document.rawValue, version)
    return (oldest ?? nil) ?? version
  }

  /// Deletes the scripts that no version of a policy names, except those stored in the last day, which a policy is about to name.
  func deleteUnneededScripts(now: Int64) throws(StoreError) -> [Int64] {
    try all(
      """
      DELETE FROM policy_script WHERE stored_at < ?1 AND lower(hex(sha256)) NOT IN (
        SELECT coalesce(json_extract(s.value, '$.sha256'), '') FROM document AS d, json_each(d.content, '$.scripts') AS s
        WHERE d.name = 'policy')
      RETURNING length(bytes)
      """, now - BlobStore.gracePeriod
    ) { $0.get(0, as: Int64.self) }
  }
}
