import System

/// Why an answer doesn't lead to the manifest that it promises.
package enum ManifestMismatch: Error, Hashable, Sendable {
  case base(expected: ManifestVersion, held: ManifestVersion)
  case digest(expected: SHA256, actual: SHA256)
  case entry(ResourceURL, JSONError)
}
