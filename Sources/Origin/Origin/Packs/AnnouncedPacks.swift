import Manifests
import Store
import System

/// The packs that answers name, and the state of their files at that time: another process may find one damaged and remove
/// it, without telling this one.
final class AnnouncedPacks: Sendable {
  private struct Item: Equatable {
    let pack: StoredPack
    let file: Mark?
  }

  /// Identifies the state of a file.
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
    try StoreError.disk { () throws(SystemError) in try Mark(path) }
  }

  /// The versions that a pack connects.
  private struct Ends: Hashable {
    let base: ManifestVersion
    let version: ManifestVersion
  }

  /// By channel.
  private let items = Locked<[Int64: [Ends: Item]]>([:])

  /// Records that an answer names a pack from now on.
  func note(_ pack: StoredPack, of channel: ChannelInfo, in store: Store) {
    // If this fails, the file is checked next time.
    let mark = try? Mark(store.derived.packFile(pack, of: channel))
    let ends = Ends(base: pack.base, version: pack.version)
    items.withLock { $0[channel.id, default: [:]][ends] = Item(pack: pack, file: mark) }
  }

  /// Records that the answers from these versions no longer name packs.
  func forget(_ channel: Int64, from bases: Set<ManifestVersion>) {
    items.withLock { items in
      items[channel]?.keys.filter { bases.contains($0.base) }.forEach { items[channel]?[$0] = nil }
    }
  }

  /// What became of packs that are named.
  struct Findings {
    /// The ids of channels whose answers name packs that are gone.
    var channels: Set<Int64> = []
    /// Whether open files must be reopened.
    var isChanged = false
  }

  /// Checks the files of all packs that are named. One that has changed is read back, and dropped if it is damaged.
  func check(_ store: Store, _ catalog: Catalog, _ firsts: FirstPacks, _ log: (String) -> Void)
    throws(StoreError) -> Findings
  {
    var found = Findings()
    for (id, packs) in items.withLock({ $0 }) {
      let channel = catalog.channel(id: id)?.newest.channel
      for (ends, item) in packs {
        guard let channel,
          item.pack.isFirst
            ? firsts.isNamed(item.pack, of: id)
            : item.pack.version > channel.version || channel.answeredVersions.contains(item.pack.version)
        else {
          drop(item, id, ends)
          continue
        }
        // A release that is about to become visible.
        if item.pack.version > channel.version { continue }
        let path = store.derived.packFile(item.pack, of: channel)
        let now = try Self.mark(path)
        if let now, now == item.file { continue }
        found.isChanged = true
        drop(item, id, ends)
        if now != nil, try store.derived.isWhole(item.pack, of: channel.id) {
          note(item.pack, of: channel, in: store)
          continue
        }
        // `forgetLostFirsts` sees to these.
        if item.pack.isFirst { continue }
        found.channels.insert(id)
        // gc removes the packs of versions that it drops.
        guard try store.digest(channel, at: ends.base) != nil else { continue }
        log(
          "error: the pack of \(channel.app) \(channel.name) from \(ends.base) to \(ends.version) "
            + (now == nil ? "is gone, perhaps because it was found damaged" : "was damaged")
            + "; it is made again")
      }
    }
    return found
  }

  /// Forgets a pack, unless it has been named again.
  private func drop(_ item: Item, _ channel: Int64, _ ends: Ends) {
    items.withLock { items in
      if items[channel]?[ends] == item { items[channel]?[ends] = nil }
      if items[channel]?.isEmpty == true { items[channel] = nil }
    }
  }
}

extension AnswerBuilder {
  /// Checks that the packs named by answers exist, and removes missing ones from the answers.
  func checkPacks(_ store: Store, _ log: (String) -> Void) throws(StoreError) {
    let found = try packs.announced.check(store, catalog.current, packs.firsts, log)
    // Open descriptors are dropped, and missing packs are made again.
    if found.isChanged {
      forgetLostFirsts(store, log)
      store.changes.changed()
    }
    for channel in found.channels { try refreshPatches(of: channel) }
  }

  /// Has whole manifests no longer name first packs that aren't stored, or whose version isn't kept, and logs the former.
  func forgetLostFirsts(_ store: Store, _ log: (String) -> Void) {
    for channel in catalog.current.channels.map(\.newest.channel) {
      for pack in packs.firsts.named(channel.id) {
        // Whatever keeps it from being read is logged by what is done next.
        guard (try? store.isStored(pack, firstOf: channel)) == false, packs.firsts.forget(channel.id) else {
          continue
        }
        renewWhole(of: channel.id)
        // gc and purges remove those of versions that they drop.
        guard (try? store.digest(channel, at: pack.version)) != nil else { continue }
        log(
          "error: the first pack of \(channel.app) \(channel.name) for \(pack.version) is gone, perhaps because it was "
            + "found damaged; it is made again")
      }
    }
  }

  /// Runs a garbage collection, and forgets the answers from versions that it drops, with their packs and deltas.
  func collectGarbage(_ store: Store, _ collect: () throws(StoreError) -> CollectionReport) throws(StoreError)
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
      forget([(channel.channel.id, Set(outcome.dropped))])
    }
  }

  /// Forgets what was made from versions that are no longer kept, by the channel's row.
  func forget(_ dropped: [(channel: Int64, versions: Set<ManifestVersion>)]) {
    for (id, bases) in dropped {
      packs.announced.forget(id, from: bases)
      patches.update { $0.forget(id, from: bases) }
    }
  }
}
