import System

/// A patch; `Manifest.applying` makes a manifest of it.
package struct PatchAnswer: Hashable, Sendable {
  package let base: ManifestVersion
  package let version: ManifestVersion
  /// Of the resourcemap that it leads to.
  package let digest: SHA256
  /// Sorted by URL.
  package let changes: [ManifestChange]
  /// Sorted by URL.
  package let deltas: [DeltaOffer]
  package let extras: AnswerExtras
}

/// What becomes of one URL.
package struct ManifestChange: Hashable, Sendable {
  package let url: ResourceURL
  /// A merge patch on its entry; null where it is gone.
  package let value: JSONValue
}
