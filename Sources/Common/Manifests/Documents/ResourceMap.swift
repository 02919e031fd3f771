import System
import Values

/// A resourcemap as canonical bytes, and their sha256, the manifest's `digest`.
package struct ResourceMap: Sendable {
  /// Canonical JSON.
  package let bytes: [UInt8]
  /// The sha256 of `bytes`.
  package let digest: SHA256
  /// The number of entries.
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

/// Writes a resourcemap entry by entry, in the order of the URLs.
package struct ResourceMapWriter {
  private var members: ObjectWriter

  /// - Parameter entries: the expected number of entries, to reserve capacity.
  package init(entries: Int = 0) {
    members = ObjectWriter(reserving: entries * 480)
  }

  /// Appends an entry, whose URL must sort after the previous one.
  package mutating func append(_ url: ResourceURL, _ entry: Entry) {
    members.append(key: url.text) { entry.appendCanonicalJSON(to: &$0) }
  }

  /// Returns the map of everything that was appended.
  package consuming func finish() -> ResourceMap {
    let count = members.count
    let bytes = members.finish()
    return ResourceMap(bytes: bytes, digest: SHA256.of(bytes), count: count)
  }
}
