import Manifests
import System

/// A channel and its newest version.
package struct ChannelInfo: Hashable, Sendable {
  /// The row's id, which stays for the life of the database.
  package let id: Int64
  /// The channel's app.
  package let app: AppName
  /// The app's number, which is part of download URLs.
  package let appID: Int64
  /// The channel's name, unique in its app.
  package let name: ChannelName
  /// The base of the download URLs of its next releases.
  package let publicURL: BaseURL
  /// The newest version; 0 if there is none.
  package let version: ManifestVersion
  /// The time of the newest release, in milliseconds since 1970.
  package let at: Int64?
  /// The SHA-256 of its canonical resourcemap.
  package let digest: SHA256?
  /// The number of URLs in its manifest.
  package let resources: Int
  /// The bytes of all those resources.
  package let bytes: Int64
  /// The newest version that is a rollback; nil if none is.
  package private(set) var rollback: ManifestVersion?
  /// The hosts whose URLs a release may name; nil: all.
  package let hosts: HostList?
  let publicURLID: Int64
  let leastNext: Int64

  /// The version that the next release gets.
  package var nextVersion: ManifestVersion { ManifestVersion(max(version.number + 1, leastNext)) }

  /// The channel at a version that is about to be made.
  package func at(_ version: ManifestVersion, digest: SHA256) -> ChannelInfo {
    after(version, at: at ?? 0, digest: digest, resources: resources, bytes: bytes)
  }

  /// The channel after a release.
  func after(_ version: ManifestVersion, at: Int64, digest: SHA256, resources: Int, bytes: Int64)
    -> ChannelInfo
  {
    ChannelInfo(
      id: id, app: app, appID: appID, name: name, publicURL: publicURL, version: version, at: at,
      digest: digest, resources: resources, bytes: bytes, rollback: rollback, hosts: hosts,
      publicURLID: publicURLID, leastNext: leastNext)
  }

  /// The channel at another public URL, whose row has this id.
  func moved(to publicURL: BaseURL, id publicURLID: Int64) -> ChannelInfo {
    ChannelInfo(
      id: id, app: app, appID: appID, name: name, publicURL: publicURL, version: version, at: at,
      digest: digest,
      resources: resources, bytes: bytes, rollback: rollback, hosts: hosts, publicURLID: publicURLID,
      leastNext: leastNext)
  }

  /// The channel after its newest version, a rollback.
  func rolledBack() -> ChannelInfo {
    var channel = self
    channel.rollback = version
    return channel
  }
}

/// A bundle and its newest version.
package struct BundleInfo: Hashable, Sendable {
  /// The bundle's name, unique in its channel.
  package let name: BundleName
  /// The last version at which it changed; 0 if it never held anything.
  package let version: ManifestVersion
  /// The number of URLs that it holds.
  package let resources: Int
  /// The bytes of all those resources.
  package let bytes: Int64
  let id: Int64
}

extension Database {
  /// A channel that wasn't removed; the app's name is compared ignoring case.
  func channel(_ app: AppName, _ name: ChannelName) throws(StoreError) -> ChannelInfo? {
    try first(
      """
      SELECT c.id, a.name, a.id, c.name, p.text, r.version, r.at, r.digest, r.resources, r.bytes, p.id, c.least_next,
        c.rolled_back, c.hosts
      FROM app AS a
      JOIN channel AS c ON c.app_id = a.id AND c.name = ?2 AND c.removed_at IS NULL
      JOIN public_url AS p ON p.id = c.public_url_id
      LEFT JOIN release AS r ON r.channel_id = c.id
        AND r.version = (SELECT max(version) FROM release WHERE channel_id = c.id)
      WHERE a.name = ?1
      """, app.text, name.text, read: ChannelInfo.init)
  }

  /// - Throws: `unknownApp`, `unknownChannel`, `appNameTaken`.
  func required(_ app: AppName, _ name: ChannelName) throws(StoreError) -> ChannelInfo {
    // The column ignores case, but names that differ only in case are not the same name.
    if let channel = try channel(app, name), channel.app == app { return channel }
    guard let known = try AppRow.name(app, in: self) else { throw .unknownApp(app) }
    throw known == app ? .unknownChannel(app, name) : .appNameTaken(app, by: known)
  }

  /// All channels of all apps, oldest first.
  /// - Parameter removed: whether to return the removed channels instead, whose rows still exist.
  func channels(removed: Bool = false) throws(StoreError) -> [ChannelInfo] {
    try all(
      """
      SELECT c.id, a.name, a.id, c.name, p.text, r.version, r.at, r.digest, r.resources, r.bytes, p.id, c.least_next,
        c.rolled_back, c.hosts
      FROM channel AS c
      JOIN app AS a ON a.id = c.app_id
      JOIN public_url AS p ON p.id = c.public_url_id
      LEFT JOIN release AS r ON r.channel_id = c.id
        AND r.version = (SELECT max(version) FROM release WHERE channel_id = c.id)
      WHERE (c.removed_at IS NOT NULL) = ?
      ORDER BY a.id, c.id
      """, removed ? 1 : 0, read: ChannelInfo.init)
  }

  func isRemoved(_ channel: Int64) throws(StoreError) -> Bool {
    try value(Int64.self, "SELECT 1 FROM channel WHERE id = ? AND removed_at IS NOT NULL", channel) != nil
  }

  func bundles(of channel: Int64) throws(StoreError) -> [BundleInfo] {
    try all(
      "SELECT id, name, version, resources, bytes FROM bundle WHERE channel_id = ? ORDER BY name", channel,
      read: BundleInfo.init)
  }

  func bundle(_ name: BundleName, of channel: Int64) throws(StoreError) -> BundleInfo? {
    try first(
      "SELECT id, name, version, resources, bytes FROM bundle WHERE channel_id = ? AND name = ?", channel,
      name.text, read: BundleInfo.init)
  }
}

extension ChannelInfo {
  fileprivate init(_ row: Statement) throws(StoreError) {
    self.init(
      id: row.get(0), app: try Stored.app(row.get(1)), appID: row.get(2),
      name: try Stored.channel(row.get(3)),
      publicURL: try Stored.base(row.get(4)), version: row.isNull(5) ? .none : row.version(5),
      at: row.get(6), digest: row.get(7), resources: row.get(8, as: Int?.self) ?? 0,
      bytes: row.get(9, as: Int64?.self) ?? 0, rollback: row.isNull(12) ? nil : row.version(12),
      hosts: try Stored.hosts(row.get(13)), publicURLID: row.get(10), leastNext: row.get(11))
  }
}

extension BundleInfo {
  fileprivate init(_ row: Statement) throws(StoreError) {
    self.init(
      name: try Stored.bundle(row.get(1)), version: row.version(2), resources: row.get(3),
      bytes: row.get(4), id: row.get(0))
  }
}
