import BuildCheck
import Manifests
import OriginAPI

/// The options of a publish.
package struct PublishOptions: Sendable {
  /// The options of the release itself.
  package var release: ReleaseOptions
  /// The most bytes that an update from the replaced version may cost a device; else the release is refused. A channel's
  /// first release replaces none.
  package var maxUpdate: Int64?
  /// Whether to wait until the deltas from older versions are made.
  package var waitsForDeltas = false
  package var check = CheckOptions.all
  /// Whether a channel, or its app, that doesn't exist is created; else the release is refused.
  package var creates = true
  /// Whether a bundle may lose all its pages; else such a release is refused.
  package var allowsNoPages = false
  /// Bundles that are created only if `creates`, or if the channel has no other: their names may be misspelt.
  package var typedNames: Set<BundleName> = []
  /// Whether to read every file and fetch all entries, ignoring the caches.
  package var rehash = false
  /// Whether to send the files that the origin lacks; a dry run can go without, and reports less then.
  package var sendsFiles = true
  /// The folder of source maps to store with the release; nil: none.
  package var sourceMaps: String?
  /// How it is signed, in an app with a root.
  package var signing = SigningOptions()

  package init(_ release: ReleaseOptions = ReleaseOptions()) { self.release = release }
}
