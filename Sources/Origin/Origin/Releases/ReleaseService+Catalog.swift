import Manifests
import Store
import System

// What polls are answered after an act: the catalog, the patches, and what is made in the background.
extension ReleaseService {
  /// Manifests up to this many bytes are compressed before their release is acknowledged, larger ones right after it, as
  /// are the patches from all versions but the one before: 50 MB take about a second, for which polls wait.
  static let maxCodedInCommit = 1 << 20

  /// Updates the catalog. The patch from the version before is made here, since the whole fleet asks for it at once.
  /// - Parameters:
  ///   - made: the manifests of the versions that were made.
  ///   - extras: the channel's documents and settings, if they may have changed, too.
  func show(
    _ outcome: ReleaseOutcome, _ made: [ManifestVersion: ManifestMap], _ extras: ChannelExtras? = nil
  ) {
    guard let info = outcome.channel else { return }
    guard outcome.changed else { return showUnchanged(outcome, info) }
    let before = catalog.current.channel(id: info.id)
    let next = channel(info, after: before, outcome, made, extras)
    keepWhole(next, before)
    keepPatch(outcome, to: next, from: before)
    if let full = before?.version, full != outcome.previous {
      builder.patches.update { $0.pin(full, of: info.id) }
    }
    catalog.update { $0.put(next) }
    builder.patches.update { $0.forget(next) }
    deltas.backlog.add(info.id, at: info.answeredVersions)
    renderer.add(info.id)
  }

  /// Waits, for 2 s at most, until polls are answered from a version that is committed. The end of a scheduled act is written in the
  /// transaction of its release, so whoever asks for the act could otherwise learn of the version before polls show it.
  func awaitShown(_ version: ManifestVersion, of app: AppName, _ name: ChannelName) {
    let end = Clock.monotonicNanoseconds() + 2_000_000_000
    while let channel = catalog.current.channel(app, name), channel.highest < version,
      Clock.monotonicNanoseconds() < end
    {
      Clock.sleep(for: .milliseconds(2))
    }
  }

  /// Updates the catalog after an act that made no version: only the prefetch config changed, or a rollout was completed.
  private func showUnchanged(_ outcome: ReleaseOutcome, _ info: ChannelInfo) {
    if outcome.rollout != nil {
      showRollout(info, outcome.extras)
    } else if let extras = outcome.extras {
      documents.show(info, extras)
    }
  }

  /// Updates the catalog after an act that changed the rule of a rollout, or completed it.
  func showRollout(_ info: ChannelInfo, _ extras: ChannelExtras? = nil) {
    if let extras { documents.show(info, extras) } else { documents.show(info) }
    guard info.rollout == nil, let channel = catalog.current.channel(id: info.id) else { return }
    builder.patches.update { $0.forget(channel) }
    deltas.backlog.add(info.id, at: info.answeredVersions)
  }

  /// Returns a channel's state after a release, with the manifests that are in memory.
  private func channel(
    _ info: ChannelInfo, after before: ChannelCatalog?, _ outcome: ReleaseOutcome,
    _ made: [ManifestVersion: ManifestMap], _ extras: ChannelExtras?
  ) -> ChannelCatalog {
    // A channel that its first release creates may be one of an app with a root.
    let extras = extras ?? outcome.extras ?? (before == nil ? try? store.extras(of: info) : nil)
    func map(_ version: ManifestVersion) -> ManifestMap? {
      made[version] ?? before?.held(at: version)?.map
    }
    var origins: Set<[UInt8]> = []
    if info.rollout != nil {
      do throws(StoreError) {
        origins = try store.pageOrigins(of: info)
      } catch {
        origins = before?.pageOrigins ?? []
        log("error: whose pages report about \(info.app) \(info.name) can't be read: \(error)")
      }
    }
    return ChannelCatalog(
      channel: info, map: map(info.version), full: map(info.full.version),
      documents: extras.map { documents.rendered($0) } ?? before?.documents
        ?? documents.rendered(ChannelExtras()), pageOrigins: origins)
  }

  /// Keeps the answers with the whole manifest: those that there were, with the extras of now, and those of small manifests.
  private func keepWhole(_ next: ChannelCatalog, _ before: ChannelCatalog?) {
    for state in next.answered {
      if next.trustEdition != 0 {
        if let held = before?.held(at: state.version) { state.keep(held) }
      } else if let whole = before?.held(at: state.version)?.whole {
        state.held.keep(whole: whole.with(state.extras))
      } else if let map = state.held.map, map.byteCount <= Self.maxCodedInCommit {
        state.held.keep(whole: WholeManifest(state.channel, map, state.extras))
      }
    }
  }

  /// Makes and keeps the patch from the version before, and the pack that its answer names. In a channel with a root only the pack; the
  /// answer is made after the commit (`settle`).
  ///
  /// What leads elsewhere after an act on two versions is rendered when it is asked for, or in the background.
  private func keepPatch(_ outcome: ReleaseOutcome, to next: ChannelCatalog, from before: ChannelCatalog?) {
    guard let info = outcome.channel, let base = before?.newest, base.version == outcome.previous,
      base.version != .none,
      let digest = base.channel.digest,
      let target = next.answered.first(where: { $0.version == outcome.version })
    else { return }
    builder.patches.update { $0.pin(base.version, of: info.id) }
    if target.channel.crossesRebase(from: base.version) { return }
    if target.trustEdition != 0 {
      _ = pack(outcome.changes.map { ($0.url, $0.entry) }, target.channel, on: base)
      return
    }
    let patch = RenderedPatch(
      target, from: base.version, digest: digest,
      outcome.changes.map { MapChange(url: $0.url, entry: $0.entry, lost: $0.lost) },
      // Without deltas the answer is correct, too.
      deltas: (try? DeltaOffers(store: store, arePushed: push != nil)
        .render(outcome.changes, info, from: base.version))
        ?? Array("{}".utf8)
    ) { target.held.whole }
    guard let patch else { return }
    let pack = pack(outcome.changes.map { ($0.url, $0.entry) }, target.channel, on: base)
    let offer = pack.flatMap { builder.packs.offer($0, target.channel) }
    let answer = builder.offering(offer, patch, target, from: base.version)
    builder.patches.update {
      $0.insert(
        answer, from: base.version.number, to: target, renewal: $0.renewal(of: info.id),
        digest: answer.baseDigest)
    }
  }
}
