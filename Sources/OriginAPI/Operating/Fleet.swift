import Manifests

/// `GET /overview`: every channel that the token may read, with what needs somebody's eyes.
package struct FleetOverview: Codable, Sendable {
  /// The origin's id.
  package let origin: String
  /// The most serious first.
  package let problems: [Problem]
  package let channels: [Channel]
  /// Nil where the token is limited to an app or channel.
  @OrNull package var disk: DiskState?

  package init(origin: String, problems: [Problem], channels: [Channel], disk: DiskState?) {
    self.origin = origin
    self.problems = problems
    self.channels = channels
    self.disk = disk
  }

  /// Something that isn't as it should be.
  package struct Problem: Codable, Hashable, Sendable {
    /// `killed`, `damaged`, `failing`, `disk`, `frozen`, `lagging`, `mirror`, `scrub`, or what a newer origin has.
    package let code: String
    /// `error`: devices or releases suffer now; `warning`: they may.
    package let severity: String
    /// The channel that it is about; nil: the origin.
    @OrNull package var app: AppName?
    @OrNull package var channel: ChannelName?
    /// In a sentence.
    package let detail: String

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

  /// A channel in a line.
  package struct Channel: Codable, Sendable {
    package let app: AppName
    package let channel: ChannelName
    /// The newest release; 0: there is none yet. When it was made, and by whom.
    package let version: ManifestVersion
    @OrNull package var at: Moment?
    @OrNull package var author: String?
    package let resources: Int64
    package let bytes: Int64
    /// Nil: it takes releases.
    @OrNull package var freeze: FreezeInfo?
    /// Nil: devices answer pages from their files.
    @OrNull package var kill: KillSwitch?
    /// Patterns that are bypassed.
    package let bypasses: Int
    package let adoption: Share
    /// Of this clock hour and the one before, and of 24 clock hours.
    package let failures: Failures
    /// The copy that is the furthest behind; nil: no mirror has it.
    @OrNull package var mirror: Mirror?
    /// Live URLs whose bytes are damaged or gone.
    package let damaged: Int
    /// Older versions from which deltas are still to be made; nil: not known.
    @OrNull package var deltasPending: Int64?

    package init(
      _ summary: ChannelSummary, author: String?, kill: KillSwitch?, bypasses: Int, adoption: Share,
      failures: Failures, mirror: Mirror?, damaged: Int, deltasPending: Int?
    ) {
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

  /// That devices are told to use the network alone.
  package struct KillSwitch: Codable, Hashable, Sendable {
    package let author: String
    package let at: Moment
    package let reason: String
    /// When it lapses by itself; nil: never.
    @OrNull package var until: Moment?

    package init(author: String, at: Moment, reason: String, until: Moment?) {
      self.author = author
      self.at = at
      self.reason = reason
      self.until = until
    }
  }

  /// The polls of the last minutes, and those that reported the newest version.
  package struct Share: Codable, Hashable, Sendable {
    package let minutes: Int
    package let polls: Int64
    package let newest: Int64

    package init(minutes: Int, polls: Int, newest: Int) {
      self.minutes = minutes
      self.polls = Int64(polls)
      self.newest = Int64(newest)
    }
  }

  /// Failures that devices told.
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
    /// When it ran last.
    package let at: Moment

    package init(name: String, version: ManifestVersion, at: Moment) {
      self.name = name
      self.version = version
      self.at = at
    }
  }
}

/// The disk under the data folder at one moment, in bytes.
package struct DiskState: Codable, Hashable, Sendable {
  package let at: Moment
  /// Of the file system.
  package let size: Int64
  /// What is free of it for the server.
  package let available: Int64
  /// Of files that releases name, and of what was made of them.
  package let stored: Int64

  package init(at: Moment, size: Int64, available: Int64, stored: Int64) {
    self.at = at
    self.size = size
    self.available = available
    self.stored = stored
  }
}

/// `GET /disk?hours=N`: the disk now and in the hours before, oldest first.
package struct DiskAnswer: Codable, Sendable {
  package let now: DiskState
  package let hours: [DiskState]

  package init(now: DiskState, hours: [DiskState]) {
    self.now = now
    self.hours = hours
  }
}

extension OriginClient {
  /// All channels that the token may read.
  package func fleet() throws(OriginError) -> OriginAnswer<FleetOverview> { try get("overview") }

  /// - Parameter hours: how far back, 2160 at most.
  package func disk(hours: Int) throws(OriginError) -> OriginAnswer<DiskAnswer> {
    try get("disk?hours=\(hours)")
  }
}
