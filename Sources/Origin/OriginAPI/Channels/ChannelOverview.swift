import Manifests
import System
import Values

/// `GET /apps/{app}/channels/{channel}`: what a channel holds now, and its state.
package struct ChannelOverview: Codable, Sendable {
  package let app: AppName
  package let channel: ChannelName
  /// The newest release that all devices follow, or 0 if there is none yet. A candidate is in `rollout`.
  package let version: ManifestVersion
  /// When that release was made, and the SHA-256 of its canonical resourcemap.
  @OrNull package var at: Moment?
  @OrNull package var digest: SHA256?
  package let resources: Int64
  package let bytes: Int64
  package let bundles: [Bundle]
  /// The base URL from which devices download.
  package let publicURL: BaseURL
  /// Whether polls that name no app are answered by this one.
  package let isDefaultApp: Bool
  /// Nil if the channel takes releases.
  @OrNull package var freeze: ChannelFreeze?
  /// The freezes by calendar that aren't over, in the order of their beginnings; absent if there are none.
  package var plannedFreezes: [ChannelFreeze]?
  /// The hosts whose URLs a release may name; nil means all.
  @OrNull package var hosts: [String]?
  /// The seconds that devices are asked to wait between polls; nil if they aren't asked.
  @OrNull package var interval: Int?
  /// How many of every 10,000 report batches devices are asked to send; nil means all.
  @OrNull package var reports: Int?
  /// False if devices send no error samples; nil if they do, and from older origins.
  package var samples: Bool?
  /// The newest version made by a rollback, or nil if there is none.
  @OrNull package var rollback: ManifestVersion?
  @OrNull package var policy: DocumentAnswer?
  @OrNull package var prefetch: DocumentVersion?
  /// Nil if the origin makes no deltas.
  @OrNull package var deltas: DeltaProgress?
  /// Identifies this origin's data, as opposed to any other origin's that has answered at the same address.
  package let origin: String
  /// Blobs of any channel that the origin has lost; whoever has their bytes should send them again.
  package let damaged: [SHA256]
  /// The channel's URLs that are affected.
  package let damagedURLs: [DamagedURL]
  package let scrub: Scrub
  /// Whether the space that the origin reserves for a full disk is used up; nil from an older origin.
  @OrNull package var isDiskFull: Bool?
  /// Releases that wait until their files can be pushed, oldest first; nil from an older origin.
  @OrNull package var staged: [StagedRelease]?
  /// The open rollout; nil if none is, or from an older origin.
  @OrNull package var rollout: RolloutInfo?
  /// The scheduled acts that wait, then those that failed or were missed in the last 7 days; absent if there are none.
  package var scheduled: [ScheduledInfo]?
  /// What others have to approve of acts on the channel; absent if nothing.
  package var protection: ChannelProtection?
  /// The newest rollout, if it has halted itself in the last 7 days; absent otherwise.
  package var halted: RolloutInfo?
  /// The number of the root in force; absent if nothing has to be signed: without a root, and with one that is off.
  package var root: Int64?
  /// With a root in force, why devices don't take what the channel is now: `no-head-key` if the origin has none of the keys for heads that
  /// the root names, `behind` if it couldn't sign; absent if nothing keeps them.
  package var headProblem: String?
  /// How old answers to polls may be where shared caches take them; absent if none does.
  package var edge: EdgeBound?
  /// The shared caches that are told what to drop, and whether they know the channel's last change; absent if none is told.
  package var edges: [ChannelEdge]?

  /// A bundle that is live in the channel.
  package struct Bundle: Codable, Hashable, Sendable {
    package let name: BundleName
    /// The version of the channel in which the bundle last changed.
    package let version: ManifestVersion
    package let resources: Int64
    package let bytes: Int64

    package init(name: BundleName, version: ManifestVersion, resources: Int, bytes: Int64) {
      self.name = name
      self.version = version
      self.resources = Int64(resources)
      self.bytes = bytes
    }
  }

  /// The progress of the deltas from older versions.
  package struct DeltaProgress: Sendable {
    /// The version that they lead to.
    package let version: ManifestVersion
    /// The number of older versions from which deltas are still to be made; nil while that is being worked out.
    package var pending: Int?
    /// For the next older version.
    package var filesDone: Int
    package var files: Int
    /// How many of the pending ones failed and wait for another attempt; one if not even their number could be found out.
    package var failing: Int
    /// Why the newest of these failed.
    package var fault: String?
    /// True while the first pack is still to be made, or pushed: new devices fetch the files one by one; nil otherwise, as from an older
    /// origin.
    package var makesFirstPack: Bool?

    package init(
      version: ManifestVersion, pending: Int? = nil, filesDone: Int = 0, files: Int = 0, failing: Int = 0,
      fault: String? = nil
    ) {
      self.version = version
      self.filesDone = filesDone
      self.files = files
      self.pending = pending
      self.failing = failing
      self.fault = fault
    }

    /// Whether all that is left failed, so that its end is unknown.
    package var isStuck: Bool {
      guard let pending else { return false }
      return failing > 0 && failing >= pending
    }
  }

  /// A release that isn't visible yet, because its files could not be pushed to where devices download.
  package struct StagedRelease: Codable, Hashable, Sendable {
    /// Who made it, and when.
    package let author: String
    package let at: Moment
    /// The bundles that it changes; nil means all.
    @OrNull package var bundles: [String]?
    /// How often it was tried, and why it failed the last time.
    package let attempts: Int
    package let reason: String

    package init(author: String, at: Moment, bundles: [String]?, attempts: Int, reason: String) {
      self.author = author
      self.at = at
      self.attempts = attempts
      self.reason = reason
      self.bundles = bundles
    }
  }

  /// A live URL whose bytes are damaged or gone.
  package struct DamagedURL: Codable, Sendable {
    package let bundle: String
    package let sha256: SHA256
    package let url: String

    package init(bundle: String, sha256: SHA256, url: String) {
      self.bundle = bundle
      self.sha256 = sha256
      self.url = url
    }
  }

  /// What the scrub has read back.
  package struct Scrub: Codable, Sendable {
    package let files: Int64
    package let bytes: Int64
    /// When the file that has waited longest was read; nil until all files have been read once.
    @OrNull package var oldest: Moment?

    package init(files: Int64, bytes: Int64, oldest: Moment?) {
      self.files = files
      self.bytes = bytes
      self.oldest = oldest
    }
  }

  package init(
    _ summary: ChannelSummary, digest: SHA256?, bundles: [Bundle], isDefaultApp: Bool, origin: String,
    damaged: [SHA256], damagedURLs: [DamagedURL], scrub: Scrub, deltas: DeltaProgress?, interval: Int?,
    reports: Int?, rollback: ManifestVersion?, policy: DocumentAnswer?, prefetch: DocumentVersion?,
    isDiskFull: Bool, staged: [StagedRelease], rollout: RolloutInfo? = nil
  ) {
    app = summary.app
    channel = summary.channel
    version = summary.version
    resources = summary.resources
    bytes = summary.bytes
    publicURL = summary.publicURL
    self.bundles = bundles
    self.isDefaultApp = isDefaultApp
    self.origin = origin
    self.damaged = damaged
    self.damagedURLs = damagedURLs
    self.scrub = scrub
    at = summary.at
    freeze = summary.freeze
    plannedFreezes = summary.plannedFreezes
    hosts = summary.hosts
    self.digest = digest
    self.deltas = deltas
    self.interval = interval
    self.reports = reports
    self.rollback = rollback
    self.policy = policy
    self.prefetch = prefetch
    self.isDiskFull = isDiskFull
    self.staged = staged
    self.rollout = rollout
  }
}
