import Manifests
import System

/// `GET /apps/{app}/channels/{channel}`: what a channel holds now, and how it is.
package struct ChannelOverview: Codable, Sendable {
  package let app: AppName
  package let channel: ChannelName
  /// The newest release; 0: there is none yet.
  package let version: ManifestVersion
  /// When it was made, and the sha256 of its canonical resourcemap.
  @OrNull package var at: Moment?
  @OrNull package var digest: SHA256?
  package let resources: Int64
  package let bytes: Int64
  package let bundles: [Bundle]
  /// Where devices download from.
  package let publicURL: BaseURL
  /// Whether polls without an app are answered by this one.
  package let isDefaultApp: Bool
  /// Nil: it takes releases.
  @OrNull package var freeze: FreezeInfo?
  /// The hosts whose URLs a release may name; nil: all.
  @OrNull package var hosts: [String]?
  /// Seconds that devices are asked to wait between polls; nil: they aren't.
  @OrNull package var interval: Int?
  /// Of 10,000 batches of what devices count, how many they are asked to send; nil: all.
  @OrNull package var reports: Int?
  /// The newest version that a rollback made; nil: none did.
  @OrNull package var rollback: ManifestVersion?
  @OrNull package var policy: DocumentAnswer?
  @OrNull package var prefetch: DocumentVersion?
  /// Nil where the origin makes none.
  @OrNull package var deltas: DeltaProgress?
  /// Tells this origin's data from any other's that ever answered at the same address.
  package let origin: String
  /// Bytes that the origin had and lost, of all its channels; whoever has them should send them again.
  package let damaged: [SHA256]
  /// The channel's URLs that have them.
  package let damagedURLs: [DamagedURL]
  package let scrub: Scrub
  /// Whether the room is spent that the origin keeps for when its disk is full; nil: it is too old to tell.
  @OrNull package var isDiskFull: Bool?

  /// A bundle that is live in the channel.
  package struct Bundle: Codable, Hashable, Sendable {
    package let name: BundleName
    /// The version of the channel in which it changed last.
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

  /// How far the deltas on older versions are.
  package struct DeltaProgress: Codable, Sendable {
    /// The version that they lead to.
    package let version: ManifestVersion
    /// Older versions from which deltas are still to be made; nil: being worked out.
    @OrNull package var pending: Int64?
    /// Of the next older version.
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

  /// Which stored files were read back.
  package struct Scrub: Codable, Sendable {
    package let files: Int64
    package let bytes: Int64
    /// When the one was that waits the longest; nil: not all of them were yet.
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
}
