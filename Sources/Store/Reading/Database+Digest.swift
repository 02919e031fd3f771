import Manifests
import Platform

extension Database {
  /// The digest of the resourcemap that a release leads to, before its rows are written.
  func digest(of release: PreparedRelease) throws(StoreError) -> SHA256 {
    try digest(of: release.channel, at: release.channel.version, with: release.changes)
  }

  /// The sha256 of the canonical resourcemap of `version` with `changes`, which are sorted by URL, on top.
  func digest(of channel: ChannelInfo, at version: ManifestVersion, with changes: [EntryChange])
    throws(StoreError) -> SHA256
  {
    var map = ResourceMapHasher()
    var rest = changes[...]
    try eachEntry(of: channel, at: version) { (url, row) throws(StoreError) in
      while let change = rest.first, change.url < url {
        map.append(rest.removeFirst())
      }
      if rest.first?.url == url {
        map.append(rest.removeFirst())
      } else {
        map.append(EntryChange(url: url, entry: try row.entry(url, in: channel)))
      }
    }
    for change in rest { map.append(change) }
    return map.finish()
  }
}

/// Hashes a canonical resourcemap whose entries come in order.
private struct ResourceMapHasher: ~Copyable {
  private var hasher = SHA256Hasher()
  private var pending: [UInt8] = [UInt8(ascii: "{")]
  private var isEmpty = true

  mutating func append(_ change: EntryChange) {
    guard let entry = change.entry else { return }
    if !isEmpty { pending.append(UInt8(ascii: ",")) }
    isEmpty = false
    CanonicalJSON.append(string: change.url.text, to: &pending)
    pending.append(UInt8(ascii: ":"))
    entry.appendCanonicalJSON(to: &pending)
    if pending.count > 1 << 16 { flush() }
  }

  consuming func finish() -> SHA256 {
    pending.append(UInt8(ascii: "}"))
    flush()
    return hasher.finish()
  }

  private mutating func flush() {
    let bytes = pending
    hasher.update(bytes.span.bytes)
    pending = []
    pending.reserveCapacity(bytes.count + 4096)
  }
}
