import Manifests
import System

/// `GET /apps/{app}/channels/{channel}`: what a channel holds now, and its state.
package struct ChannelOverview: Codable, Sendable {
  package let app: AppName
  package let channel: ChannelName
  /// The newest release, or 0 if there is none yet.
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
  @OrNull package var freeze: FreezeInfo?
  /// The hosts whose URLs a release may name; nil means all.
  @OrNull package var hosts: [String]?
  /// The seconds that devices are asked to wait between polls; nil if they aren't asked.
  @OrNull package var interval: Int?
  /// How many of every 10,000 report batches devices are asked to send; nil means all.
  @OrNull package var reports: Int?
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
  package struct DeltaProgress: Codable, Sendable {
    /// The version that they lead to.
    package let version: ManifestVersion
    /// The number of older versions from which deltas are still to be made; nil while that is being worked out.
    @OrNull package var pending: Int64?
    /// For the next older version.
    package let filesDone: Int
    package let files: Int

    package init(version: ManifestVersion, pending: Int?, filesDone: Int, files: Int) {
      self.version = version
      self.filesDone = filesDone
      self.files = files
      self.pending = pending.map { Int64($0) }
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
    isDiskFull: Bool
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
    hosts = summary.hosts
    self.digest = digest
    self.deltas = deltas
    self.interval = interval
    self.reports = reports
    self.rollback = rollback
    self.policy = policy
    self.prefetch = prefetch
    self.isDiskFull = isDiskFull
  }
}

extension OriginClient {
  package func overview(of channel: ChannelAddress) throws(OriginError) -> OriginAnswer<ChannelOverview> {
    try get(channel.path)
  }

  /// Whether a channel exists.
  package func exists(_ channel: ChannelAddress) throws(OriginError) -> Bool {
    do {
      _ = try overview(of: channel)
      return true
    } catch {
      guard error.problem?.status == 404 else { throw error }
      return false
    }
  }
}
