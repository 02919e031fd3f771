import System

/// A whole manifest.
package struct WholeAnswer: Hashable, Sendable {
  package let version: ManifestVersion
  package let digest: SHA256
  let items: [ManifestItem]
  /// Set where the device named a version that the origin knows; `deltas` are on its resources.
  package let base: ManifestVersion?
  package let deltas: [DeltaOffer]
  package let extras: AnswerExtras

  /// The manifest.
  ///
  /// - Throws: `digest` where it isn't what the answer says.
  package func manifest() throws(ManifestMismatch) -> Manifest {
    let manifest = Manifest(version: version, sorted: items)
    try manifest.check(digest)
    return manifest
  }
}
