import Manifests
import System

/// Whom a release goes to first.
package struct RolloutTerms: Codable, Hashable, Sendable, RequestPart {
  /// How many of 10,000 buckets are in.
  package var share: Int?
  /// The groups that are in, whatever their bucket.
  package var groups: [String]?
  /// The range of app versions; nil: all apps. In a change, an empty text lifts it.
  package var app: String?
  /// The steps by which it goes on by itself; absent: a person takes each.
  package var ramp: RampTerms?
  /// Whether an alarm may halt it; absent: no.
  package var autoHalt: Bool?
  /// How much one network counts in its evidence, at most, of 10,000; absent: 500.
  package var networkCap: Int?

  package init(share: Int? = nil, groups: [String]? = nil, app: String? = nil) {
    self.share = share
    self.groups = groups
    self.app = app
  }
}

/// A rollout, open or ended.
package struct RolloutInfo: Codable, Hashable, Sendable {
  /// The candidate.
  package let version: ManifestVersion
  /// The version that everyone else follows, or followed.
  package let full: ManifestVersion
  /// `open`, `completed`, `halted`, `superseded`, `remade`, or a state that only a newer origin knows.
  package let state: String
  /// How many of 10,000 buckets are in, unless it is paused.
  package let share: Int
  package let groups: [String]
  /// The range of app versions; nil: all apps.
  @OrNull package var app: String?
  /// Whether nobody new is let in.
  package let paused: Bool
  package let seed: String
  /// Who released the first candidate with this seed, and when.
  package let author: String
  package let at: Moment
  /// Who last changed or ended it, and when.
  package let changedBy: String
  package let changedAt: Moment
  /// Why it was halted.
  @OrNull package var reason: String?
  /// The prefetch config that goes, or went, along with the candidate; absent if none does.
  package var prefetch: ManifestVersion?

  package init(
    version: ManifestVersion, full: ManifestVersion, state: String, share: Int, groups: [String],
    app: String?, paused: Bool, seed: String, author: String, at: Moment, changedBy: String,
    changedAt: Moment, reason: String?, prefetch: ManifestVersion? = nil
  ) {
    self.prefetch = prefetch
    self.version = version
    self.full = full
    self.state = state
    self.share = share
    self.groups = groups
    self.paused = paused
    self.seed = seed
    self.author = author
    self.at = at
    self.changedBy = changedBy
    self.changedAt = changedAt
    self.app = app
    self.reason = reason
  }
}

/// What a release did, or would do, to the rollouts of its channel.
package struct RolloutChangeInfo: Codable, Hashable, Sendable {
  /// What became of the rollout that was open before; nil if none was.
  @OrNull package var ended: RolloutInfo?
  /// The rollout that is open now; nil if none is.
  @OrNull package var open: RolloutInfo?
  /// Its steps, if this release opened it; absent if a person takes each.
  package var ramp: RampTerms?
  /// Whether an alarm may halt it, if this release opened it; absent: no.
  package var autoHalt: Bool?

  package init(ended: RolloutInfo?, open: RolloutInfo?) {
    self.ended = ended
    self.open = open
  }
}

/// `GET …/rollout`: the channel's rollouts.
package struct RolloutList: Codable, Sendable {
  /// What all devices follow that aren't in the open rollout; 0 if there is no release yet.
  package let full: ManifestVersion
  /// The open rollout; nil if none is.
  @OrNull package var open: RolloutInfo?
  /// The newest rollouts, newest first, the open one included.
  package let rollouts: [RolloutInfo]
  /// What devices have reported about the open one; absent if none is, as are the next two.
  package var evidence: EvidenceInfo?
  /// Its steps; absent if a person takes each.
  package var ramp: RampTerms?
  /// What it waits for; empty if it is about to go on, or to be stopped.
  package var waits: [RolloutWait]?

  package init(full: ManifestVersion, open: RolloutInfo?, rollouts: [RolloutInfo]) {
    self.full = full
    self.rollouts = rollouts
    self.open = open
  }
}

/// `POST …/rollout/set | pause | resume | complete`.
package struct RolloutRequest: Codable, Sendable {
  /// The candidate that it is about; nil: whichever is open.
  package var candidate: ManifestVersion?
  /// For `set`: what is to change.
  package var share: Int?
  package var groups: [String]?
  /// An empty text is all apps.
  package var app: String?
  /// The steps by which it goes on by itself; one without steps ends that.
  package var ramp: RampTerms?
  /// Whether an alarm may halt it.
  package var autoHalt: Bool?
  /// How much one network counts in its evidence, at most, of 10,000.
  package var networkCap: Int?
  /// Why although the channel is frozen.
  package var breakGlass: String?
  /// When it is to be done; nil: now.
  package var schedule: Moment?

  package init() {}
}

/// What such an act did.
package struct RolloutAnswer: Codable, Sendable {
  package let changed: Bool
  /// The rollout afterwards.
  package let rollout: RolloutInfo
  /// The rollout before.
  package let was: RolloutInfo
  /// The row of the audit trail; nil if nothing changed.
  @OrNull package var receipt: String?
  /// The step that is to be taken later; absent for one that was taken.
  package var scheduled: ScheduledInfo?
  /// Whether an alarm pauses it from now on; absent where the act doesn't change that.
  package var pausesItself: Bool?

  /// The answer for a step that is to be taken later.
  package init(_ rollout: RolloutInfo, scheduled: ScheduledInfo) {
    self.init(rollout: rollout, was: rollout, receipt: nil)
    self.scheduled = scheduled
  }

  package init(rollout: RolloutInfo, was: RolloutInfo, receipt: String?) {
    changed = receipt != nil
    self.rollout = rollout
    self.was = was
    self.receipt = receipt
  }
}

/// `POST …/rollout/halt`.
package struct RolloutHaltRequest: Codable, Sendable {
  /// The candidate that it is about; nil: whichever is open.
  package var candidate: ManifestVersion?
  /// Why.
  package var message: String?
  /// When it is to be halted; nil: now.
  package var schedule: Moment?

  package init(candidate: ManifestVersion? = nil, message: String) {
    self.candidate = candidate
    self.message = message
  }
}
