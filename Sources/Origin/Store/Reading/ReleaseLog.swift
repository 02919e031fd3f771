import Manifests
import System

/// A release, as the log lists it.
package struct ReleaseRecord: Hashable, Sendable {
  /// A release's changes to one bundle.
  package struct Bundle: Hashable, Sendable {
    /// The bundle's name.
    package let name: BundleName
    /// How many of its URLs were added, changed and removed.
    package let counts: ChangeCounts
  }

  /// The version that it made.
  package let version: ManifestVersion
  /// The kind of act.
  package let kind: ReleaseKind
  /// Milliseconds since 1970.
  package let at: Int64
  /// The author.
  package let author: String
  /// The author's message; may be empty.
  package let message: String
  /// The SHA-256 of the canonical resourcemap.
  package let digest: SHA256
  /// The changes to the channel's manifest.
  package let counts: ChangeCounts
  /// Bytes of the resources that it added or changed.
  package let newBytes: Int64
  /// The number of resources in the manifest afterwards.
  package let resources: Int
  /// The bytes of all those resources.
  package let bytes: Int64
  /// The bundles that it changed, sorted by name.
  package let bundles: [Bundle]
  /// The source of its content, and the freeze that it overrode.
  package let details: ReleaseDetails
}

extension Store {
  /// The newest `limit` releases below version `before`, newest first.
  package func log(_ channel: ChannelInfo, limit: Int = 50, before: ManifestVersion? = nil) throws(StoreError)
    -> [ReleaseRecord]
  {
    try connections.reading { (db) throws(StoreError) in
      var records: [ReleaseRecord] = []
      let rows = try ReleaseRow.newest(max(0, limit), of: channel.id, below: before?.number ?? .max, in: db)
      for row in rows { records.append(try ReleaseRecord(row, in: db)) }
      return records
    }
  }

  /// The kept release of a version.
  /// - Throws: `unknownVersion`.
  package func release(_ version: ManifestVersion, of channel: ChannelInfo) throws(StoreError)
    -> ReleaseRecord
  {
    try connections.reading { (db) throws(StoreError) in
      guard let row = try ReleaseRow.find(version, of: channel.id, in: db) else {
        throw try version == .none ? .unknownVersion(version) : db.absence(of: version, in: channel.id)
      }
      return try ReleaseRecord(row, in: db)
    }
  }
}

extension ReleaseRecord {
  init(_ row: ReleaseRow, in db: Database) throws(StoreError) {
    let written = try db.all(
      """
      SELECT b.name, rb.added, rb.changed, rb.removed
      FROM release_bundle AS rb JOIN bundle AS b ON b.id = rb.bundle_id
      WHERE rb.channel_id = ? AND rb.version = ? ORDER BY b.name
      """, row.channel, row.version.number
    ) { (row) throws(StoreError) in
      Bundle(name: try Stored.bundle(row.get(0)), counts: ChangeCounts(row, from: 1))
    }
    // A bundle of the candidate that only follows the full version again wasn't changed by the release.
    let changed = written.filter { !$0.counts.isEmpty }
    let bundles = changed.isEmpty ? written : changed
    self.init(
      version: row.version, kind: row.kind, at: row.at, author: row.author, message: row.message,
      digest: row.digest, counts: row.counts, newBytes: row.newBytes, resources: row.resources,
      bytes: row.bytes, bundles: bundles, details: try db.details(ofRelease: row.version, in: row.channel))
  }
}
