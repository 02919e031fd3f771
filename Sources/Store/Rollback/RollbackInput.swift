import Manifests

/// What is asked for to bring the content of an older version back.
package struct RollbackInput: Sendable {
  /// How far back.
  package enum Target: Hashable, Sendable {
    case version(VersionName)
    /// So many distinct contents back from the release whose content is live.
    case steps(Int)
  }

  package var app: AppName
  package var channel: ChannelName
  /// The one bundle that goes back, the others staying; nil: the whole channel.
  package var bundle: BundleName?
  package var target: Target
  package var actor: Actor
  package var message: String
  /// Refuse where the channel or the bundle changed after this version.
  package var ifVersion: ManifestVersion?
  /// Why it is done though the channel is frozen.
  package var breakGlass: String?
  /// Say what would happen, change nothing.
  package var dryRun: Bool
  /// Whether the prefetch config that was live then comes back with it.
  package var withPrefetch = false

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
    package let name: BundleName
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
