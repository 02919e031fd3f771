import Manifests
import System
import Trust
import Values

/// The roots of an app, as they were put in force one after another; never empty.
package struct AppTrust: Sendable {
  /// A root, and who put it in force.
  package struct Root: Sendable {
    package let signed: Signed<TrustRoot>
    package let at: Moment
    package let author: String

    package init(signed: Signed<TrustRoot>, at: Moment, author: String) {
      self.signed = signed
      self.at = at
      self.author = author
    }
  }

  /// From number 1 on.
  package let roots: [Root]

  package init(roots: [Root]) { self.roots = roots }

  /// The root in force: the newest one.
  package var inForce: TrustRoot { roots[roots.count - 1].signed.document }
}

/// A bundle of a channel's version, and the statement that its devices get for it.
package struct BundleTrust: Sendable {
  package let bundle: BundleName
  /// The digest of what a release signs of it (`BundleContent`).
  package let content: SHA256
  /// The statement that devices get; nil if none was given for this content.
  package let statement: Signed<ReleaseStatement>?
  /// The lowest serial that devices of the channel still take.
  package let floor: Serial
  /// The keys of the root in force that have signed it.
  package let signers: [KeyID]
  /// Why devices would refuse the bundle; nil if they take it.
  package let problem: TrustFailure?
  /// The version to which it goes back, if a rollback makes it what it is.
  package var target: ManifestVersion?

  package init(
    bundle: BundleName, content: SHA256, statement: Signed<ReleaseStatement>?, floor: Serial,
    signers: [KeyID], problem: TrustFailure?
  ) {
    self.bundle = bundle
    self.content = content
    self.statement = statement
    self.floor = floor
    self.signers = signers
    self.problem = problem
  }
}

/// A bundle that a change would leave unsigned, and why devices would refuse it.
package struct UnsignedBundle: Hashable, Sendable {
  package let channel: ChannelName
  package let bundle: BundleName
  package let content: SHA256
  package let problem: TrustFailure
  /// The version to which a rollback would go.
  package let target: ManifestVersion?

  package init(
    channel: ChannelName, bundle: BundleName, content: SHA256, problem: TrustFailure,
    target: ManifestVersion? = nil
  ) {
    self.channel = channel
    self.bundle = bundle
    self.content = content
    self.problem = problem
    self.target = target
  }
}

/// A URL that two bundles hold, which a channel with a root can't have.
package struct SharedURL: Hashable, Sendable {
  package let channel: ChannelName
  package let url: ResourceURL
  package let bundles: [BundleName]

  package init(channel: ChannelName, url: ResourceURL, bundles: [BundleName]) {
    self.channel = channel
    self.url = url
    self.bundles = bundles
  }
}

/// A floor that a root has lowered, and a statement would raise again.
package struct RaisedFloor: Hashable, Sendable {
  /// Nil: that of prefetch configs.
  package let bundle: BundleName?
  /// What the statement leaves.
  package let floor: Serial
  /// The channel's floor.
  package let named: Serial
}
