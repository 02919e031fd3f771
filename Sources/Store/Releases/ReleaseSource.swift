import Manifests

/// Where the content of a rollback or a promotion comes from.
package struct ReleaseSource: Sendable {
  /// For a rollback the channel itself.
  package let channel: ChannelInfo
  package let version: ManifestVersion
  /// The one bundle that it is about; nil: all of the channel.
  package let bundle: BundleName?

  package init(channel: ChannelInfo, version: ManifestVersion, bundle: BundleName?) {
    self.channel = channel
    self.version = version
    self.bundle = bundle
  }
}

/// What the log tells of a release beyond its numbers.
package struct ReleaseDetails: Hashable, Sendable {
  /// Where its content came from: the version, and the channel where it is another one.
  package struct Source: Hashable, Sendable {
    package let channel: ChannelName
    package let version: ManifestVersion
    /// The one bundle that it was about; nil: all of the channel.
    package let bundle: BundleName?
  }

  /// For a rollback or a promotion.
  package let source: Source?
  package let brokenGlass: BrokenGlass?

  /// Why it was made though the channel was frozen, and by whom it was.
  package struct BrokenGlass: Hashable, Sendable {
    package let reason: String
    package let frozenBy: String
  }
}

extension Database {
  func details(ofRelease version: Int64, in channel: Int64) throws(StoreError) -> ReleaseDetails {
    let source = try first(
      """
      SELECT c.name, s.source_version, b.name
      FROM release_source AS s
      JOIN channel AS c ON c.id = s.source_channel_id
      LEFT JOIN bundle AS b ON b.id = s.bundle_id
      WHERE s.channel_id = ? AND s.version = ?
      """, channel, version
    ) { (row) throws(StoreError) in
      ReleaseDetails.Source(
        channel: try Stored.channel(row.get(0)), version: row.version(1),
        bundle: row.isNull(2) ? nil : try Stored.bundle(row.get(2)))
    }
    let glass = try first(
      "SELECT reason, frozen_by FROM broken_glass WHERE channel_id = ? AND version = ?", channel, version
    ) { ReleaseDetails.BrokenGlass(reason: $0.get(0), frozenBy: $0.get(1)) }
    return ReleaseDetails(source: source, brokenGlass: glass)
  }
}
