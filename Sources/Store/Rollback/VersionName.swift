import Manifests

/// A version as people name it: by its number, or by a moment at which it was live.
package enum VersionName: Hashable, Sendable {
  case number(ManifestVersion)
  /// What devices got at that moment, in milliseconds since 1970.
  case moment(Int64)
}

extension Database {
  /// Writes down where the content of a release comes from, once the release has its row.
  func note(_ source: ReleaseSource, of version: ManifestVersion, in channel: Int64) throws(StoreError) {
    try run(
      """
      INSERT INTO release_source (channel_id, version, source_channel_id, source_version, bundle_id)
      VALUES (?1, ?2, ?3, ?4, (SELECT id FROM bundle WHERE channel_id = ?1 AND name = ?5))
      """, channel, version.number, source.channel.id, source.version.number, source.bundle?.text)
  }

  /// Writes down that a release was made in spite of a freeze.
  func noteBrokenGlass(
    _ reason: String?, _ freeze: ChannelFreeze?, _ version: ManifestVersion, in channel: Int64
  )
    throws(StoreError)
  {
    guard let reason, let freeze else { return }
    try run(
      "INSERT INTO broken_glass (channel_id, version, reason, frozen_by) VALUES (?, ?, ?, ?)", channel,
      version.number, reason, freeze.author)
  }

  /// The version that a name stands for; 0 for a moment before the first release.
  /// - Throws: `unknownMoment` where the version of then is not kept any more.
  func version(_ name: VersionName, of channel: ChannelInfo) throws(StoreError) -> ManifestVersion {
    guard case .moment(let moment) = name else {
      if case .number(let version) = name { return version }
      return .none
    }
    let live = try value(
      Int64.self,
      "SELECT version FROM release WHERE channel_id = ? AND at <= ? ORDER BY version DESC LIMIT 1",
      channel.id,
      moment)
    if let live { return ManifestVersion(live) }
    let oldest =
      try value(
        Int64?.self, "SELECT min(version) FROM release WHERE channel_id = ?", channel.id) ?? nil
    guard let oldest, oldest > 1 else { return .none }
    throw .unknownMoment(oldestKept: ManifestVersion(oldest))
  }
}

extension Store {
  /// The version that a name stands for; 0 for a moment before the first release.
  /// - Throws: `unknownMoment` where the version of then is not kept any more.
  package func version(_ name: VersionName, of channel: ChannelInfo) throws(StoreError) -> ManifestVersion {
    try connections.reading { (db) throws(StoreError) in try db.version(name, of: channel) }
  }
}
