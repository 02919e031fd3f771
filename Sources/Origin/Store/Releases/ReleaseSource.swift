import Manifests

/// The source of a rollback's or promotion's content.
package struct ReleaseSource: Sendable {
  /// The channel that had the content; for a rollback, the channel itself.
  package let channel: ChannelInfo
  /// The version that had the content.
  package let version: ManifestVersion
  /// The bundle whose content it is; nil: the whole channel's.
  package let bundle: BundleName?

  /// Creates a source: the content of a version, or of one bundle in it.
  package init(channel: ChannelInfo, version: ManifestVersion, bundle: BundleName?) {
    self.channel = channel
    self.version = version
    self.bundle = bundle
  }
}

extension Database {
  /// Records the source of a release's content, once the release has its row.
  func note(_ source: ReleaseSource, of version: ManifestVersion, in channel: Int64) throws(StoreError) {
    try run(
      """
      INSERT INTO release_source (channel_id, version, source_channel_id, source_version, bundle_id)
      VALUES (?1, ?2, ?3, ?4, (SELECT id FROM bundle WHERE channel_id = ?1 AND name = ?5))
      """, channel, version.number, source.channel.id, source.version.number, source.bundle?.text)
  }

  /// Records that a candidate that was made again has the source of the one before.
  func copySource(of old: ManifestVersion, to new: ManifestVersion, in channel: Int64) throws(StoreError) {
    try run(
      """
      INSERT INTO release_source (channel_id, version, source_channel_id, source_version, bundle_id)
      SELECT channel_id, ?3, source_channel_id, source_version, bundle_id FROM release_source
      WHERE channel_id = ?1 AND version = ?2
      """, channel, old.number, new.number)
  }

  /// Records that a release was made in spite of a freeze.
  func recordOverride(
    _ reason: String?, _ freeze: ChannelFreeze?, _ version: ManifestVersion, in channel: Int64
  ) throws(StoreError) {
    guard let reason, let freeze else { return }
    try run(
      "INSERT INTO broken_glass (channel_id, version, reason, frozen_by) VALUES (?, ?, ?, ?)", channel,
      version.number, reason, freeze.author)
  }

  /// The source of a release's content, and the freeze that it overrode.
  func details(ofRelease version: ManifestVersion, in channel: Int64) throws(StoreError) -> ReleaseDetails {
    let source = try first(
      """
      SELECT c.name, s.source_version, b.name
      FROM release_source AS s
      JOIN channel AS c ON c.id = s.source_channel_id
      LEFT JOIN bundle AS b ON b.id = s.bundle_id
      WHERE s.channel_id = ? AND s.version = ?
      """, channel, version.number
    ) { (row) throws(StoreError) in
      ReleaseDetails.Source(
        channel: try Stored.channel(row.get(0)), version: row.version(1),
        bundle: row.isNull(2) ? nil : try Stored.bundle(row.get(2)))
    }
    let glass = try first(
      "SELECT reason, frozen_by FROM broken_glass WHERE channel_id = ? AND version = ?", channel,
      version.number
    ) { ReleaseDetails.EmergencyOverride(reason: $0.get(0), frozenBy: $0.get(1)) }
    return ReleaseDetails(source: source, emergencyOverride: glass)
  }
}
