import Manifests
import System

/// A row of `release`.
struct ReleaseRow {
  let channel: Int64
  let version: ManifestVersion
  let kind: ReleaseKind
  /// Milliseconds since 1970.
  let at: Int64
  let author: String
  let message: String
  let digest: SHA256
  let counts: ChangeCounts
  let newBytes: Int64
  let resources: Int
  let bytes: Int64

  /// - Parameter isCandidate: whether it goes to a part of the fleet first; the others mustn't pass a rollback that they don't get.
  func insert(isCandidate: Bool = false, in db: Database) throws(StoreError) {
    try db.run(
      """
      INSERT INTO release (channel_id, version, kind, at, author, message, digest, added, changed, removed,
        new_bytes, resources, bytes)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, channel, version.number, kind.rawValue, at, author, message, digest, counts.added, counts.changed,
      counts.removed, newBytes, resources, bytes)
    if kind == .rollback, !isCandidate { try ChannelRow.noteRollback(version, of: channel, in: db) }
  }

  /// The newest `limit` releases of a channel below a version, newest first.
  static func newest(_ limit: Int, of channel: Int64, below version: Int64, in db: Database)
    throws(StoreError) -> [ReleaseRow]
  {
    try db.all(
      """
      SELECT version, kind, at, author, message, digest, added, changed, removed, new_bytes, resources, bytes
      FROM release WHERE channel_id = ? AND version < ? ORDER BY version DESC LIMIT ?
      """, channel, version, limit
    ) { (row) throws(StoreError) in
      guard let kind = ReleaseKind(rawValue: row.get(1)) else { throw .corruptRow(row.get(1)) }
      return ReleaseRow(
        channel: channel, version: row.version(0), kind: kind, at: row.get(2), author: row.get(3),
        message: row.get(4), digest: row.get(5), counts: ChangeCounts(row, from: 6), newBytes: row.get(9),
        resources: row.get(10), bytes: row.get(11))
    }
  }

  /// The kept release of a version; nil if it isn't kept.
  static func find(_ version: ManifestVersion, of channel: Int64, in db: Database) throws(StoreError)
    -> ReleaseRow?
  {
    try newest(1, of: channel, below: version.number + 1, in: db).first { $0.version == version }
  }

  /// Deletes a release and its changes to each bundle.
  static func delete(_ version: ManifestVersion, of channel: Int64, in db: Database) throws(StoreError) {
    try db.run("DELETE FROM release_bundle WHERE channel_id = ? AND version = ?", channel, version.number)
    try db.run("DELETE FROM release WHERE channel_id = ? AND version = ?", channel, version.number)
  }
}

/// A row of `release_bundle`: what a release did to one bundle.
struct ReleaseBundleRow {
  let bundle: Int64
  let version: ManifestVersion
  let channel: Int64
  let counts: ChangeCounts
  /// What the bundle holds afterwards.
  let resources: Int
  let bytes: Int64

  func insert(in db: Database) throws(StoreError) {
    try db.run(
      """
      INSERT INTO release_bundle (bundle_id, version, channel_id, added, changed, removed, resources, bytes)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """, bundle, version.number, channel, counts.added, counts.changed, counts.removed, resources, bytes)
  }

  /// The last kept release up to a version that changed a bundle.
  static func last(of bundle: Int64, in channel: Int64, upTo version: ManifestVersion, _ db: Database)
    throws(StoreError) -> ReleaseBundleRow?
  {
    try db.first(
      """
      SELECT version, added, changed, removed, resources, bytes FROM release_bundle
      WHERE bundle_id = ? AND version <= ? ORDER BY version DESC LIMIT 1
      """, bundle, version.number
    ) { row in
      ReleaseBundleRow(
        bundle: bundle, version: row.version(0), channel: channel, counts: ChangeCounts(row, from: 1),
        resources: row.get(4), bytes: row.get(5))
    }
  }
}

extension ChangeCounts {
  /// Reads the columns added, changed and removed that begin at `column`.
  init(_ row: Statement, from column: Int32) {
    self.init(added: row.get(column), changed: row.get(column + 1), removed: row.get(column + 2))
  }
}

extension Database {
  /// The kept versions of a channel, oldest first.
  func versions(of channel: Int64) throws(StoreError) -> [ManifestVersion] {
    try all("SELECT version FROM release WHERE channel_id = ? ORDER BY version", channel) { $0.version(0) }
  }

  /// The newest `limit` kept versions of a channel below a number, newest first.
  func newestVersions(of channel: Int64, below version: Int64 = .max, limit: Int) throws(StoreError)
    -> [ManifestVersion]
  {
    try all(
      "SELECT version FROM release WHERE channel_id = ? AND version < ? ORDER BY version DESC LIMIT ?",
      channel,
      version, limit
    ) { $0.version(0) }
  }

  /// The author and time of a kept release.
  func stamp(of version: ManifestVersion, in channel: Int64) throws(StoreError) -> ReleaseStamp? {
    try first("SELECT author, at FROM release WHERE channel_id = ? AND version = ?", channel, version.number)
    {
      ReleaseStamp(version: version, author: $0.get(0), at: $0.get(1))
    }
  }

  /// Whether a version's manifest is known: it is kept, or it is the empty one before the first release.
  func isKept(_ version: ManifestVersion, in channel: Int64) throws(StoreError) -> Bool {
    if version == .none { return true }
    return try value(
      Int64.self, "SELECT 1 FROM release WHERE channel_id = ? AND version = ?", channel, version.number)
      != nil
  }

  /// - Throws: `unknownVersion` for a version that is no longer kept, `noVersion` for one that never existed.
  func requireKept(_ version: ManifestVersion, in channel: Int64) throws(StoreError) {
    guard try isKept(version, in: channel) else { throw try absence(of: version, in: channel) }
  }

  /// The error for a version that isn't kept.
  func absence(of version: ManifestVersion, in channel: Int64) throws(StoreError) -> StoreError {
    let newest =
      try value(Int64?.self, "SELECT max(version) FROM release WHERE channel_id = ?", channel).flatMap(\.self)
      ?? 0
    return version.number > newest
      ? .noVersion(version, newest: ManifestVersion(newest)) : .unknownVersion(version)
  }

  /// Whether what a bundle held at a version is known; always so for its own newest version.
  func isKnown(_ version: ManifestVersion, for bundle: BundleInfo?, in channel: Int64) throws(StoreError)
    -> Bool
  {
    if version == bundle?.version { return true }
    return try isKept(version, in: channel)
  }
}
