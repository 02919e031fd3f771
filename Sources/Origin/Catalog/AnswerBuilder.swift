import HTTP
import Manifests
import Platform
import Store

/// Makes the answers that take work, once each, and puts them into the catalog.
final class AnswerBuilder: Sendable {
  private let store: Store
  private let catalog: Published<Catalog>
  /// One lock a channel: what many devices ask for at once is made by the first and found by the others.
  private let locks = Locked<[Int64: Locked<Void>]>([:])

  init(store: Store, catalog: Published<Catalog>) {
    self.store = store
    self.catalog = catalog
  }

  /// Makes the whole manifest of a channel's newest version, unless it is there.
  func prepareWhole(of channelID: Int64) {
    lock(channelID).withLock { _ in
      guard let channel = catalog.current.channel(id: channelID) else { return }
      _ = whole(channel)
    }
  }

  /// Makes the list of files of a channel's newest version, unless it is there.
  func prepareInfo(of channelID: Int64) {
    lock(channelID).withLock { _ in
      guard let channel = catalog.current.channel(id: channelID), channel.info == nil else { return }
      let document = Documents.info(
        channel.map.urls, digest: channel.channel.digest ?? ManifestMap.empty.digest)
      let info = CodedDocument.json(document)
      catalog.update { $0.update(channelID, at: channel.version) { $0.adding(info: info) } }
    }
  }

  /// Makes the patch from `base` to a channel's newest version, unless it is there.
  /// - Returns: false where no manifest of that number is kept.
  func preparePatch(of channelID: Int64, from base: ManifestVersion) throws(StoreError) -> Bool {
    try lock(channelID).withLock { (_) throws(StoreError) -> Bool in
      guard let channel = catalog.current.channel(id: channelID) else { return false }
      if channel.patches[base.number] != nil || base == channel.version { return true }
      guard let patch = try patch(to: channel, from: base) else { return false }
      catalog.update { $0.update(channelID, at: channel.version) { $0.adding(patch, from: base) } }
      return true
    }
  }

  /// Makes the patches that are there again, since there are deltas that they don't offer yet.
  func refreshPatches(of channelID: Int64) throws(StoreError) {
    try lock(channelID).withLock { (_) throws(StoreError) in
      guard let channel = catalog.current.channel(id: channelID) else { return }
      for base in channel.patches.bases {
        guard let patch = try patch(to: channel, from: base) else { continue }
        catalog.update { $0.update(channelID, at: channel.version) { $0.replacing(patch, from: base) } }
      }
    }
  }

  /// The patch from `base`; nil where no manifest of that number is kept. The channel's lock is held.
  private func patch(to channel: ChannelCatalog, from base: ManifestVersion) throws(StoreError)
    -> PatchAnswer?
  {
    guard base < channel.version, let digest = try store.digest(channel.channel, at: base) else { return nil }
    let changes = try store.changes(channel.channel, from: base, to: channel.version)
    return PatchAnswer(
      channel, from: base, digest: digest, changes.map { MapChange(url: $0.url, entry: $0.entry) },
      deltas: try DeltaOffers(store: store).render(changes, channel.channel, from: base)
    ) { whole(channel) }
  }

  /// The whole manifest; the channel's lock is held.
  private func whole(_ channel: ChannelCatalog) -> WholeManifest {
    if let whole = channel.whole { return whole }
    let whole = WholeManifest(channel.channel, channel.map, channel.extras)
    catalog.update { $0.update(channel.channel.id, at: channel.version) { $0.adding(whole) } }
    return whole
  }

  private func lock(_ channelID: Int64) -> Locked<Void> {
    locks.withLock { locks in
      if let lock = locks[channelID] { return lock }
      let lock = Locked<Void>(())
      locks[channelID] = lock
      return lock
    }
  }
}
