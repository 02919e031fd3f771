import Manifests
import Store
import System

/// Makes the deltas and packs from older versions, channel by channel, newest base first.
///
/// Finished work is recorded in `derived.db`; the rest continues after a restart.
struct BacklogWorker: Sendable {
  private let thread = BackgroundThread()
  let store: Store
  let catalog: Published<Catalog>
  let builder: AnswerBuilder
  let service: DeltaService
  /// Uploads packs to where devices download them; nil if the CDN fetches what it lacks.
  let push: ReleasePush?
  let log: @Sendable (String) -> Void

  /// Runs until the service is stopped.
  func start() throws(SystemError) { try thread.start("deltas") { run() } }

  private func run() {
    service.backlog.begin()
    for channel in catalog.current.channels { service.backlog.add(channel.channel.id, at: channel.version) }
    var later = PackQueue()
    // For each channel, the version whose packs could not be pushed; removed when they are due again.
    var unpushed: [Int64: ManifestVersion] = [:]
    while true {
      switch service.backlog.next(within: .seconds(min(later.pause, Self.maxPause))) {
      case .end: return
      case .pause: break
      case .channel(let id):
        guard let channel = catalog.current.channel(id: id)?.channel else { break }
        do throws(StoreError) {
          if try advance(channel, &later, &unpushed) { service.backlog.requeue(id) }
        } catch {
          log("error: deltas of \(channel.app) \(channel.name) are left until the next release: \(error)")
          service.backlog.update(id, at: channel.version) { $0.pending = 0 }
        }
      }
      service.dropDrafts()
      for id in later.removeDue(hasSpace) {
        unpushed[id] = nil
        service.backlog.requeue(id)
      }
    }
  }

  /// In seconds.
  private static let maxPause = 60.0

  private func hasSpace(for size: Int64) -> Bool {
    (try? store.hasPackSpace(service.packs.limits.quota, for: size)) ?? false
  }

  /// Handles the newest base that is left; true if more are left.
  private func advance(
    _ channel: ChannelInfo, _ later: inout PackQueue, _ unpushed: inout [Int64: ManifestVersion]
  ) throws(StoreError) -> Bool {
    if service.backlog.clearStale(channel.id) { try builder.refreshPatches(of: channel.id) }
    guard service.awaitPreparations() else { return false }
    var left: [ManifestVersion] = []
    for base in try service.backlogBases(of: channel).sorted(by: >) where !later.holds(channel, base) {
      if try !store.derived.isDone(channel.id, from: base, to: channel.version) { left.append(base) }
    }
    service.backlog.update(channel.id, at: channel.version) { $0.pending = left.count }
    guard let base = left.first, !service.isStopping else {
      service.dropPackDrafts(of: channel.id, before: channel.version)
      return false
    }
    let manifest = BaseManifest(store, channel, at: base)
    let made = try makeDeltas(channel, on: manifest)
    let pack = made.isComplete ? try makeAndPushPack(channel, on: manifest) : .nothing
    if pack == .isNew { later.pushed(channel) }
    // Some deltas may come from a preparation that continued after its release.
    if made.count > 0 || pack == .isNew || left.count == 1 { try builder.refreshPatches(of: channel.id) }
    guard made.isComplete, pack != .isStopped else { return !service.isStopping }
    switch pack {
    case .noSpace(let size): later.note(channel, base, .space(size))
    case .isUnpushed(let words):
      later.note(channel, base, .push)
      // Packs from other bases fail for the same reason: log it only once.
      if unpushed.updateValue(channel.version, forKey: channel.id) != channel.version { log(words) }
    default: try store.derived.markDone(channel.id, from: base, to: channel.version)
    }
    service.backlog.update(channel.id, at: channel.version) { $0.pending = left.count - 1 }
    if left.count == 1 { service.dropPackDrafts(of: channel.id, before: channel.version) }
    return left.count > 1 || catalog.current.channel(id: channel.id)?.version != channel.version
  }

  private func makeDeltas(_ channel: ChannelInfo, on base: BaseManifest) throws(StoreError)
    -> (count: Int, isComplete: Bool)
  {
    let changes = try store.diff(channel, from: base.version, to: channel.version)
    let new = changes.compactMap { change in change.now.map { (url: change.url, content: $0) } }
    guard !new.isEmpty else { return (0, true) }
    let (id, version) = (channel.id, channel.version)
    let result = try service.search(threads: service.options.threads, isUrgent: false).run(
      new, on: base,
      shouldContinue: shouldContinue(channel),
      progress: { [service] done, all in
        service.backlog.update(id, at: version) { progress in
          progress.filesDone = done
          progress.files = all
        }
      })
    return (result.made, result.isComplete)
  }

  /// Stops when a newer release makes this one's deltas and packs obsolete.
  private func shouldContinue(_ channel: ChannelInfo) -> @Sendable () -> Bool {
    let (id, version) = (channel.id, channel.version)
    return { [service, catalog] in
      service.awaitPreparations() && catalog.current.channel(id: id)?.version == version
    }
  }

  /// The result of making and pushing a pack.
  private enum PackResult: Equatable {
    /// There is a new pack to offer to devices.
    case isNew
    /// There is none to make, or it exists already.
    case nothing
    /// There was no space for this many bytes.
    case noSpace(Int64)
    /// It could not be pushed; the value is the message to log.
    case isUnpushed(String)
    /// The origin is stopping, or there is a newer release.
    case isStopped
  }

  /// Makes the pack from `base`, unless there is one, and pushes it.
  private func makeAndPushPack(_ channel: ChannelInfo, on base: BaseManifest) throws(StoreError) -> PackResult
  {
    guard let digest = channel.digest, let baseDigest = try store.digest(channel, at: base.version) else {
      return .nothing
    }
    let ends = PackEnds(base: base.version, baseDigest: baseDigest, version: channel.version, digest: digest)
    switch try store.derived.pack(ends, of: channel.id) {
    case .refused: return .nothing
    case .stored(let pack):
      return pack.isPushed || push == nil ? .nothing : try pushIfConfigured(pack, channel)
    case .nothing: break
    }
    switch try makePack(channel, on: base, ends) {
    case .kept(let pack): return try pushIfConfigured(pack, channel)
    case .noSpace(let size): return .noSpace(size)
    case .otherFiles, .notWorthwhile: return .nothing
    case nil: return shouldContinue(channel)() ? .nothing : .isStopped
    }
  }

  /// Pushes a pack that is kept, if pushing is configured.
  private func pushIfConfigured(_ pack: StoredPack, _ channel: ChannelInfo) throws(StoreError) -> PackResult {
    guard let push else { return .isNew }
    do throws(StoreError) {
      try push.pack(pack, channel)
    } catch {
      guard case .pushFailed = error else { throw error }
      return .isUnpushed(error.message(ofPackTo: channel, at: channel.version))
    }
    try store.derived.notePushed(pack, of: channel.id)
    return .isNew
  }

  /// Assembles a pack; nil if its files can't be coded.
  private func makePack(_ channel: ChannelInfo, on base: BaseManifest, _ ends: PackEnds) throws(StoreError)
    -> PackBuilder.Outcome?
  {
    let changes = try store.entryChanges(channel, from: ends.base, to: channel.version)
    let older = try base.contents()
    func keep(_ draft: PackDraft) throws(StoreError) -> PackBuilder.Outcome {
      let base = PackBase(older, wanted: Set(draft.holders.keys))
      return try service.packs.keep(draft, changes, on: base, ends, of: channel.id)
    }
    // The release's own preparation may already have coded these files.
    for draft in service.packDrafts(of: channel.id) {
      let outcome = try keep(draft)
      if case .otherFiles = outcome { continue }
      return outcome
    }
    guard try service.packs.hasAnySpace(ends, of: channel.id) else { return .noSpace(1) }
    let coded = try service.packs.draft(
      changes, on: older, threads: service.options.threads, isUrgent: false,
      shouldContinue: shouldContinue(channel))
    switch coded {
    case .draft(let draft): return try keep(draft)
    case .nothing: return nil
    case .tooLarge(let what):
      try service.packs.logTooLarge(what, ends, of: channel.id)
      return .notWorthwhile
    }
  }
}
