import Manifests
import System
import Values

/// `POST …/promote`: releases the content of another channel of the app here.
package struct PromotionRequest: ReleaseMembers {
  /// The channel whose content is promoted.
  package var from: String?
  /// The version to promote: a number, or a time at which it was live; nil means the newest.
  package var version: String?
  /// The only bundle to promote.
  package var bundle: String?
  package var map: [Rule]?
  /// Whether the matching prefetch config is promoted, too.
  package var withPrefetch: Bool?
  /// Refuse the promotion unless that prefetch config is this version of the channel `from`, 0 for none: a config that is pushed there
  /// after a promotion was asked for isn't what was asked for.
  package var prefetchVersion: ManifestVersion?
  package var message: String?
  package var ifVersion: String?
  package var breakGlass: String?
  package var rollout: RolloutTerms?
  package var ifNoRollout: Bool?
  /// When it is to be made; nil: now.
  package var schedule: Moment?
  package var statements: [JSONValue]?
  /// The envelope of a statement for the prefetch config that comes along, in an app with a root.
  package var prefetchStatement: JSONValue?
  /// False to refuse the promotion if the channel doesn't exist; else it is created, if the token may do so.
  package var create: Bool?
  package var now: Bool?
  package var dryRun: Bool?

  package init() {}

  /// Moves URLs below `from` to below `to`.
  package struct Rule: Codable, Sendable {
    package let from: String?
    package let to: String?

    package init(from: String, to: String) {
      self.from = from
      self.to = to
    }
  }
}

/// What a promotion did or, for a dry run, would do.
package typealias PromotionAnswer = ReleaseAct<PromotionDetails>

/// The members of a promotion's answer other than the release's.
package struct PromotionDetails: Codable, Sendable {
  package let from: ChannelName
  package let fromVersion: ManifestVersion
  /// Bundles that remain here although `from` no longer holds anything of them.
  package let left: [String]
  /// The URLs of files whose text contains a host that is being rewritten.
  package let warnings: [String]
  /// Nil if no prefetch config was to be promoted.
  @OrNull package var prefetch: PrefetchOutcome?
  /// What a device on the replaced version downloads; nil if nothing changes, or it hasn't been worked out.
  package var update: TransferCost?
  /// The releases that this undoes, since they didn't come from `from`; nil from an older origin.
  package var takesBack: [RollbackDetails.Bundle]?

  package init(
    from: ChannelName, fromVersion: ManifestVersion, left: [String], warnings: [String],
    prefetch: PrefetchOutcome?
  ) {
    self.from = from
    self.fromVersion = fromVersion
    self.left = left
    self.warnings = warnings
    self.prefetch = prefetch
  }
}
