import System

/// A resourcemap as canonical bytes, and their sha256, the manifest's `digest`.
package struct ResourceMap: Sendable {
  package let bytes: [UInt8]
  package let digest: SHA256
  /// Entries.
  package let count: Int

  /// The map of a channel without a release.
  package static let empty = ResourceMap([])

  /// Writes `items`, sorted by URL.
  package init(_ items: some Collection<ManifestItem>) {
    var writer = ResourceMapWriter(entries: items.count)
    for item in items { writer.append(item.url, item.entry) }
    self = writer.finish()
  }

  init(bytes: [UInt8], digest: SHA256, count: Int) {
    self.bytes = bytes
    self.digest = digest
    self.count = count
  }
}
