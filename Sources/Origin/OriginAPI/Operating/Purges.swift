import Manifests
import System

/// `POST /purge`: bytes to remove from everywhere, and to refuse from then on.
package struct PurgeRequest: Codable, Sendable {
  /// A sha256, the URL of a resource, or a download URL.
  package var content: String?
  /// Why, 1 to 1,024 bytes.
  package var reason: String?
  package var breakGlass: String?
  /// Only report what would happen.
  package var dryRun: Bool?
  /// Also if no kept version has the bytes, nor had them when they were purged: they are refused from then on, and removed from
  /// where files are pushed to and from copies. `content` is a sha256 then.
  package var unknown: Bool?

  package init(content: String, reason: String?, breakGlass: String?, dryRun: Bool, unknown: Bool? = nil) {
    self.unknown = unknown
    self.content = content
    self.reason = reason
    self.breakGlass = breakGlass
    self.dryRun = dryRun
  }
}

/// What a purge removed or, for a dry run, would remove.
package struct PurgeAnswer: Codable, Sendable {
  package let sha256: SHA256
  /// Nil if no release ever had the bytes.
  @OrNull package var size: Int64?
  package let dryRun: Bool
  package let channels: [Channel]
  /// The URLs under which a CDN or a cache may have the bytes, or what was made of them.
  package let urls: [String]
  /// The receipt, which names the row in the audit trail; nil for a dry run.
  @OrNull package var receipt: String?
  /// The purge that removed the bytes before; nil if there was something left to remove.
  package var earlier: Purge?

  package init(
    sha256: SHA256, size: Int64?, dryRun: Bool, channels: [Channel], urls: [String], receipt: String?,
    earlier: Purge? = nil
  ) {
    self.earlier = earlier
    self.sha256 = sha256
    self.dryRun = dryRun
    self.channels = channels
    self.urls = urls
    self.size = size
    self.receipt = receipt
  }

  /// A channel with kept versions that have the bytes.
  package struct Channel: Codable, Sendable {
    package let app: AppName
    package let channel: ChannelName
    /// Every URL that the bytes have had.
    package let urls: [String]
    /// The bundles that release them now.
    package let bundles: [String]
    /// The release without them; nil if they aren't live, or for a dry run.
    @OrNull package var release: ManifestVersion?
    /// The versions that can't be shown or rolled back to any more.
    package let dropped: [ManifestVersion]
    /// Those of them that were pinned.
    package let pinned: [ManifestVersion]
    /// The candidate of an open rollout that ends, since its bundles have them; nil: none does.
    package var endedCandidate: ManifestVersion?

    package init(
      app: AppName, channel: ChannelName, urls: [String], bundles: [String], release: ManifestVersion?,
      dropped: [ManifestVersion], pinned: [ManifestVersion], endedCandidate: ManifestVersion? = nil
    ) {
      self.endedCandidate = endedCandidate
      self.app = app
      self.channel = channel
      self.urls = urls
      self.bundles = bundles
      self.dropped = dropped
      self.pinned = pinned
      self.release = release
    }
  }
}

/// `GET /purges`.
package struct PurgeList: Codable, Sendable {
  package let purges: [Purge]

  package init(purges: [Purge]) { self.purges = purges }
}
