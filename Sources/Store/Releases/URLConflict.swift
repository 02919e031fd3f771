import Manifests
import Platform

/// A URL that a release gives other bytes or another type than another bundle holds for it.
package struct URLConflict: Hashable, Sendable {
  package let url: ResourceURL
  /// The other bundle, and what it holds.
  package let bundle: BundleName
  package let sha256: SHA256
}

/// A URL that a release brings in and that matches another one that is live.
package struct URLDuplicate: Hashable, Sendable {
  package let url: ResourceURL
  package let other: ResourceURL
}
