import Manifests
import Trust

/// How a release is signed, in an app with a root.
package struct SigningOptions: Sendable {
  /// Who signs; nil: nobody does here.
  package var signer: LazySigner?
  /// The channels that the statements are for, beside the release's own.
  package var channels: Set<ChannelName> = []
  /// Whether nothing older than this release may come back, in any of these channels.
  package var raisesFloor = false
  /// Statements of the same files that others have signed.
  package var given: [Signed<ReleaseStatement>] = []
  /// The root that the app is built with; nil: its first one, as the origin has it.
  package var root: RootFile?

  package init() {}

  /// Whether something is to be signed, or sent, although the origin needn't ask for it.
  var isDemanding: Bool { raisesFloor || !channels.isEmpty || !given.isEmpty }

  /// Whether there is anything to sign with.
  var canSign: Bool { signer != nil || !given.isEmpty }
}
