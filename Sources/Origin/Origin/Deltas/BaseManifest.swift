import Manifests
import Store
import System

/// An older manifest that an update starts from. Its contents are read only if more is needed than which bytes it holds.
///
/// Not thread-safe.
final class BaseManifest {
  let version: ManifestVersion
  private let store: Store
  private let channel: ChannelInfo
  private var table: ContentTable?

  init(_ store: Store, _ channel: ChannelInfo, at version: ManifestVersion) {
    self.store = store
    self.channel = channel
    self.version = version
  }

  /// Up to this many digests, asking for each takes no longer than reading the whole manifest.
  private static let maxQueried = 1000

  /// Returns those of `digests` that the manifest holds, under whatever URL.
  /// - Parameter withoutLazy: only those that every device with the manifest holds.
  func held(_ digests: Set<SHA256>, withoutLazy: Bool = false) throws(StoreError) -> Set<SHA256> {
    if table == nil, digests.count <= Self.maxQueried {
      return try store.held(digests, channel, at: version, withoutLazy: withoutLazy)
    }
    let table = try contents()
    let indices = table.indices.lazy.filter { !withoutLazy || !table.isLazy(at: $0) }
    return Set(indices.map { table.sha256(at: $0) }.filter(digests.contains))
  }

  /// Returns the whole manifest, sorted by URL.
  func contents() throws(StoreError) -> ContentTable {
    if let table { return table }
    let read = try store.contents(channel, at: version)
    table = read
    return read
  }
}
