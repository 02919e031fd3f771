import Manifests
import System
import Values

/// A channel and its newest version. While a rollout is open, that is the candidate; what most devices follow is `full`.
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
  /// The version from which on entries name their bundle, in an app with a root; nil: none does.
  package private(set) var bundlesSince: ManifestVersion?
  /// The open rollout, whose candidate is the newest version; nil if none is open.
  package private(set) var rollout: Rollout?
  /// The state of the full version beside the candidate; nil if no rollout is open.
  private(set) var fullState: FullState?

  /// The version that the next release gets.
  package var nextVersion: ManifestVersion { ManifestVersion(max(version.number + 1, leastNext)) }

  /// The channel as most devices have it: at its full version, which is the newest one unless a rollout is open.
  package var full: ChannelInfo {
    guard let fullState else { return self }
    var channel = ChannelInfo(
      id: id, app: app, appID: appID, name: name, publicURL: publicURL, version: fullState.version,
      at: fullState.at, digest: fullState.digest, resources: fullState.resources, bytes: fullState.bytes,
      rollback: fullState.rollback, hosts: hosts, publicURLID: publicURLID, leastNext: leastNext,
      bundlesSince: bundlesSince)
    (channel.rollout, channel.fullState) = (rollout, fullState)
    return channel
  }

  /// The versions that polls are answered with: the full one, and the candidate if a rollout is open.
  package var answeredVersions: Set<ManifestVersion> { [version, full.version] }

  /// The channel at one of the versions that polls are answered with; nil for another one.
  package func answered(_ version: ManifestVersion) -> ChannelInfo? {
    version == self.version ? self : version == full.version ? full : nil
  }

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
      digest: digest, resources: resources, bytes: bytes, rollback: full.rollback, hosts: hosts,
      publicURLID: publicURLID, leastNext: leastNext, bundlesSince: bundlesSince)
  }

  /// The channel at another public URL, whose row has this id.
  func moved(to publicURL: BaseURL, id publicURLID: Int64) -> ChannelInfo {
    ChannelInfo(
      id: id, app: app, appID: appID, name: name, publicURL: publicURL, version: version, at: at,
      digest: digest,
      resources: resources, bytes: bytes, rollback: full.rollback, hosts: hosts, publicURLID: publicURLID,
      leastNext: leastNext, bundlesSince: bundlesSince)
  }

  /// The channel whose entries name their bundle from this version on.
  func namingBundles(since version: ManifestVersion) -> ChannelInfo {
    var channel = self
    channel.bundlesSince = version
    return channel
  }

  /// The channel after its newest version, a rollback.
  func rolledBack() -> ChannelInfo {
    var channel = self
    channel.rollback = version
    return channel
  }

  /// The channel with an open rollout of its newest version, beside this state of the full one.
  func with(_ rollout: Rollout, full: FullState) -> ChannelInfo {
    var channel = self
    (channel.rollout, channel.fullState) = (rollout, full)
    return channel
  }

  /// The channel with another state of its open rollout; nil ends it, and the newest version is the full one.
  func with(_ rollout: Rollout?) -> ChannelInfo {
    var channel = self
    (channel.rollout, channel.fullState) = (rollout, rollout == nil ? nil : fullState)
    return channel
  }

  /// The state of the full version, for the channel of a candidate that is made on it.
  var stateOfFull: FullState? {
    let full = full
    guard let at = full.at, let digest = full.digest, full.version != .none else { return nil }
    return FullState(
      version: full.version, at: at, digest: digest, resources: full.resources, bytes: full.bytes,
      rollback: full.rollback)
  }
}

extension ChannelInfo {
  /// Whether the entries of a version name their bundle.
  package func namesBundles(at version: ManifestVersion) -> Bool {
    bundlesSince.map { version >= $0 } ?? false
  }

  /// Whether entries name their bundle in only one of two versions: no patch, pack or delta pack leads from one to the other, and an
  /// answer to a device with `base` is the one to a device with an unknown version.
  package func crossesRebase(from base: ManifestVersion, to version: ManifestVersion) -> Bool {
    base != .none && version != .none && namesBundles(at: base) != namesBundles(at: version)
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
    let channel = try first(
      """
      SELECT c.id, a.name, a.id, c.name, p.text, r.version, r.at, r.digest, r.resources, r.bytes, p.id, c.least_next,
        c.rolled_back, c.hosts,
        (SELECT version FROM rollout WHERE channel_id = c.id AND state = 'open'), c.bundles_since
      FROM app AS a
      JOIN channel AS c ON c.app_id = a.id AND c.name = ?2 AND c.removed_at IS NULL
      JOIN public_url AS p ON p.id = c.public_url_id
      LEFT JOIN release AS r ON r.channel_id = c.id
        AND r.version = (SELECT max(version) FROM release WHERE channel_id = c.id)
      WHERE a.name = ?1
      """, app.text, name.text, read: ReadChannel.init)
    return try channel.map { (read) throws(StoreError) in try complete(read) }
  }

  /// A channel's row, and whether a rollout is open in it.
  private struct ReadChannel {
    let info: ChannelInfo
    let hasRollout: Bool

    init(_ row: Statement) throws(StoreError) {
      let channel = try ChannelInfo(row)
      info = row.isNull(15) ? channel : channel.namingBundles(since: row.version(15))
      hasRollout = !row.isNull(14)
    }
  }

  private func complete(_ read: ReadChannel) throws(StoreError) -> ChannelInfo {
    let channel = read.info
    guard read.hasRollout, let rollout = try openRollout(of: channel.id) else { return channel }
    let full = try fullState(of: rollout, in: channel.id, rollback: channel.rollback)
    let kind = try ReleaseRow.find(rollout.candidate, of: channel.id, in: self)?.kind
    // That the candidate is a rollback matters to those who take it only.
    return (kind == .rollback ? channel.rolledBack() : channel).with(rollout, full: full)
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
    let channels = try all(
      """
      SELECT c.id, a.name, a.id, c.name, p.text, r.version, r.at, r.digest, r.resources, r.bytes, p.id, c.least_next,
        c.rolled_back, c.hosts,
        (SELECT version FROM rollout WHERE channel_id = c.id AND state = 'open'), c.bundles_since
      FROM channel AS c
      JOIN app AS a ON a.id = c.app_id
      JOIN public_url AS p ON p.id = c.public_url_id
      LEFT JOIN release AS r ON r.channel_id = c.id
        AND r.version = (SELECT max(version) FROM release WHERE channel_id = c.id)
      WHERE (c.removed_at IS NOT NULL) = ?
      ORDER BY a.id, c.id
      """, removed ? 1 : 0, read: ReadChannel.init)
    var infos: [ChannelInfo] = []
    infos.reserveCapacity(channels.count)
    for channel in channels { infos.append(try complete(channel)) }
    return infos
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
