import System

/// Writes a resourcemap entry by entry, in the order of the URLs.
package struct ResourceMapWriter {
  private var members: ObjectWriter

  /// - Parameter entries: how many are expected, to make room once.
  package init(entries: Int = 0) {
    members = ObjectWriter(reserving: entries * 480)
  }

  package mutating func append(_ url: ResourceURL, _ entry: Entry) {
    members.append(key: url.text) { entry.appendCanonicalJSON(to: &$0) }
  }

  /// Appends an entry that is rendered already, `Entry.canonicalJSON`.
  package mutating func append(_ url: ResourceURL, entryJSON: [UInt8]) {
    members.append(key: url.text) { $0.append(contentsOf: entryJSON) }
  }

  package consuming func finish() -> ResourceMap {
    let count = members.count
    let bytes = members.finish()
    return ResourceMap(bytes: bytes, digest: SHA256.of(bytes), count: count)
  }
}
