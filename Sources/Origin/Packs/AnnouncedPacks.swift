import Manifests
import Store
import System

/// The packs that answers name, and what their files were when they were named: another process may find one damaged and
/// remove it, and nobody else tells this one.
final class AnnouncedPacks: Sendable {
  private struct Item: Equatable {
    let pack: StoredPack
    let file: Mark?
  }

  /// What tells that a file isn't the one that it was.
  private struct Mark: Equatable {
    let inode: UInt64
    let size: Int64
    let modified: Int64

    init?(_ path: String) throws(SystemError) {
      guard let status = try Kernel.status(path) else { return nil }
      (inode, size, modified) = (status.inode, status.size, status.modified)
    }
  }

  private static func mark(_ path: String) throws(StoreError) -> Mark? {
    do {
      return try Mark(path)
    } catch {
      throw StoreError(error)
    }
  }

  /// By channel and base.
  private let items = Locked<[Int64: [ManifestVersion: Item]]>([:])

  /// An answer names a pack from now on.
  func note(_ pack: StoredPack, of channel: ChannelInfo, in store: Store) {
    // One that can't be asked about is looked at the next time.
    let mark = try? Mark(store.derived.packFile(pack, of: channel))
    items.withLock { $0[channel.id, default: [:]][pack.base] = Item(pack: pack, file: mark) }
  }

  /// The answers from these versions name no pack any more.
  func forget(_ channel: Int64, from bases: Set<ManifestVersion>) {
    items.withLock { items in for base in bases { items[channel]?[base] = nil } }
  }

  /// Looks at the files of all packs that are named. One that has changed is read back, and dropped where it is damaged.
  /// - Returns: the channels, by id, whose answers name packs that are gone; and whether whoever has files open is to open
  ///   them anew.
  func look(_ store: Store, _ catalog: Catalog, _ log: (String) -> Void) throws(StoreError)
    -> (channels: Set<Int64>, isChanged: Bool)
  {
    var channels: Set<Int64> = []
    var isChanged = false
    for (id, packs) in items.withLock({ $0 }) {
      let channel = catalog.channel(id: id)?.channel
      for (base, item) in packs {
        guard let channel, item.pack.version >= channel.version else {
          drop(item, id, base)
          continue
        }
        // A release that is about to show.
        guard item.pack.version == channel.version else { continue }
        let path = store.derived.packFile(item.pack, of: channel)
        let now = try Self.mark(path)
        if let now, now == item.file { continue }
        isChanged = true
        drop(item, id, base)
        if now != nil, try store.derived.isWhole(item.pack, of: channel.id) {
          note(item.pack, of: channel, in: store)
          continue
        }
        channels.insert(id)
        // gc takes the packs of versions that it drops.
        guard try store.digest(channel, at: base) != nil else { continue }
        log(
          "error: the pack of \(channel.app) \(channel.name) from \(base) to \(channel.version) "
            + (now == nil ? "is gone, perhaps because it was found damaged" : "was damaged")
            + "; it is made again")
      }
    }
    return (channels, isChanged)
  }

  /// Forgets a pack, unless it was named anew.
  private func drop(_ item: Item, _ channel: Int64, _ base: ManifestVersion) {
    items.withLock { items in
      if items[channel]?[base] == item { items[channel]?[base] = nil }
      if items[channel]?.isEmpty == true { items[channel] = nil }
    }
  }
}

extension AnswerBuilder {
  /// Looks whether the packs that answers name are there, and takes those that aren't out of the answers.
  func lookAtPacks(_ store: Store, _ log: (String) -> Void) throws(StoreError) {
    let found = try packs.announced.look(store, catalog.current, log)
    // Whoever has one open lets go of it, and the packs that are lacking are made again.
    if found.isChanged { store.changes.changed() }
    for channel in found.channels { try refreshPatches(of: channel) }
  }

  /// Runs a garbage collection. Answers from the versions that it drops, with their packs and deltas, go with them.
  func collecting(_ store: Store, _ collect: () throws(StoreError) -> CollectionReport) throws(StoreError)
    -> CollectionReport
  {
    do throws(StoreError) {
      let report = try collect()
      forgetDropped(report)
      return report
    } catch {
      // What was dropped until then isn't known.
      if case .leased = error {} else { store.changes.changed() }
      throw error
    }
  }

  private func forgetDropped(_ report: CollectionReport) {
    for outcome in report.channels where !outcome.dropped.isEmpty {
      guard let channel = catalog.current.channel(outcome.app, outcome.name) else { continue }
      let (id, bases) = (channel.channel.id, Set(outcome.dropped))
      packs.announced.forget(id, from: bases)
      patches.update { $0.forget(id, from: bases) }
    }
  }
}
