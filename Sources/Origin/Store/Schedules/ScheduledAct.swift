import Manifests
import System
import Trust
import Values

/// An act that is recorded now and carried out later.
package struct ScheduledAct: Hashable, Sendable {
  /// What became of a scheduled act.
  package enum State: String, Hashable, Sendable, CaseIterable {
    case waiting
    /// It was carried out, or there was nothing left to do.
    case done
    /// It was refused when it was due.
    case failed
    /// It couldn't be carried out within `ScheduleLimits.lateness` of its time.
    case missed
    case cancelled
  }

  /// How a scheduled act ended.
  package struct End: Hashable, Sendable {
    /// Milliseconds since 1970.
    package let at: Int64
    /// The name of whoever ended it: the token with which it was carried out, or of who cancelled it.
    package let by: String
    /// The version that it made; nil if it made none.
    package let version: ManifestVersion?
  }

  /// Names it among all of the origin's, in the order in which they were scheduled.
  package let id: Int64
  /// The app of its channel.
  package let app: AppName
  /// Its channel.
  package let channel: ChannelName
  /// What is done, such as `publish` or `rollout.set`.
  package let act: String
  /// What is done, in words.
  package let summary: String
  /// When it is to be done, in milliseconds since 1970.
  package let due: Int64
  /// When it was scheduled, in milliseconds since 1970.
  package let at: Int64
  /// The id of the token that scheduled it, and with which it is carried out.
  package let token: String
  /// The name of that token.
  package let author: String
  /// The network address that it was scheduled from; may be empty.
  package let address: String
  /// What became of it.
  package let state: State
  /// How it ended; nil while it waits.
  package let end: End?
  /// Why it failed or was missed or, while it waits, why it couldn't be carried out yet.
  package let code: String?
  /// The same in words.
  package let reason: String?
  /// Whether it waits for signatures before its time counts.
  package let awaitsSignatures: Bool
  /// The statements that lack them. Empty if it waits for its time alone, or if none can be read.
  package let awaited: [AwaitedStatement]
  /// The channel's newest version when its files couldn't be pushed; nil if that didn't happen.
  package let unpushedAt: ManifestVersion?
  /// The approvals that it takes and has; nil where it takes none.
  package var approvals: ApprovalStanding?
  /// Tells who asked for it, in whatever session (`AccessToken.authorKey`).
  package internal(set) var authorKey = ""

  /// Whether the holder of a token asked for it, as far as can be told.
  package func isAsked(by caller: AccessToken) -> Bool { caller.isSame(as: authorKey, named: author) }
}

/// A statement of a release that waits, with the signatures that it has so far.
package struct AwaitedStatement: Hashable, Sendable {
  /// The statement.
  package let signed: Signed<ReleaseStatement>
  /// The keys of the root in force that have signed it.
  package let signers: [KeyID]
  /// How many more have to.
  package let missing: Int
  /// Those that may.
  package let candidates: [KeyID]
  /// Why no further signature helps; nil if one does.
  package let problem: TrustFailure?
}

extension ScheduledAct {
  /// The code of an act that waits for signatures, but whose statements can't be read.
  package static let damaged = "damaged"
}

/// The request of an act that is to be scheduled.
package struct ScheduleInput: Sendable {
  /// The app of the channel.
  package let app: AppName
  /// The channel.
  package let channel: ChannelName
  /// What is done, such as `publish` or `rollout.set`.
  package let act: String
  /// What is done, in words.
  package let summary: String
  /// When it is to be done, in milliseconds since 1970.
  package let due: Int64
  /// The id of the token with which it is carried out.
  package let token: String
  /// Who schedules it.
  package let actor: Actor
  /// The route that carries it out, below the channel, such as `releases`.
  package let route: String
  /// The body of the request to that route.
  package let request: [UInt8]
  /// Whether a freeze that is planned for that time refuses it now.
  package var obeysFreezes = true
  /// Whether others have to approve it where the channel is protected, when it is asked for or later.
  package var isGated = false
  /// Who asks for it, who then may not approve it (`AccessToken.authorKey`); nil: the token alone.
  package var author: String?
  /// The contents whose bytes it needs.
  package var contents: [(url: ResourceURL, content: ResourceContent)] = []
  /// Statements of the bundles of a release that have too few signatures: it waits for the others. Empty: it waits for its time alone.
  package var awaited: [Signed<ReleaseStatement>] = []
  /// The versions whose content it needs, with their channels' ids.
  package var versions: [(channel: Int64, version: ManifestVersion)] = []

  /// Creates a request that needs nothing.
  package init(
    app: AppName, channel: ChannelName, act: String, summary: String, due: Int64, token: String,
    actor: Actor, route: String, request: [UInt8]
  ) {
    self.app = app
    self.channel = channel
    self.act = act
    self.summary = summary
    self.due = due
    self.token = token
    self.actor = actor
    self.route = route
    self.request = request
  }
}

/// A scheduled act that is being carried out: its end is written in the transaction of the act.
package struct ScheduledRun: Hashable, Sendable {
  /// The scheduled act.
  package let id: Int64
  /// The token with which it is carried out.
  package let token: AccessToken
  /// When it was scheduled, in milliseconds since 1970.
  package let at: Int64

  /// Creates a run of an act that was found to be due.
  package init(id: Int64, token: AccessToken, at: Int64 = 0) {
    self.id = id
    self.token = token
    self.at = at
  }
}

/// Acts of a channel that are carried out one after the other.
package struct ScheduleLane: Hashable, Sendable {
  /// What follows one another.
  package enum Kind: Hashable, Sendable {
    /// Releases, and changes of the prefetch config, which may make a candidate.
    case releases
    /// Steps of a rollout.
    case steps
    /// Changes of the policy, which wait for no release's deltas.
    case policy

    /// - Parameter act: what is done, such as `rollout.set`.
    init(_ act: String) {
      self = act.hasPrefix("rollout.") ? .steps : act.hasPrefix("policy.") ? .policy : .releases
    }
  }

  /// The channel's id.
  package let channel: Int64
  /// Which acts of it.
  package let kind: Kind

  /// Creates a lane.
  package init(channel: Int64, _ kind: Kind) {
    self.channel = channel
    self.kind = kind
  }

  /// Creates the lane of a channel's rollouts, or that of its releases.
  package init(channel: Int64, isStep: Bool) { self.init(channel: channel, isStep ? .steps : .releases) }
}

/// A scheduled act that is due, with its request.
package struct DueAct: Sendable {
  /// The scheduled act.
  package let act: ScheduledAct
  /// The route that carries it out, below the channel.
  package let route: String
  /// The body of the request to that route.
  package let request: [UInt8]
}

/// How many acts may be scheduled, and how late they may be carried out.
package enum ScheduleLimits {
  /// The most acts of a channel that wait at a time.
  package static let waiting = 100
  /// Milliseconds after its time for which an act waits for signatures: 30 days.
  package static let awaitingSignatures: Int64 = 30 * 86_400_000
  /// The same for approvals.
  package static let awaitingApprovals: Int64 = 30 * 86_400_000
  /// The ended acts of a channel that are kept to be listed.
  package static let ended = 100
  /// Milliseconds for which the channel's state names an act that failed or was missed: a week.
  package static let reportedFor: Int64 = 7 * 86_400_000
  /// Milliseconds for which an act that couldn't be carried out in time, since the origin didn't run or a place was out of reach, may
  /// still be: a day.
  package static let lateness: Int64 = 86_400_000
}
