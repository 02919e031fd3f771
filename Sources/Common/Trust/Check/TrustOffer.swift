import Manifests
import System
import Values

/// What a device was given: everything in it may be an attacker's.
package struct TrustOffer: Sendable {
  /// A manifest, as the device has computed it from an answer.
  package struct Manifest: Sendable {
    package let version: ManifestVersion
    /// The digest of `items`, as the device has computed it, not as an answer says.
    package let digest: SHA256
    /// The entries, ordered by URL, each once.
    package let items: [ManifestItem]

    package init(version: ManifestVersion, digest: SHA256, items: [ManifestItem]) {
      self.version = version
      self.digest = digest
      self.items = items
    }

    package init(_ manifest: Manifests.Manifest) {
      self.init(version: manifest.version, digest: manifest.map.digest, items: manifest.items)
    }
  }

  /// A prefetch config.
  package struct Prefetch: Sendable {
    package let version: Int64
    /// The digest of the canonical form of `config`, as the device has computed it.
    package let digest: SHA256
    /// Nil if the document has no statement.
    package let statement: Received<PrefetchStatement>?

    package init(version: Int64, digest: SHA256, statement: Received<PrefetchStatement>?) {
      self.version = version
      self.digest = digest
      self.statement = statement
    }
  }

  /// The number of the newest root, as an answer names it.
  package var rootNumber: RootNumber?
  /// The roots that follow the one in force, in their order.
  package var roots: [Received<TrustRoot>]
  /// The head of an answer, or that of `head.json`.
  package var head: Received<TrustHead>?
  /// The release statements of an answer.
  package var releases: [Received<ReleaseStatement>]
  /// The manifest that an answer leads to.
  package var manifest: Manifest?
  /// The version of a policy that the device has fetched.
  package var policy: Int64?
  /// A prefetch config that the device has fetched.
  package var prefetch: Prefetch?

  package init(
    rootNumber: RootNumber? = nil, roots: [Received<TrustRoot>] = [], head: Received<TrustHead>? = nil,
    releases: [Received<ReleaseStatement>] = [], manifest: Manifest? = nil, policy: Int64? = nil,
    prefetch: Prefetch? = nil
  ) {
    self.rootNumber = rootNumber
    self.roots = roots
    self.head = head
    self.releases = releases
    self.manifest = manifest
    self.policy = policy
    self.prefetch = prefetch
  }
}

/// The member `trust` of an answer that leads to a new manifest: its head, and the statements of the bundles that changed, or
/// of all.
package struct AnswerTrust: Sendable {
  /// The maximum number of release statements.
  package static let releaseLimit = 1000

  /// Nil if there is none.
  package let head: Received<TrustHead>?
  package let releases: [Received<ReleaseStatement>]

  /// Reads the member, which comes next. What is wrong with an envelope is for the check to say.
  ///
  /// - Throws: `tooMany`, or `unexpected`, if it isn't an object with a list of at most `releaseLimit` statements.
  package init(reading reader: inout JSONReader) throws(JSONError) {
    var head: Received<TrustHead>?
    var releases: [Received<ReleaseStatement>] = []
    try reader.members { (key, reader) throws(JSONError) in
      switch key {
      case "head": head = Received(json: try reader.value(atMost: Envelope.valueLimit))
      case "releases":
        var left = Self.releaseLimit
        releases = try reader.array { (reader) throws(JSONError) in
          guard left > 0 else { throw .tooMany(at: reader.at) }
          left -= 1
          return Received(json: try reader.value(atMost: Envelope.valueLimit))
        }
      default: try reader.skip()
      }
    }
    self.head = head
    self.releases = releases
  }
}
