import Manifests

/// A version as people name it: by its number, or by a moment at which it was live.
package enum VersionName: Hashable, Sendable {
  case number(ManifestVersion)
  /// What devices got at that moment, in milliseconds since 1970.
  case moment(Int64)
}

/// What is asked for to bring the content of an older version back.
package struct RollbackInput: Sendable {
  /// How far back.
  package enum Target: Hashable, Sendable {
    case version(VersionName)
    /// So many distinct contents back from the release whose content is live.
    case steps(Int)
  }

  /// The channel's app.
  package var app: AppName
  /// The channel.
  package var channel: ChannelName
  /// The one bundle that goes back, the others staying; nil: the whole channel.
  package var bundle: BundleName?
  /// How far back.
  package var target: Target
  /// Who acts.
  package var actor: Actor
  /// Why; may be empty.
  package var message: String
  /// Refuse where the channel or the bundle changed after this version.
  package var ifVersion: ManifestVersion?
  /// Why it is done though the channel is frozen.
  package var breakGlass: String?
  /// Say what would happen, change nothing.
  package var dryRun: Bool
  /// Whether the prefetch config that was live then comes back with it.
  package var withPrefetch = false
  /// The hosts that the token is limited to; nil: all.
  package var hosts: HostList?

  /// A rollback without its prefetch config.
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

/// What a rollback did, or, of a dry run, would do.
package struct RollbackOutcome: Sendable {
  /// What is taken back of one bundle.
  package struct Bundle: Hashable, Sendable {
    /// Which bundle.
    package let name: BundleName
    /// How many of its URLs come, change and go.
    package let counts: ChangeCounts
    /// The releases of the bundle after the target, newest first: who published what is taken back.
    package let takenBack: [ReleaseStamp]
  }

  /// Its changes are there in a dry run, too.
  package internal(set) var release: ReleaseOutcome
  /// The version whose content it has.
  package let target: ManifestVersion
  /// Those that change, sorted by name.
  package let bundles: [Bundle]
}

extension Database {
  /// The version that a name stands for; 0 for a moment before the first release.
  /// - Throws: `unknownMoment` where the version of then is not kept any more.
  func version(_ name: VersionName, of channel: ChannelInfo) throws(StoreError) -> ManifestVersion {
    let moment: Int64
    switch name {
    case .number(let version): return version
    case .moment(let time): moment = time
    }
    let live = try value(
      Int64.self,
      "SELECT version FROM release WHERE channel_id = ? AND at <= ? ORDER BY version DESC LIMIT 1",
      channel.id, moment)
    if let live, try !hasGap(after: live, in: channel) { return ManifestVersion(live) }
    let oldest =
      try value(
        Int64?.self, "SELECT min(version) FROM release WHERE channel_id = ?", channel.id) ?? nil
    guard let oldest, oldest > 1 else { return .none }
    throw .unknownMoment(oldestKept: ManifestVersion(oldest))
  }
}

extension Database {
  /// Whether versions between this one and the next that is kept are not kept any more: which of them was live when isn't known.
  /// The numbers that a restore leaves out are none.
  private func hasGap(after version: Int64, in channel: ChannelInfo) throws(StoreError) -> Bool {
    let next = try value(
      Int64?.self, "SELECT min(version) FROM release WHERE channel_id = ? AND version > ?", channel.id,
      version)
    guard let next = next ?? nil else { return false }
    return next != version + 1 && next != version + RestoreGap.size
  }
}

extension Store {
  /// The version that a name stands for; 0 for a moment before the first release.
  /// - Throws: `unknownMoment` where the version of then is not kept any more.
  package func version(_ name: VersionName, of channel: ChannelInfo) throws(StoreError) -> ManifestVersion {
    try connections.reading { (db) throws(StoreError) in try db.version(name, of: channel) }
  }
}
