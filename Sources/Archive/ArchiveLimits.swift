/// What an archive may unpack to before it is refused.
package struct ArchiveLimits: Hashable, Sendable {
  /// Entries, folders included.
  package var entries: Int
  /// Bytes of all files together.
  package var bytes: Int64
  /// How many times the archive's own size all files may take together; counts above `denseFloor` bytes.
  package var density: Int64

  /// Below this many bytes an archive may be as dense as deflate can be, 1,032 : 1.
  static let denseFloor: UInt64 = 16 << 20

  /// A million files, 16 GiB, 200 times the archive's size: web builds pack 3 to 20 times.
  package static let usual = ArchiveLimits(entries: 1_000_000, bytes: 16 << 30, density: 200)

  package init(entries: Int, bytes: Int64, density: Int64) {
    self.entries = entries
    self.bytes = bytes
    self.density = density
  }
}
