import System

/// `POST …/source-maps`: the source maps of a channel's scripts and styles, whose bytes were sent before.
package struct SourceMapRequest: Codable, Sendable {
  /// How many maps one request takes.
  package static let limit = 5_000

  /// A file and its map.
  package struct Item: Codable, Hashable, Sendable {
    /// The script or style, which is released, or sent.
    package var file: SHA256?
    /// The map.
    package var map: SHA256?
    /// The map's size in bytes.
    package var size: Int64?

    package init(file: SHA256, map: SHA256, size: Int64) {
      (self.file, self.map, self.size) = (file, map, size)
    }
  }

  package var maps: [Item]?

  package init(maps: [Item]) { self.maps = maps }
}

/// What became of source maps.
package struct SourceMapAnswer: Codable, Sendable {
  /// How many files have a map now and had none, or another one.
  package let stored: Int
  /// How many had the same map before.
  package let known: Int
  /// How many are only in bundles that the token may not change; nothing was stored for them.
  package let refused: Int

  package init(stored: Int, known: Int, refused: Int) {
    (self.stored, self.known, self.refused) = (stored, known, refused)
  }
}
