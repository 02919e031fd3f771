import Manifests
import Store
import System

/// Makes the deltas and packs on older versions, the newest base first, channel by channel, version by version.
///
/// What is done is remembered in `derived.db`; after a restart the rest follows.
struct BacklogWorker: Sendable {
  private let thread = BackgroundThread()
  let store: Store
  let catalog: Published<Catalog>
  let builder: AnswerBuilder
  let desk: DeltaDesk
  /// Brings packs to where devices download them; nil: the CDN fetches what it lacks.
  let push: ReleasePush?
  let log: @Sendable (String) -> Void

  /// Works from now on until the desk is stopped.
  func start() throws(SystemError) { try thread.start("deltas") { run() } }

  private func run() {
    desk.backlog.begin()
    for channel in catalog.current.channels { desk.backlog.add(channel.channel.id, at: channel.version) }
    while let id = desk.backlog.next() {
      guard let channel = catalog.current.channel(id: id)?.channel else { continue }
      do throws(StoreError) {
        if try advance(channel) { desk.backlog.again(id) }
      } catch {
        log("error: deltas of \(channel.app) \(channel.name) are left until the next release: \(error)")
        desk.backlog.update(id, at: channel.version) { $0.pending = 0 }
      }
    }
  }

  /// Does the newest base that is left; true where more are.
  private func advance(_ channel: ChannelInfo) throws(StoreError) -> Bool {
    if desk.backlog.takeStale(channel.id) { try builder.refreshPatches(of: channel.id) }
    guard desk.awaitPreparations() else { return false }
    var left: [ManifestVersion] = []
    for base in try desk.backlogBases(of: channel).sorted(by: >)
    where try !store.derived.isDone(channel.id, from: base, to: channel.version) { left.append(base) }
    desk.backlog.update(channel.id, at: channel.version) { $0.pending = left.count }
    guard let base = left.first, !desk.isStopping else {
      desk.dropPackDrafts(of: channel.id, before: channel.version)
      return false
    }
    let made = try makeDeltas(channel, on: base)
    let hasPack = made.isComplete ? try bringPack(channel, on: base) : false
    if made.count > 0 || hasPack { try builder.refreshPatches(of: channel.id) }
    guard made.isComplete else { return !desk.isStopping }
    try store.derived.markDone(channel.id, from: base, to: channel.version)
    desk.backlog.update(channel.id, at: channel.version) { $0.pending = left.count - 1 }
    if left.count == 1 { desk.dropPackDrafts(of: channel.id, before: channel.version) }
    return left.count > 1 || catalog.current.channel(id: channel.id)?.version != channel.version
  }

  private func makeDeltas(_ channel: ChannelInfo, on base: ManifestVersion) throws(StoreError)
    -> (count: Int, isComplete: Bool)
  {
    let changes = try store.diff(channel, from: base, to: channel.version)
    let new = changes.compactMap { change in change.now.map { (url: change.url, content: $0) } }
    guard !new.isEmpty else { return (0, true) }
    let older = try store.contents(channel, at: base)
    let (id, version) = (channel.id, channel.version)
    let result = try desk.search(threads: desk.options.threads, isUrgent: false).run(
      new, on: older,
      goesOn: goesOn(channel),
      progress: { [desk] done, all in
        desk.backlog.update(id, at: version) { progress in
          progress.filesDone = done
          progress.files = all
        }
      })
    return (result.made, result.isComplete)
  }

  /// A newer release makes this one's deltas and packs old before anyone has seen them.
  private func goesOn(_ channel: ChannelInfo) -> @Sendable () -> Bool {
    let (id, version) = (channel.id, channel.version)
    return { [desk, catalog] in
      desk.awaitPreparations() && catalog.current.channel(id: id)?.version == version
    }
  }

  /// Makes the pack from `base`, unless it is known, and pushes it; true where there is a new one to be told of.
  private func bringPack(_ channel: ChannelInfo, on base: ManifestVersion) throws(StoreError) -> Bool {
    guard let digest = channel.digest, let baseDigest = try store.digest(channel, at: base) else {
      return false
    }
    let ends = PackEnds(base: base, baseDigest: baseDigest, version: channel.version, digest: digest)
    let known = try store.derived.pack(ends, of: channel.id)
    if known == .refused { return false }
    var pack: StoredPack?
    if case .stored(let kept) = known { pack = kept } else { pack = try makePack(channel, ends) }
    guard let pack else { return false }
    guard let push, !pack.isPushed else { return known == .nothing }
    try push.pack(pack, channel)
    try store.derived.notePushed(pack, of: channel.id)
    return true
  }

  private func makePack(_ channel: ChannelInfo, _ ends: PackEnds) throws(StoreError) -> StoredPack? {
    let base = ends.base
    let older = try store.manifest(channel, at: base)
    let news = try store.changes(channel, from: base, to: channel.version)
    let changes = news.map { change in
      let place = older.partitionPoint { $0.url >= change.url }
      let old = place < older.count && older[place].url == change.url ? older[place].entry : nil
      return Manifests.EntryChange(url: change.url, old: old, new: change.entry)
    }
    let urls = older.map { (url: $0.url, sha256: $0.entry.sha256) }
    let patch = MapChange.patchCount(news.map { MapChange(url: $0.url, entry: $0.entry, lost: $0.lost) })
    func keep(_ draft: PackDraft) throws(StoreError) -> StoredPack? {
      let base = PackBase(urls, wanted: Set(draft.holders.keys))
      return try desk.packs.keep(draft, changes, on: base, ends, of: channel.id, patchBytes: patch)
    }
    // The release's own preparation may have coded these files.
    for draft in desk.packDrafts(of: channel.id) {
      if let pack = try keep(draft) { return pack }
    }
    // One of them fitted, and isn't worth a pack.
    guard case .nothing = try store.derived.pack(ends, of: channel.id) else { return nil }
    let draft = try desk.packs.draft(
      changes, on: urls, threads: desk.options.threads, isUrgent: false, goesOn: goesOn(channel))
    guard let draft else { return nil }
    return try keep(draft)
  }
}
