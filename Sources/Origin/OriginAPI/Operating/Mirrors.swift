import Manifests
import System
import Values

/// `GET /mirror`: what to mirror, as far as the token may read.
package struct MirrorOverview: Codable, Sendable {
  /// The origin's id.
  package let origin: String
  @OrNull package var defaultApp: AppName?
  /// The newest row of the audit trail, as written in receipts; nil from older origins.
  package var audit: String?
  /// What the token is limited to: distinguishes a removed channel from one that the token may not read.
  package var limits: Limits?
  package let channels: [Channel]
  /// What was purged; nil from older origins.
  package var purges: [PurgedBytes]?

  package init(origin: String, defaultApp: AppName?, audit: String, limits: Limits, channels: [Channel]) {
    self.origin = origin
    self.defaultApp = defaultApp
    self.audit = audit
    self.limits = limits
    self.channels = channels
  }

  /// Nil means every app, or every channel.
  package struct Limits: Codable, Sendable {
    @OrNull package var app: AppName?
    @OrNull package var channel: ChannelName?

    package init(app: AppName?, channel: ChannelName?) {
      self.app = app
      self.channel = channel
    }
  }

  /// A channel with a release.
  package struct Channel: Codable, Sendable {
    package let app: AppName
    package let appID: UInt64
    package let channel: ChannelName
    package let publicURL: BaseURL
    package let version: ManifestVersion
    package let digest: SHA256
    /// The versions that a mirror keeps, oldest first; the last one is `version`.
    package let versions: [ManifestVersion]
    /// What answers to polls carry: the seconds between polls, the versions of the policy and prefetch config, the share of
    /// reports, and the newest version made by a rollback.
    @OrNull package var interval: Int?
    @OrNull package var policy: Int64?
    @OrNull package var prefetch: Int64?
    @OrNull package var reports: Int?
    @OrNull package var rollback: ManifestVersion?
    /// 0 if devices send no error samples; nil if they do, and from older origins.
    package var samples: Int?
    /// The scripts that the policy names.
    package let scripts: [SHA256]
    /// The rule of the open rollout, as in answers, and the digest of its candidate; nil if none is open, and from older origins.
    package var rollout: JSONValue?
    package var candidateDigest: SHA256?
    /// The number of the newest root, and the version from which on entries name their bundles; nil in a channel without a root,
    /// and from older origins.
    package var root: Int64?
    package var bundlesSince: ManifestVersion?
    /// The first pack that the whole manifest names, as in answers; nil if none is named, and from older origins.
    package var first: JSONValue?

    package init(
      app: AppName, appID: UInt64, channel: ChannelName, publicURL: BaseURL, version: ManifestVersion,
      digest: SHA256, versions: [ManifestVersion], extras: AnswerExtras, scripts: [SHA256]
    ) {
      self.app = app
      self.appID = appID
      self.channel = channel
      self.publicURL = publicURL
      self.version = version
      self.digest = digest
      self.versions = versions
      self.scripts = scripts
      interval = extras.interval
      policy = extras.policy
      prefetch = extras.prefetch
      reports = extras.reports
      samples = extras.samples
      rollback = extras.rollback
      rollout = extras.rollout?.json
      root = extras.root
    }
  }
}

/// `POST /leases`, `POST /leases/{id}`: keeps everything from removal for some time.
package struct LeaseRequest: Codable, Sendable {
  /// The reader's name, for people; nil means the token's name.
  package var holder: String?
  package var seconds: Int?

  package init(holder: String, seconds: Int) {
    self.holder = holder
    self.seconds = seconds
  }
}

/// The lease that was taken or renewed.
package struct LeaseAnswer: Codable, Sendable {
  package let id: String

  package init(id: String) { self.id = id }
}

/// `DELETE /leases/{id}`: the lease that was ended.
package struct LeaseEnd: Codable, Sendable {
  package let ended: String

  package init(ended: String) { self.ended = ended }
}

/// `POST /mirrors`: what a mirror names since its latest run.
package struct MirrorRequest: Codable, Sendable {
  /// The mirror's location, 1 to 1,024 bytes.
  package var name: String?
  package var versions: [ChannelVersion]?

  package init(name: String, versions: [ChannelVersion]) {
    self.name = name
    self.versions = versions
  }
}

/// The mirror that was registered or forgotten.
package struct MirrorAnswer: Codable, Sendable {
  package let name: String

  package init(name: String) { self.name = name }
}

/// A mirror that the origin knows of.
package struct MirrorInfo: Codable, Sendable {
  package let name: String
  /// When it last ran.
  package let at: Moment
  /// Whether gc keeps what the mirror names; nil from older origins, which keep it.
  package var keeps: Bool?
  /// The versions that the token may read.
  package let versions: [ChannelVersion]
  /// Whether the token may forget the mirror; nil from older origins.
  package var mayForget: Bool?

  package init(name: String, at: Moment, keeps: Bool, versions: [ChannelVersion], mayForget: Bool) {
    self.name = name
    self.at = at
    self.keeps = keeps
    self.versions = versions
    self.mayForget = mayForget
  }
}

/// `GET /mirrors`.
package struct MirrorList: Codable, Sendable {
  package let mirrors: [MirrorInfo]

  package init(mirrors: [MirrorInfo]) { self.mirrors = mirrors }
}
