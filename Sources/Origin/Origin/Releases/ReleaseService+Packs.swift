import Manifests
import Store
import System
import Values

extension ReleaseService {
  /// Returns the pack from the version before. Its files were compressed while the release was planned; it is only
  /// assembled here, and becomes visible with the release.
  ///
  /// - Parameters:
  ///   - news: what the release changes, sorted by URL.
  ///   - channel: the channel after the release.
  ///   - before: the channel before it.
  /// - Returns: nil if there is no pack: the answer is correct without one.
  func pack(
    _ news: [(url: ResourceURL, entry: Entry?)], _ channel: ChannelInfo, on before: ChannelCatalog
  ) -> StoredPack? {
    guard let digest = channel.digest, let baseDigest = before.channel.digest,
      let map = try? builder.map(of: before), let changes = map.changes(news)
    else { return nil }
    let ends = PackEnds(
      base: before.version, baseDigest: baseDigest, version: channel.version, digest: digest)
    do throws(StoreError) {
      switch try store.derived.pack(ends, of: channel.id) {
      case .stored(let pack): return pack
      case .refused: return nil
      case .nothing: break
      }
      for draft in deltas.packDrafts(of: channel.id) {
        let base = PackBase(map, holders: draft.holders, hasLazy: draft.isOnLazy)
        let outcome = try packs.keep(draft, changes, on: base, ends, of: channel.id)
        if case .kept(let pack) = outcome { return pack }
      }
    } catch {
      packs.counters.failed()
      log("error: the pack of \(channel.app) \(channel.version) could not be kept: \(error)")
    }
    return nil
  }

  /// Makes and pushes the pack of a release that is about to be committed: it is final by now, unless others come in
  /// between. Without the pack devices take the patch.
  func pushPack(_ prepared: PreparedRelease) {
    guard let push, let (pack, channel) = pack(of: prepared), !pack.isPushed else { return }
    do throws(StoreError) {
      try push.pack(pack, channel)
      try store.derived.notePushed(pack, of: channel.id)
    } catch {
      log(error.message(ofDerivedTo: channel, at: channel.version))
    }
  }

  /// Commits a release. A large pack is assembled beforehand, while no transaction is open: writing and syncing it takes
  /// seconds in which nobody else could release.
  func commitWithPack<Outcome>(_ attempt: CommitAttempt<Outcome>) throws(StoreError) -> Outcome {
    var large: PreparedRelease?
    do {
      return try attempt { (prepared) throws(StoreError) in
        guard try self.hasLargePack(prepared) else { return }
        large = prepared
        throw .unpushed
      }
    } catch .unpushed {
      guard let large else { throw .unpushed }
      _ = pack(of: large)
      // The pack is found, unless another release was made in the meantime: then it is assembled inside the transaction
      // after all.
      return try attempt { (_) in }
    }
  }

  /// Whether a release seems to have a large pack for which there is space beside those that it replaces.
  private func hasLargePack(_ prepared: PreparedRelease) throws(StoreError) -> Bool {
    let bytes = deltas.packDrafts(of: prepared.channel.id).map(\.recordBytes).max() ?? 0
    guard bytes >= packs.limits.preassemblyThreshold else { return false }
    return try store.hasPackSpace(packs.limits.quota, for: bytes.addingClamped(1 << 20))
  }

  /// Makes the pack from the version that a release is about to replace; nil if there is none.
  private func pack(of prepared: PreparedRelease) -> (StoredPack, ChannelInfo)? {
    guard let before = catalog.current.channel(id: prepared.channel.id)?.newest,
      before.version == prepared.channel.version, before.version != .none,
      let digest = try? map(after: prepared).digest
    else { return nil }
    let channel = prepared.channel.at(prepared.version, digest: digest)
    let news = prepared.changes.map { (url: $0.url, entry: $0.entry) }
    return pack(news, channel, on: before).map { ($0, channel) }
  }
}

extension StoreError {
  /// Returns the message for deltas or packs that could not be pushed; no release waits for them.
  func message(ofDerivedTo channel: ChannelInfo, at version: ManifestVersion) -> String {
    var message = "error: deltas and packs of \(channel.app) \(channel.name) \(version) could not be pushed"
    if case .pushFailed(let place, let reason) = self {
      message += " to \(place): \(reason); they will be tried again"
    } else {
      message += ": \(self)"
    }
    return message + ", and devices download whole files meanwhile"
  }
}

extension ManifestMap {
  /// Returns the changes to this manifest; nil if it can't be read.
  fileprivate func changes(_ news: [(url: ResourceURL, entry: Entry?)]) -> [EntryDifference]? {
    var changes: [EntryDifference] = []
    let reader = MapReader(self)
    for (url, new) in news {
      var old: Entry?
      if let bytes = reader.entry(for: Array(url.text.utf8)) {
        guard let entry = try? Entry(parsing: Array(bytes)) else { return nil }
        old = entry
      }
      changes.append(EntryDifference(url: url, old: old, new: new))
    }
    return changes
  }
}
