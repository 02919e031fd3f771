import Manifests
import System

/// A release as the log tells it.
package struct ReleaseInfo: Codable, Sendable {
  package let version: ManifestVersion
  /// `publish`, `unpublish`, `rollback`, `promote`, `rebase`, `restore`, or what a newer origin has.
  package let kind: String
  package let at: Moment
  package let author: String
  package let message: String
  /// Of the canonical resourcemap.
  package let digest: SHA256
  /// URLs of the channel's manifest.
  package let added: Int
  package let changed: Int
  package let removed: Int
  package var counts: ReleaseCounts?
  package let bundles: [Bundle]
  /// Bytes of what it added or changed.
  package let newBytes: Int64
  /// The manifest afterwards.
  package let resources: Int
  package let bytes: Int64
  /// Where the content of a rollback or promotion came from.
  @OrNull package var source: Source?
  /// Why it was made though the channel was frozen, and by whom it was.
  @OrNull package var breakGlass: EmergencyOverride?
  /// What it costs devices that are at the version before; nil in lists, for the oldest that is kept, and from an older
  /// origin.
  package var cost: TransferCost?
  /// The row of the audit trail that tells of it, `number:hash`; nil in lists, after a restore, and from an older origin.
  package var receipt: String?

  /// What a release changed in one bundle.
  package struct Bundle: Codable, Sendable {
    package let bundle: String
    package let added: Int
    package let changed: Int
    package let removed: Int
    package var counts: ReleaseCounts?

    package init(bundle: String, counts: ReleaseCounts) {
      self.bundle = bundle
      (added, changed, removed) = (counts.added, counts.changed, counts.removed)
      self.counts = counts
    }
  }

  /// Where the content of a rollback or a promotion came from.
  package struct Source: Codable, Sendable {
    package let channel: ChannelName
    package let version: ManifestVersion
    /// The one bundle that it was about; nil: all of the channel.
    @OrNull package var bundle: BundleName?

    package init(channel: ChannelName, version: ManifestVersion, bundle: BundleName?) {
      self.channel = channel
      self.version = version
      self.bundle = bundle
    }
  }

  /// Why a release was made while its channel was frozen.
  package struct EmergencyOverride: Codable, Sendable {
    package let reason: String
    package let frozenBy: String

    package init(reason: String, frozenBy: String) {
      self.reason = reason
      self.frozenBy = frozenBy
    }
  }

  package init(
    version: ManifestVersion, kind: String, at: Moment, author: String, message: String, digest: SHA256,
    counts: ReleaseCounts, bundles: [Bundle], newBytes: Int64, resources: Int, bytes: Int64,
    source: Source?, breakGlass: EmergencyOverride?
  ) {
    self.version = version
    self.kind = kind
    self.at = at
    self.author = author
    self.message = message
    self.digest = digest
    (added, changed, removed) = (counts.added, counts.changed, counts.removed)
    self.counts = counts
    self.bundles = bundles
    self.newBytes = newBytes
    self.resources = resources
    self.bytes = bytes
    self.source = source
    self.breakGlass = breakGlass
  }
}

/// `GET …/log`: the newest first.
package struct ReleaseLog: Codable, Sendable {
  package let releases: [ReleaseInfo]

  package init(releases: [ReleaseInfo]) { self.releases = releases }
}

/// `GET …/diff?from=A&to=B`: what changed between two versions, each list sorted by URL.
package struct DiffAnswer: Codable, Sendable {
  package let from: ManifestVersion
  package let to: ManifestVersion
  package var added: [File] = []
  package var changed: [File] = []
  package var removed: [File] = []
  /// Of the whole update.
  package let cost: TransferCost
  /// Of a page: how many there are on all pages, and the last URL of this one where more follow.
  package var counts: ReleaseCounts?
  package var next: String?

  package init(from: ManifestVersion, to: ManifestVersion, cost: TransferCost) {
    self.from = from
    self.to = to
    self.cost = cost
  }

  /// A resource on either side of a diff.
  package struct File: Codable, Sendable {
    package let url: String
    package let ctype: ContentType
    package let md5: MD5
    package let sha256: SHA256
    /// Bytes.
    package let size: Int64
    /// What a device downloads for it without a delta, in bytes; nil: the file leaves.
    package var plain: Int64?
    /// The same as a delta; nil: there is none.
    package var delta: Int64?
    /// What it is answered with from a local file; nil: nothing.
    package var headers: EntryHeaders?
    /// What a changed one was.
    package var was: ResourceContent?

    package init(_ content: ResourceContent, at url: ResourceURL) {
      self.url = url.text
      ctype = content.ctype
      headers = content.headers.isEmpty ? nil : content.headers
      md5 = content.md5
      sha256 = content.sha256
      size = content.size
    }
  }
}

/// `GET …/bundles/{bundle}/entries`: what a bundle holds, or what changed in it since a version.
package struct BundleEntries: Codable, Sendable {
  package let bundle: BundleName
  /// The version of the channel in which the bundle changed last.
  package let version: ManifestVersion
  package let channelVersion: ManifestVersion
  /// The version that `entries` start from; nil: they are all there is.
  @OrNull package var base: ManifestVersion?
  /// An object of URLs, each with its content, or with null where it is gone since `base`. It stays JSON: there may be
  /// 100,000.
  package let entries: JSONValue

  package init(
    bundle: BundleName, version: ManifestVersion, channelVersion: ManifestVersion, base: ManifestVersion?,
    entries: JSONObject
  ) {
    self.bundle = bundle
    self.version = version
    self.channelVersion = channelVersion
    self.entries = .object(entries)
    self.base = base
  }
}

extension OriginClient {
  /// Bytes that are taken of what grows with a manifest.
  private static let manifestLimit = 1 << 30

  /// - Parameters:
  ///   - before: only versions below it.
  ///   - time: only what was released by then.
  package func log(
    of channel: ChannelAddress, limit: Int, before: ManifestVersion? = nil, at time: String? = nil
  ) throws(OriginError) -> OriginAnswer<ReleaseLog> {
    let query =
      (before.map { "&before=\($0)" } ?? "") + (time.map { "&at=\(OriginCall.escaped($0))" } ?? "")
    return try get("\(channel.path)/log?limit=\(limit)\(query)")
  }

  /// - Parameter version: a number, or a time at which it was live; so in what follows, too.
  package func release(_ version: String, of channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<ReleaseInfo>
  {
    try get("\(channel.path)/releases/\(OriginCall.escaped(version))")
  }

  package func diff(from older: String, to newer: String, of channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<DiffAnswer>
  {
    let query = "from=\(OriginCall.escaped(older))&to=\(OriginCall.escaped(newer))"
    var call = OriginCall("GET", "\(channel.path)/diff?\(query)")
    call.limit = Self.manifestLimit
    return try send(call)
  }

  /// The canonical resourcemap of a version; nil: of the newest.
  package func manifest(_ version: String? = nil, of channel: ChannelAddress) throws(OriginError) -> JSONValue
  {
    let query = version.map { "?version=\(OriginCall.escaped($0))" } ?? ""
    var call = OriginCall("GET", "\(channel.path)/manifest\(query)")
    call.limit = Self.manifestLimit
    return try send(call)
  }

  package func entries(of bundle: BundleName, in channel: ChannelAddress, since: ManifestVersion? = nil)
    throws(OriginError) -> BundleEntries
  {
    let query = since.map { "?since=\($0)" } ?? ""
    var call = OriginCall("GET", "\(channel.path)/bundles/\(bundle)/entries\(query)")
    call.limit = Self.manifestLimit
    return try send(call, as: BundleEntries.self).value
  }
}
