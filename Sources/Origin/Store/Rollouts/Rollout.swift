import Manifests
import System

/// Whom a release is to go to first.
package struct RolloutAudience: Hashable, Sendable {
  /// How many of 10,000 buckets are in.
  package var share: Int
  /// The groups that are in, whatever their bucket; ordered, each once.
  package var groups: [String]
  /// The range of app versions; nil: all apps.
  package var app: AppVersionRange?
  /// What the rollout is to do by itself; only in requests for a new one.
  package var course: RolloutCourse?

  /// Creates an audience.
  package init(share: Int, groups: [String] = [], app: AppVersionRange? = nil) {
    self.share = share
    self.groups = Set(groups).sorted()
    self.app = app
  }
}

/// A release that goes, or went, to a part of the fleet first.
package struct Rollout: Hashable, Sendable {
  /// What became of a rollout.
  package enum State: String, Hashable, Sendable, CaseIterable {
    case open
    /// The candidate became the full version.
    case completed
    /// The content of the full version was released again.
    case halted
    /// A newer release took its place.
    case superseded
    /// The candidate was made again on a newer full version.
    case remade
  }

  /// The candidate: while the rollout is open, the newest version of the channel.
  package let candidate: ManifestVersion
  /// The version that everyone else follows.
  package let full: ManifestVersion
  /// The seed of the buckets. A candidate that was made again keeps it.
  package let seed: String
  /// Whom it goes to.
  package let audience: RolloutAudience
  /// Whether nobody new is let in.
  package let isPaused: Bool
  /// What became of it.
  package let state: State
  /// Who released the first candidate with this seed.
  package let author: String
  /// When that was, in milliseconds since 1970.
  package let startedAt: Int64
  /// When the rule last changed, or the rollout ended, in milliseconds since 1970.
  package let changedAt: Int64
  /// Who did that.
  package let changedBy: String
  /// Why it was halted; nil if it wasn't.
  package let reason: String?
  /// The version of the prefetch config that goes along with the candidate; nil if none does.
  package let prefetch: Int64?

  /// The rule that every answer of the channel carries while the rollout is open. A paused one lets nobody new in; whoever holds
  /// the candidate stays in, whatever becomes of share and groups.
  ///
  /// Nil for an ended rollout.
  package var rule: RolloutRule? {
    if state != .open { return nil }
    return RolloutRule(
      version: candidate, seed: seed, share: isPaused ? 0 : audience.share,
      groups: isPaused ? [] : audience.groups, app: audience.app, prefetch: prefetch)
  }
}

/// What an act did to the rollouts of a channel.
package struct RolloutChange: Hashable, Sendable {
  /// What became of the rollout that was open before; nil if none was.
  package let ended: Rollout?
  /// The rollout that is open now; nil if none is.
  package let open: Rollout?
  /// What that does by itself, if it was opened by the act; nil if nothing was said of that.
  package var course: RolloutCourse?
}

/// The state of a channel's full version while a rollout is open.
package struct FullState: Hashable, Sendable {
  let version: ManifestVersion
  let at: Int64
  let digest: SHA256
  let resources: Int
  let bytes: Int64
  let rollback: ManifestVersion?
}
