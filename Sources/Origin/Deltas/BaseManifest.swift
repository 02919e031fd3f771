import Manifests
import Store
import System

/// An older manifest that an update starts from: its contents are read when more is asked than which bytes it holds.
///
/// One thread at a time uses it.
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

  /// Questions for single bytes that take no longer than reading all.
  private static let few = 1000

  /// Those of `digests` that the manifest holds, under whatever URL.
  func held(_ digests: Set<SHA256>) throws(StoreError) -> Set<SHA256> {
    if table == nil, digests.count <= Self.few { return try store.held(digests, channel, at: version) }
    let table = try contents()
    return Set(table.indices.lazy.map { table.sha256(at: $0) }.filter(digests.contains))
  }

  /// All of it, sorted by URL.
  func contents() throws(StoreError) -> ContentTable {
    if let table { return table }
    let read = try store.contents(channel, at: version)
    table = read
    return read
  }
}
