import Manifests
import System
import Trust
import Values

/// A channel as a mirror has it: the versions that it kept, with what an origin needs to continue from them.
package struct RestoredChannel: Sendable {
  /// A bundle at a version.
  package struct Bundle: Sendable {
    /// The bundle's name.
    package let name: BundleName
    /// The last version at which it changed.
    package let version: ManifestVersion
    /// The counts of its last change.
    package let counts: ChangeCounts
    /// The number of URLs that it held then.
    package let resources: Int
    /// The bytes of all those resources.
    package let bytes: Int64
    /// The URLs that it held.
    package let urls: [ResourceURL]
  }

  /// A version and its manifest.
  package struct Release: Sendable {
    /// The version number.
    package let version: ManifestVersion
    /// The kind of act.
    package let kind: ReleaseKind
    /// Milliseconds since 1970.
    package let at: Int64
    /// The SHA-256 of its canonical resourcemap.
    package let digest: SHA256
    /// The changes to the manifest.
    package let counts: ChangeCounts
    /// Bytes of the resources that it added or changed.
    package let newBytes: Int64
    /// The number of URLs in the manifest.
    package let resources: Int
    /// The bytes of all those resources.
    package let bytes: Int64
    /// The bundles that ever held something.
    package let bundles: [Bundle]
    /// The manifest, sorted by URL.
    package let items: [ManifestItem]
  }

  /// A version of one of the channel's documents.
  package struct Document: Sendable {
    /// The document.
    package let document: ChannelDocument
    /// The version number.
    package let version: Int64
    /// Canonical JSON.
    package let content: [UInt8]

    /// Creates a version of a document.
    package init(_ document: ChannelDocument, version: Int64, content: [UInt8]) {
      self.document = document
      self.version = version
      self.content = content
    }
  }

  /// The channel's app.
  package let app: AppName
  /// The app's number, which is part of download URLs.
  package let appID: Int64
  /// The channel's name.
  package let name: ChannelName
  /// The base of the download URLs of its next releases.
  package let publicURL: BaseURL
  /// The lowest version that its next release could have had.
  package let leastNext: Int64
  /// The kept releases, oldest first.
  package let releases: [Release]
  /// The number of resource versions that a URL has had, where it is higher than the newest manifest shows.
  package let counters: [(url: ResourceURL, versions: Int64)]
  /// The newest version of each document.
  package let documents: [Document]
  /// The lowest versions that the next versions of documents could have had, if an earlier restore raised them.
  package let leastDocuments: [ChannelDocument: Int64]
  /// The scripts that its policy names.
  package let scripts: [[UInt8]]
  /// What it has of roots and signatures; nil without a root.
  package let trust: RestoredTrust?
  /// The extra members of its answers, of which the interval, the share of reports and the newest rollback are used.
  package let extras: AnswerExtras

  /// Creates a channel from what a mirror has.
  package init(
    app: AppName, appID: Int64, name: ChannelName, publicURL: BaseURL, leastNext: Int64, releases: [Release],
    counters: [(url: ResourceURL, versions: Int64)], documents: [Document],
    leastDocuments: [ChannelDocument: Int64] = [:], scripts: [[UInt8]], trust: RestoredTrust? = nil,
    extras: AnswerExtras
  ) {
    self.app = app
    self.appID = appID
    self.name = name
    self.publicURL = publicURL
    self.leastNext = leastNext
    self.releases = releases
    self.counters = counters
    self.documents = documents
    self.leastDocuments = leastDocuments
    self.scripts = scripts
    self.trust = trust
    self.extras = extras
  }
}

/// What a mirror has of a channel's roots and signatures.
package struct RestoredTrust: Sendable {
  /// The roots of its app, from the first on.
  package let roots: [Signed<TrustRoot>]
  /// The version from which on entries name their bundles; nil: none does.
  package let bundlesSince: ManifestVersion?
  /// The newest head, and the key of the newest root that has signed it; nil if there is none.
  package let head: (signed: Signed<TrustHead>, key: KeyID)?
  /// The statements of the kept versions.
  package let releases: [Signed<ReleaseStatement>]
  /// Those of prefetch configs.
  package let prefetch: [Signed<PrefetchStatement>]
  /// The lowest serials that devices still take, by bundle; that of prefetch configs has an empty name.
  package let floors: [(bundle: String, floor: Serial)]

  /// Creates what a mirror has.
  package init(
    roots: [Signed<TrustRoot>], bundlesSince: ManifestVersion?,
    head: (signed: Signed<TrustHead>, key: KeyID)?,
    releases: [Signed<ReleaseStatement>], prefetch: [Signed<PrefetchStatement>],
    floors: [(bundle: String, floor: Serial)]
  ) {
    self.roots = roots
    self.bundlesSince = bundlesSince
    self.head = head
    self.releases = releases
    self.prefetch = prefetch
    self.floors = floors
  }
}

extension RestoredChannel.Bundle {
  /// Parses one of the bundles of `release/N.json`.
  /// - Throws: `member`.
  package init(json: JSONValue) throws(JSONError) {
    guard let name = try? BundleName(try json.string("name")) else { throw .member("name") }
    var urls: [ResourceURL] = []
    for item in json["urls"]?.array ?? [] {
      guard let url = item.string.flatMap({ try? ResourceURL($0) }) else { throw .member("urls") }
      urls.append(url)
    }
    self.init(
      name: name, version: try json.version("version"), counts: try ChangeCounts(json: json),
      resources: Int(try json.size("resources")), bytes: try json.size("bytes"), urls: urls)
  }
}

extension RestoredChannel.Release {
  /// Parses `release/N.json`, whose manifest has these items.
  /// - Throws: `member`.
  package init(json: JSONValue, items: [ManifestItem]) throws(JSONError) {
    guard let kind = ReleaseKind(rawValue: try json.string("kind")) else { throw .member("kind") }
    var bundles: [RestoredChannel.Bundle] = []
    for item in json["bundles"]?.array ?? [] { bundles.append(try RestoredChannel.Bundle(json: item)) }
    self.init(
      version: try json.version("version"), kind: kind, at: try json.size("at"),
      digest: try json.sha256("digest"),
      counts: try ChangeCounts(json: json), newBytes: try json.size("newBytes"),
      resources: Int(try json.size("resources")), bytes: try json.size("bytes"), bundles: bundles,
      items: items)
  }
}

extension ChangeCounts {
  fileprivate init(json: JSONValue) throws(JSONError) {
    self.init(
      added: Int(try json.size("added")), changed: Int(try json.size("changed")),
      removed: Int(try json.size("removed")))
  }
}
