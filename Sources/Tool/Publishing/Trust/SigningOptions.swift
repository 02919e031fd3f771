import Manifests
import Trust

/// How a release is signed, in an app with a root.
package struct SigningOptions: Sendable {
  /// Who signs; nil: nobody does here.
  package var signers: LazySigners?
  /// The channels that the statements are for, beside the release's own.
  package var channels: Set<ChannelName> = []
  /// Whether nothing older than this release may come back, in any of these channels.
  package var raisesFloor = false
  /// Whether the release goes to a part of the devices first: those may have to go back to the full version, so no floor above its
  /// statement is carried over.
  package var isRollout = false
  /// Statements of the same files that others have signed.
  package var given: [Signed<ReleaseStatement>] = []
  /// The root that the app is built with; nil: its first one, as the origin has it.
  package var root: RootFile?

  package init() {}

  /// Whether something is to be signed, or sent, although the origin needn't ask for it.
  var isDemanding: Bool { raisesFloor || !channels.isEmpty || !given.isEmpty }

  /// Whether there is anything to sign with.
  var canSign: Bool { signers != nil || !given.isEmpty }

  /// Returns those who sign releases under a root: the ones that it names for some, or all of them if it names none.
  func signers(under root: TrustRoot) throws(TrustFault) -> [any StatementSigner] {
    let all = try signers?.get() ?? []
    let named = Set(root.grants.flatMap(\.signers.keys))
    let listed = all.filter { named.contains($0.key.id) }
    return listed.isEmpty ? all : listed
  }
}
