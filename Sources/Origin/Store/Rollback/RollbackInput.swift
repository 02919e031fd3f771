import Manifests
import Trust
import Values

/// A version as people refer to it: by its number, or by a time at which it was live.
package enum VersionName: Hashable, Sendable {
  case number(ManifestVersion)
  /// The full version at that time, in milliseconds since 1970.
  case moment(Int64)
}

/// A request to bring back the content of an older version.
package struct RollbackInput: Sendable {
  /// The version to go back to.
  package enum Target: Hashable, Sendable {
    case version(VersionName)
    /// This many distinct contents back from the release whose content is live.
    case steps(Int)
  }

  /// The channel's app.
  package var app: AppName
  /// The channel.
  package var channel: ChannelName
  /// The one bundle to roll back; nil: the whole channel.
  package var bundle: BundleName?
  /// The version to go back to.
  package var target: Target
  /// Who rolls back.
  package var actor: Actor
  /// The reason; may be empty.
  package var message: String
  /// Refuse the rollback if the channel or the bundle changed after this version.
  package var ifVersion: ManifestVersion?
  /// The reason for rolling back although the channel is frozen.
  package var breakGlass: String?
  /// Report what would happen, but change nothing.
  package var dryRun: Bool
  /// Whether the prefetch config that was live then comes back, too.
  package var withPrefetch = false
  /// Statements for what comes back, in an app with a root, beside those that are stored.
  package var statements: [Signed<ReleaseStatement>] = []
  /// The same for the prefetch config.
  package var prefetchStatement: Signed<PrefetchStatement>?
  /// The hosts that the token is limited to; nil: all.
  package var hosts: HostList?
  /// What becomes of the prefetch config of an open rollout that this completes.
  package var candidatePrefetch = ReleaseInput.CandidatePrefetch.completed
  /// Whom it goes to first; nil: to all.
  package var rollout: RolloutAudience?
  /// Refuse the rollback if it would end an open rollout, or change what its candidate is made on.
  package var ifNoRollout = false

  /// Creates a rollback that leaves the prefetch config alone.
  package init(
    app: AppName, channel: ChannelName, bundle: BundleName? = nil, to target: Target, by actor: Actor,
    message: String = "", ifVersion: ManifestVersion? = nil, breakGlass: String? = nil, dryRun: Bool = false
  ) {
    self.app = app
    self.channel = channel
    self.bundle = bundle
    self.target = target
    self.actor = actor
    self.message = message
    self.ifVersion = ifVersion
    self.breakGlass = breakGlass
    self.dryRun = dryRun
  }
}

/// What a rollback did, or, for a dry run, would do.
package struct RollbackOutcome: Sendable {
  /// A rollback's changes to one bundle.
  package struct Bundle: Hashable, Sendable {
    /// The bundle's name.
    package let name: BundleName
    /// How many of its URLs were added, changed and removed.
    package let counts: ChangeCounts
    /// The bundle's releases after the target, newest first, which the rollback undoes.
    package let takenBack: [ReleaseStamp]
  }

  /// The release. Its changes are complete in a dry run, too.
  package internal(set) var release: ReleaseOutcome
  /// The version whose content came back.
  package let target: ManifestVersion
  /// The bundles that changed, sorted by name.
  package let bundles: [Bundle]
}

extension Database {
  /// The version that a name refers to; 0 for a time before the first release.
  /// - Throws: `unknownMoment` if the version of that time is no longer kept.
  func version(_ name: VersionName, of channel: ChannelInfo) throws(StoreError) -> ManifestVersion {
    let moment: Int64
    switch name {
    case .number(let version): return version
    case .moment(let time): moment = time
    }
    let live = try value(
      Int64.self,
      """
      SELECT version FROM release WHERE channel_id = ?1 AND at <= ?2 AND version NOT IN (
        SELECT version FROM rollout WHERE channel_id = ?1 AND state <> 'completed')
      ORDER BY version DESC LIMIT 1
      """, channel.id, moment)
    if let live, try !hasGap(after: live, in: channel) { return ManifestVersion(live) }
    let oldest =
      try value(
        Int64?.self, "SELECT min(version) FROM release WHERE channel_id = ?", channel.id) ?? nil
    guard let oldest, oldest > 1 else { return .none }
    throw .unknownMoment(oldestKept: ManifestVersion(oldest))
  }
}

extension Database {
  /// Whether versions between this one and the next kept one have been deleted, so that it isn't known which of them
  /// was live when. The numbers that a restore skips don't count.
  private func hasGap(after version: Int64, in channel: ChannelInfo) throws(StoreError) -> Bool {
    let next = try value(
      Int64?.self, "SELECT min(version) FROM release WHERE channel_id = ? AND version > ?", channel.id,
      version)
    guard let next = next ?? nil else { return false }
    return next != version + 1 && next != version + RestoreGap.size
  }
}

extension Store {
  /// The version that a name refers to; 0 for a time before the first release.
  /// - Throws: `unknownMoment` if the version of that time is no longer kept.
  package func version(_ name: VersionName, of channel: ChannelInfo) throws(StoreError) -> ManifestVersion {
    try connections.reading { (db) throws(StoreError) in try db.version(name, of: channel) }
  }
}
