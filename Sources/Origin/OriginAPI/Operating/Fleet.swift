import Manifests
import System
import Values

/// `GET /overview`: every channel that the token may read, and what needs attention.
package struct FleetOverview: Codable, Sendable {
  /// The origin's id.
  package let origin: String
  /// The most serious first.
  package let problems: [Problem]
  package let channels: [Channel]
  /// Nil if the token is limited to an app or channel.
  @OrNull package var disk: DiskUse?
  /// The shared caches that are told what to drop; absent if none takes polls, or the token is limited to an app or channel.
  package var edges: [EdgeState]?

  package init(origin: String, problems: [Problem], channels: [Channel], disk: DiskUse?) {
    self.origin = origin
    self.problems = problems
    self.channels = channels
    self.disk = disk
  }

  /// Something that needs attention.
  package struct Problem: Codable, Hashable, Sendable {
    /// `killed`, `damaged`, `alarm`, `failing`, `staged`, `disk`, `frozen`, `lagging`, `mirror`, `scrub`, `webhook`, `edge`, or
    /// a code that only a newer origin knows.
    package let code: String
    /// `error` if devices or releases are affected now, `warning` if they may be.
    package let severity: String
    /// The channel concerned, or nil for the origin.
    @OrNull package var app: AppName?
    @OrNull package var channel: ChannelName?
    /// A sentence.
    package let detail: String
    /// When it began, as far as that is known: its own time, else when the origin first saw it; nil from older origins.
    package var since: Moment?
    /// Who said that it is known, and until when it needs no more attention; nil if nobody did, and from older origins.
    package var acknowledged: Acknowledgement?

    package init(
      _ code: String, _ severity: String, _ app: AppName? = nil, _ channel: ChannelName? = nil, detail: String
    ) {
      self.code = code
      self.severity = severity
      self.detail = detail
      self.app = app
      self.channel = channel
    }
  }

  /// Somebody's word that a problem is known. It ends at its time, with the problem, and when the problem becomes more severe.
  package struct Acknowledgement: Codable, Hashable, Sendable {
    /// The name of who acknowledged it, when, and why.
    package let by: String
    package let at: Moment
    package let reason: String
    package let until: Moment

    package init(by: String, at: Moment, reason: String, until: Moment) {
      self.by = by
      self.at = at
      self.reason = reason
      self.until = until
    }
  }

  /// What devices did in the last 24 clock hours that are over, oldest first; each array has 24 numbers.
  package struct Trend: Codable, Hashable, Sendable {
    package let polls: [Int64]
    /// Of these, the polls that reported what is the newest version now.
    package let newest: [Int64]
    package let failures: [Int64]

    package init(polls: [Int64], newest: [Int64], failures: [Int64]) {
      self.polls = polls
      self.newest = newest
      self.failures = failures
    }
  }

  /// A one-line summary of a channel.
  package struct Channel: Codable, Sendable {
    package let app: AppName
    package let channel: ChannelName
    /// The newest release, or 0 if there is none yet; when it was made, and by whom.
    package let version: ManifestVersion
    @OrNull package var at: Moment?
    @OrNull package var author: String?
    package let resources: Int64
    package let bytes: Int64
    /// Nil if the channel takes releases.
    @OrNull package var freeze: ChannelFreeze?
    /// Nil if devices answer pages from their files.
    @OrNull package var kill: KillSwitch?
    /// The number of bypass patterns.
    package let bypasses: Int
    package let adoption: Share
    /// In the current clock hour and the one before, and in the last 24 clock hours.
    package let failures: Failures
    /// The copy that is furthest behind; nil if no mirror has the channel.
    @OrNull package var mirror: Mirror?
    /// The number of live URLs whose bytes are damaged or gone.
    package let damaged: Int
    /// The number of older versions from which deltas are still to be made; nil if not known.
    @OrNull package var deltasPending: Int64?
    /// The open rollout; nil if none is, and from older origins.
    package var rollout: RolloutInfo?
    /// What is to happen by itself; nil if nothing is, and from older origins.
    package var planned: Planned?
    /// Nil if no device polled and none failed in that time, and from older origins.
    package var trend: Trend?

    package init(
      _ summary: ChannelSummary, author: String?, kill: KillSwitch?, bypasses: Int, adoption: Share,
      failures: Failures, mirror: Mirror?, damaged: Int, deltasPending: Int?,
      rollout: RolloutInfo? = nil
    ) {
      self.rollout = rollout
      app = summary.app
      channel = summary.channel
      version = summary.version
      resources = summary.resources
      bytes = summary.bytes
      self.bypasses = bypasses
      self.adoption = adoption
      self.failures = failures
      self.damaged = damaged
      at = summary.at
      freeze = summary.freeze
      self.author = author
      self.kill = kill
      self.mirror = mirror
      self.deltasPending = deltasPending.map { Int64($0) }
    }
  }

  /// What is to happen in a channel by itself, and what of it didn't.
  package struct Planned: Codable, Hashable, Sendable {
    /// The scheduled acts that wait.
    package let acts: Int64
    /// When the first of them is due; nil if none waits.
    @OrNull package var next: Moment?
    /// The freezes by calendar that haven't begun.
    package let freezes: Int64
    /// The scheduled acts that failed or were missed in the last 7 days.
    package let failed: Int64

    /// Creates a summary; nil if there is nothing to tell.
    package init?(acts: Int, next: Moment?, freezes: Int, failed: Int) {
      if acts == 0, freezes == 0, failed == 0 { return nil }
      self.acts = Int64(acts)
      self.freezes = Int64(freezes)
      self.failed = Int64(failed)
      self.next = next
    }
  }

  /// An active kill switch: devices are told to use only the network.
  package struct KillSwitch: Codable, Hashable, Sendable {
    package let author: String
    package let at: Moment
    package let reason: String
    /// When it expires by itself; nil means never.
    @OrNull package var until: Moment?

    package init(author: String, at: Moment, reason: String, until: Moment?) {
      self.author = author
      self.at = at
      self.reason = reason
      self.until = until
    }
  }

  /// The number of polls in the last minutes, and how many of them reported the newest version.
  package struct Share: Codable, Hashable, Sendable {
    package let minutes: Int
    package let polls: Int64
    package let newest: Int64
    /// What the numbers were worked out from, if a shared cache answered polls; nil if all were counted, and from older origins.
    package var sample: AdoptionAnswer.Sample?

    package init(minutes: Int, polls: Int, newest: Int, sample: AdoptionAnswer.Sample? = nil) {
      self.minutes = minutes
      self.polls = Int64(polls)
      self.newest = Int64(newest)
      self.sample = sample
    }
  }

  /// The number of failures that devices reported.
  package struct Failures: Codable, Hashable, Sendable {
    package let hour: Int64
    package let day: Int64

    package init(hour: Int, day: Int) {
      self.hour = Int64(hour)
      self.day = Int64(day)
    }
  }

  /// What a static copy has of a channel.
  package struct Mirror: Codable, Hashable, Sendable {
    package let name: String
    package let version: ManifestVersion
    /// When the mirror last ran.
    package let at: Moment

    package init(name: String, version: ManifestVersion, at: Moment) {
      self.name = name
      self.version = version
      self.at = at
    }
  }
}

extension FleetOverview.Trend {
  private enum Members: CodingKey { case polls, newest, failures }

  /// Encodes each array as one value: number by number, a few hundred channels would cost thousands of allocations.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Members.self)
    try container.encode(JSONValue.array(polls.map { .integer($0) }), forKey: .polls)
    try container.encode(JSONValue.array(newest.map { .integer($0) }), forKey: .newest)
    try container.encode(JSONValue.array(failures.map { .integer($0) }), forKey: .failures)
  }
}

/// `GET /disk?hours=N`: the disk now and in the preceding hours, oldest first.
package struct DiskAnswer: Codable, Sendable {
  package let now: DiskUse
  package let hours: [DiskUse]

  package init(now: DiskUse, hours: [DiskUse]) {
    self.now = now
    self.hours = hours
  }
}
