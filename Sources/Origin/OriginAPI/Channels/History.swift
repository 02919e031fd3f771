import Manifests
import System
import Values

/// A release, as listed in the log.
package struct ReleaseInfo: Codable, Sendable {
  package let version: ManifestVersion
  /// `publish`, `unpublish`, `rollback`, `promote`, `rebase`, `restore`, or a kind that only a newer origin knows.
  package let kind: String
  package let at: Moment
  package let author: String
  package let message: String
  /// The SHA-256 of the canonical resourcemap.
  package let digest: SHA256
  /// The number of URLs in the channel's manifest that were added.
  package let added: Int
  package let changed: Int
  package let removed: Int
  package var counts: ChangeCounts?
  package var bundles: [Bundle]
  /// The size in bytes of the content that was added or changed; not of files of which only the type, headers or fallback changed.
  package let newBytes: Int64
  /// The size of the manifest after the release.
  package let resources: Int
  package let bytes: Int64
  /// Where the content of a rollback or promotion came from.
  @OrNull package var source: ReleaseDetails.Source?
  /// Why it was made although the channel was frozen, and who had frozen it.
  @OrNull package var breakGlass: ReleaseDetails.EmergencyOverride?
  /// The rollout whose candidate it is, or was; nil if it went to all devices at once, and from an older origin.
  package var rollout: RolloutInfo?
  /// What it costs devices that have the version before; nil in lists, for the oldest version kept, and from an older
  /// origin.
  package var cost: TransferCost?
  /// Its resources that are lazy, with the size of their files; nil in a list, or if there are none.
  package var lazy: LazyFiles?
  /// The row of the audit trail that records it, as `number:hash`; nil in lists, after a restore, and from an older origin.
  package var receipt: String?
  /// The version's pages that answer routes, sorted by bundle and page; nil in lists, if there are none, and from an older origin.
  package var routes: [Routes]?

  /// For which navigations that nothing else answers a page answers.
  package struct Routes: Codable, Sendable {
    package let bundle: String
    package let page: String
    package let fallback: PageFallbacks

    package init(bundle: String, page: String, fallback: PageFallbacks) {
      self.bundle = bundle
      self.page = page
      self.fallback = fallback
    }
  }

  /// What a release changed in one bundle.
  package struct Bundle: Codable, Sendable {
    package let bundle: String
    package let added: Int
    package let changed: Int
    package let removed: Int
    package var counts: ChangeCounts?
    /// In an app with a root: the serial of the statement that it was released with, and the ids of the keys that have signed
    /// that; nil if none was given.
    package var serial: Int64?
    package var keys: [String]?

    package init(bundle: String, counts: ChangeCounts) {
      self.bundle = bundle
      (added, changed, removed) = (counts.added, counts.changed, counts.removed)
      self.counts = counts
    }
  }

  package init(
    version: ManifestVersion, kind: String, at: Moment, author: String, message: String, digest: SHA256,
    counts: ChangeCounts, bundles: [Bundle], newBytes: Int64, resources: Int, bytes: Int64,
    source: ReleaseDetails.Source?, breakGlass: ReleaseDetails.EmergencyOverride?
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

/// `GET …/log`: releases, newest first.
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
  /// The cost of the whole update.
  package let cost: TransferCost
  /// For a paged diff: the totals over all pages, and the last URL of this page if more follow.
  package var counts: ChangeCounts?
  package var next: String?
  /// How many of the added files are removed ones under another URL, over all pages; nil from an older origin, and where no files
  /// were asked for.
  package var renamed: Int?

  package init(from: ManifestVersion, to: ManifestVersion, cost: TransferCost) {
    self.from = from
    self.to = to
    self.cost = cost
  }

  /// A resource on one side of a diff.
  package struct File: Codable, Sendable {
    package let url: String
    package let ctype: ContentType
    package let md5: MD5
    package let sha256: SHA256
    /// The size in bytes.
    package let size: Int64
    /// The bytes that a device downloads for it without a delta; nil if the file is removed.
    package var plain: Int64?
    /// The bytes of its delta, or nil if there is none.
    package var delta: Int64?
    /// The header fields of its answer from a local file, or nil if there are none.
    package var headers: EntryHeaders?
    /// For which navigations that nothing else answers the page answers, or nil if for none.
    package var fallback: PageFallbacks?
    /// True if updates leave the file out until a page asks for it; else nil.
    package var lazy: Bool?
    /// The previous content of a changed resource.
    package var was: ResourceContent?
    /// What an added file was before, if it is a removed one under another URL.
    package var renamedFrom: Former?
    /// The URL that a removed file went on under.
    package var renamedTo: String?

    /// A removed resource that another one continues.
    package struct Former: Codable, Sendable {
      package let url: String
      package let ctype: ContentType
      package let md5: MD5
      package let sha256: SHA256
      /// The size in bytes.
      package let size: Int64

      package init(_ content: ResourceContent, at url: ResourceURL) {
        self.url = url.text
        (ctype, md5, sha256, size) = (content.ctype, content.md5, content.sha256, content.size)
      }
    }

    package init(_ content: ResourceContent, at url: ResourceURL) {
      self.url = url.text
      ctype = content.ctype
      headers = content.headers.isEmpty ? nil : content.headers
      fallback = content.fallbacks.isEmpty ? nil : content.fallbacks
      lazy = content.isLazy ? true : nil
      md5 = content.md5
      sha256 = content.sha256
      size = content.size
    }
  }
}

/// `GET …/bundles/{bundle}/entries`: what a bundle holds, or what changed in it since a version.
package struct BundleEntries: Codable, Sendable {
  package let bundle: BundleName
  /// The version of the channel in which the bundle last changed.
  package let version: ManifestVersion
  package let channelVersion: ManifestVersion
  /// The version since which `entries` lists changes; nil if they are the whole bundle.
  @OrNull package var base: ManifestVersion?
  /// An object that maps each URL to its content, or to null if it was removed since `base`. It stays JSON since there may
  /// be 100,000 URLs.
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
