import System

/// A script or style, and its source map, both by their bytes.
package struct SourceMapClaim: Hashable, Sendable {
  /// The largest map that is taken, in bytes.
  package static let sizeLimit: Int64 = 64 << 20

  /// The script or style, which a release has, or is about to have.
  package let file: SHA256
  /// The map, whose bytes were sent before.
  package let map: SHA256
  /// The map's size in bytes, as its sender says.
  package let size: Int64

  /// Creates a claim.
  package init(file: SHA256, map: SHA256, size: Int64) {
    (self.file, self.map, self.size) = (file, map, size)
  }
}

/// What became of source maps that were sent.
package struct SourceMapOutcome: Sendable {
  /// The files that have a map now and had none, or another one.
  package internal(set) var stored = 0
  /// The files that had the same map before.
  package internal(set) var known = 0
  /// The files that only bundles have which the sender may not change: they stay as they were.
  package internal(set) var refused = 0
}
