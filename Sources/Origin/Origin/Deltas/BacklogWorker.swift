import Manifests
import Store
import System

/// Makes the deltas and packs from older versions, channel by channel, newest base first, and then hands the channel to
/// `FirstPackBacklog`.
///
/// Finished work is recorded in `derived.db`; the rest continues after a restart. A base that fails holds up no other: it is
/// tried again after a wait.
struct BacklogWorker: Sendable {
  private let thread = BackgroundThread()
  let store: Store
  let catalog: Published<Catalog>
  let builder: AnswerBuilder
  let service: DeltaService
  /// Uploads packs to where devices download them; nil if the CDN fetches what it lacks.
  let push: ReleasePush?
  let firsts: FirstPackWorker
  let log: @Sendable (String) -> Void

  /// Runs until the service is stopped.
  func start() throws(SystemError) { try thread.start("deltas") { run() } }

  private func run() {
    service.backlog.begin()
    for channel in catalog.current.channels {
      service.backlog.add(channel.channel.id, at: channel.channel.answeredVersions)
    }
    var work = BacklogState()
    while true {
      let pause = min(work.later.pause, Self.maxPause)
      switch service.backlog.next(within: .seconds(pause)) {
      case .end: return
      case .pause: break
      case .channel(let id):
        // The full version first, because most devices want it.
        for channel in catalog.current.channel(id: id)?.answered.map(\.channel) ?? [] {
          do throws(StoreError) {
            if try advance(channel, &work) { service.backlog.requeue(id) }
          } catch {
            // Not even what is left is known.
            postpone(channel, .none, .error(error.description), &work)
            tell(channel, left: 0, work)
          }
        }
      }
      service.dropDrafts()
      for id in work.later.removeDue(hasSpace) { service.backlog.requeue(id) }
    }
  }

  /// In seconds.
  private static let maxPause = 60.0

  private func hasSpace(for size: Int64) -> Bool {
    (try? store.hasPackSpace(service.packs.limits.quota, for: size)) ?? false
  }

  /// What the worker knows besides `derived.db`.
  private struct BacklogState {
    var later = PostponedBases()
    var logged = LoggedFaults()
  }

  /// Handles the newest base that is left; true if more are left.
  private func advance(_ channel: ChannelInfo, _ work: inout BacklogState) throws(StoreError) -> Bool {
    try refreshIfStale(channel)
    guard service.awaitPreparations() else { return false }
    // Before everything else; the other thread says why it failed, if it fails there, too.
    try? firsts.choose(channel)
    var left: [ManifestVersion] = []
    for base in try service.backlogBases(of: channel).sorted(by: >)
    where !work.later.holds(channel, base) && !channel.crossesRebase(from: base) {
      if try !store.derived.isDone(channel.id, from: base, to: channel.version) { left.append(base) }
    }
    work.later.succeeded(channel, .none)
    tell(channel, left: left.count, work)
    guard let base = left.first, !service.isStopping else {
      dropDrafts(of: channel)
      service.backlog.addFirst(channel.id)
      return false
    }
    do throws(StoreError) {
      guard try finish(base, channel, isLast: left.count == 1, &work) else { return !service.isStopping }
    } catch {
      // A base that gc has removed meanwhile is no device's any more.
      if try store.digest(channel, at: base) != nil {
        postpone(channel, base, .error(error.description), &work)
      }
    }
    tell(channel, left: left.count - 1, work)
    if left.count == 1 {
      dropDrafts(of: channel)
      service.backlog.addFirst(channel.id)
    }
    return left.count > 1 || !catalog.current.answers(channel.id, with: channel.version)
  }

  /// The candidate comes after the full version, and may need the same ones.
  private func dropDrafts(of channel: ChannelInfo) {
    if channel.rollout.map({ $0.candidate == channel.version }) ?? true {
      service.dropPackDrafts(of: channel.id, before: channel.version)
    }
  }

  private func refreshIfStale(_ channel: ChannelInfo) throws(StoreError) {
    guard service.backlog.clearStale(channel.id) else { return }
    do throws(StoreError) {
      try builder.refreshPatches(of: channel.id)
    } catch {
      service.backlog.markStale(channel.id)
      throw error
    }
  }

  /// Shows the progress: `left` bases besides those that are postponed.
  private func tell(_ channel: ChannelInfo, left: Int, _ work: BacklogState) {
    let bases = work.later.faults(of: channel)
    // What keeps one from being made is said by the other thread.
    let makesFirst = firsts.hasWork(channel)
    service.backlog.update(channel.id, at: channel.version) { progress in
      (progress.pending, progress.failing) = (left + bases.count, bases.count)
      progress.fault = bases.newest
      progress.makesFirstPack = makesFirst ? true : nil
    }
  }

  /// Leaves a base for later, and logs why, once for each reason.
  private func postpone(
    _ channel: ChannelInfo, _ base: ManifestVersion, _ reason: PostponedBases.Reason,
    _ work: inout BacklogState
  ) {
    work.later.note(channel, base, reason)
    let line: String
    switch reason {
    case .space: return
    // Those of other bases fail for the same reason.
    case .push(let words): line = words
    case .error(let words):
      let from = base == .none ? "" : " from \(base)"
      line =
        "error: deltas\(from) to \(channel.app) \(channel.name) \(channel.version) could not be made; they are tried "
        + "again: \(words)"
    }
    if work.logged.note(line, of: channel) { log(line) }
  }

  /// Makes the deltas and the pack from a base; false if it stopped before the end.
  private func finish(
    _ base: ManifestVersion, _ channel: ChannelInfo, isLast: Bool, _ work: inout BacklogState
  ) throws(StoreError) -> Bool {
    let manifest = BaseManifest(store, channel, at: base)
    let made = try makeDeltas(channel, on: manifest)
    let pushed = made.isComplete ? try pushDeltas(channel, from: base) : .nothing
    let pack = made.isComplete ? try makeAndPushPack(channel, on: manifest) : .nothing
    if pushed == .isNew || pack == .isNew { work.later.pushed(channel) }
    // Some deltas may come from a preparation that continued after its release.
    if made.count > 0 || pushed == .isNew || pack == .isNew || isLast {
      try builder.refreshPatches(of: channel.id)
    }
    guard made.isComplete, pack != .isStopped else { return false }
    if let failure = made.failure { throw failure }
    switch (pushed, pack) {
    case (.isUnpushed(let words), _), (_, .isUnpushed(let words)):
      postpone(channel, base, .push(words), &work)
    case (_, .noSpace(let size)): postpone(channel, base, .space(size), &work)
    default:
      try store.derived.markDone(
        channel.id, from: base, to: channel.version,
        beside: channel.rollout.flatMap { [$0.full, $0.candidate].first { $0 != channel.version } })
      work.later.succeeded(channel, base)
    }
    return true
  }

  private func makeDeltas(_ channel: ChannelInfo, on base: BaseManifest) throws(StoreError)
    -> (count: Int, isComplete: Bool, failure: StoreError?)
  {
    let changes = try store.diff(channel, from: base.version, to: channel.version)
    let new = changes.compactMap { change in change.now.map { (url: change.url, content: $0) } }
    guard !new.isEmpty else { return (0, true, nil) }
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
    return (result.made, result.isComplete, result.failure)
  }

  /// Pushes the deltas from a base that aren't at the place yet, if pushing is configured.
  private func pushDeltas(_ channel: ChannelInfo, from base: ManifestVersion) throws(StoreError) -> PackResult
  {
    guard let push else { return .nothing }
    let changes = try store.changes(channel, from: base, to: channel.version)
    let offers = try DeltaOffers(store: store).unpushed(changes, channel, from: base)
    if offers.isEmpty { return .nothing }
    do throws(StoreError) {
      try push.deltas(offers)
    } catch {
      guard case .pushFailed = error else { throw error }
      return .isUnpushed(error.message(ofDerivedTo: channel, at: channel.version))
    }
    try store.derived.notePushed(offers)
    return .isNew
  }

  /// Stops when a newer release makes this one's deltas and packs obsolete.
  private func shouldContinue(_ channel: ChannelInfo) -> @Sendable () -> Bool {
    let (id, version) = (channel.id, channel.version)
    return { [service, catalog] in
      service.awaitPreparations() && catalog.current.answers(id, with: version)
    }
  }

  /// The result of making and pushing a pack, or deltas.
  private enum PackResult: Equatable {
    /// There is something new to offer to devices.
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
    guard !channel.crossesRebase(from: base.version), let digest = channel.digest,
      let baseDigest = try store.digest(channel, at: base.version)
    else { return .nothing }
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
      return .isUnpushed(error.message(ofDerivedTo: channel, at: channel.version))
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
