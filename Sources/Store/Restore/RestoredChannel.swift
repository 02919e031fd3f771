import Manifests
import System

/// A channel as a mirror tells it: the versions that it kept, with what an origin needs to go on from them.
package struct RestoredChannel: Sendable {
  /// What a bundle held at a version.
  package struct Bundle: Sendable {
    /// Which bundle.
    package let name: BundleName
    /// The last version at which it changed.
    package let version: ManifestVersion
    /// What its last change did to it.
    package let counts: ChangeCounts
    /// How many URLs it held then.
    package let resources: Int
    /// The bytes of all of them.
    package let bytes: Int64
    /// What it held.
    package let urls: [ResourceURL]
  }

  /// A version and its manifest.
  package struct Release: Sendable {
    /// Its number.
    package let version: ManifestVersion
    /// The act that made it.
    package let kind: ReleaseKind
    /// Milliseconds since 1970.
    package let at: Int64
    /// The sha256 of its canonical resourcemap.
    package let digest: SHA256
    /// What it did to the manifest.
    package let counts: ChangeCounts
    /// Bytes of what it added or changed.
    package let newBytes: Int64
    /// How many URLs the manifest has.
    package let resources: Int
    /// The bytes of all of them.
    package let bytes: Int64
    /// Every bundle that ever held something.
    package let bundles: [Bundle]
    /// The manifest, sorted by URL.
    package let items: [ManifestItem]
  }

  /// A version of a document that the channel had beside its manifest.
  package struct Document: Sendable {
    /// Which document.
    package let document: ChannelDocument
    /// Its number.
    package let version: Int64
    /// Canonical JSON.
    package let content: [UInt8]

    /// A document by its number and content.
    package init(_ document: ChannelDocument, version: Int64, content: [UInt8]) {
      self.document = document
      self.version = version
      self.content = content
    }
  }

  /// Its app.
  package let app: AppName
  /// The app's number, which stands in download URLs.
  package let appID: Int64
  /// Its name.
  package let name: ChannelName
  /// What the download URLs of its next releases begin with.
  package let publicURL: BaseURL
  /// The lowest number that its next release might have had.
  package let leastNext: Int64
  /// Oldest first.
  package let releases: [Release]
  /// How many resource versions a URL was given, where that is more than the newest manifest says.
  package let counters: [(url: ResourceURL, versions: Int64)]
  /// The newest of each.
  package let documents: [Document]
  /// The lowest numbers that their next versions might have had, where a restore raised them before.
  package let leastDocuments: [ChannelDocument: Int64]
  /// Those that its policy names.
  package let scripts: [[UInt8]]
  /// What its answers say beside their news: the interval, the share of reports and the newest rollback are taken.
  package let extras: AnswerExtras

  /// A channel by all that a mirror tells of it.
  package init(
    app: AppName, appID: Int64, name: ChannelName, publicURL: BaseURL, leastNext: Int64, releases: [Release],
    counters: [(url: ResourceURL, versions: Int64)], documents: [Document],
    leastDocuments: [ChannelDocument: Int64] = [:], scripts: [[UInt8]],
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
    self.extras = extras
  }
}

extension RestoredChannel.Bundle {
  /// Reads one of `release/N.json`'s bundles.
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
  /// Reads `release/N.json`, whose manifest has these items.
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
