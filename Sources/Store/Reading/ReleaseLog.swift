import Manifests
import System

/// A release as the log tells it.
package struct ReleaseRecord: Hashable, Sendable {
  package struct Bundle: Hashable, Sendable {
    package let name: BundleName
    package let counts: ChangeCounts
  }

  package let version: ManifestVersion
  package let kind: ReleaseKind
  /// Milliseconds since 1970.
  package let at: Int64
  package let author: String
  package let message: String
  package let digest: SHA256
  /// What it did to the channel's manifest.
  package let counts: ChangeCounts
  /// Bytes of what it added or changed.
  package let newBytes: Int64
  /// The manifest afterwards.
  package let resources: Int
  package let bytes: Int64
  /// Sorted by name.
  package let bundles: [Bundle]
  package let details: ReleaseDetails
}

extension Store {
  /// The newest `limit` releases below version `before`, newest first.
  package func log(_ channel: ChannelInfo, limit: Int = 50, before: ManifestVersion? = nil) throws(StoreError)
    -> [ReleaseRecord]
  {
    try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT version, kind, at, author, message, digest, added, changed, removed, new_bytes, resources, bytes
        FROM release WHERE channel_id = ? AND version < ? ORDER BY version DESC LIMIT ?
        """, channel.id, before?.number ?? .max, max(0, limit)
      ) { (row) throws(StoreError) in
        try ReleaseRecord(row, in: channel.id, db)
      }
    }
  }

  /// A kept release.
  /// - Throws: `unknownVersion`.
  package func release(_ version: ManifestVersion, of channel: ChannelInfo) throws(StoreError)
    -> ReleaseRecord
  {
    let found = try log(channel, limit: 1, before: ManifestVersion(version.number + 1))
    guard let release = found.first, release.version == version else { throw .unknownVersion(version) }
    return release
  }
}

extension Database {
  fileprivate func bundles(ofRelease version: Int64, in channel: Int64) throws(StoreError)
    -> [ReleaseRecord.Bundle]
  {
    try all(
      """
      SELECT b.name, rb.added, rb.changed, rb.removed
      FROM release_bundle AS rb JOIN bundle AS b ON b.id = rb.bundle_id
      WHERE rb.channel_id = ? AND rb.version = ? ORDER BY b.name
      """, channel, version
    ) { (row) throws(StoreError) in
      ReleaseRecord.Bundle(name: try Stored.bundle(row.get(0)), counts: ChangeCounts(row, from: 1))
    }
  }
}

extension ReleaseRecord {
  fileprivate init(_ row: Statement, in channel: Int64, _ db: Database) throws(StoreError) {
    guard let kind = ReleaseKind(rawValue: row.get(1)) else { throw .corruptRow(row.get(1)) }
    self.init(
      version: row.version(0), kind: kind, at: row.get(2), author: row.get(3),
      message: row.get(4),
      digest: row.get(5), counts: ChangeCounts(row, from: 6), newBytes: row.get(9), resources: row.get(10),
      bytes: row.get(11), bundles: try db.bundles(ofRelease: row.get(0), in: channel),
      details: try db.details(ofRelease: row.get(0), in: channel))
  }
}

extension ChangeCounts {
  fileprivate init(_ row: Statement, from column: Int32) {
    self.init(added: row.get(column), changed: row.get(column + 1), removed: row.get(column + 2))
  }
}
