import Manifests
import OriginAPI
import Store
import Synchronization
import System

/// Makes deltas and packs: those that a release waits for, with all cores, and those on older versions behind everyone's back.
final class DeltaService: Sendable {
  struct Options: Sendable {
    /// Seconds that a release waits for its deltas on the version it replaces.
    var wait = 30.0
    /// Threads for the deltas on older versions.
    var threads = max(1, Environment.cores / 2)
    /// Older states of each bundle that have deltas.
    var versions = 5
    var packs = PackLimits()
    /// Whether releases are pushed before they are committed, with their packs.
    var isPushing = false
    var log: @Sendable (String) -> Void = { _ in }
  }

  let options: Options
  let counters = DeltaCounters()
  let packs: PackBuilder
  let backlog = Backlog()
  private let store: Store
  private let budget: MemoryBudget
  private let preparations = Locked<[Preparation]>([])
  private let waiting = Atomic<Int>(0)
  private let state = Monitor(State())

  private struct State: Sendable {
    /// Releases that are being prepared.
    var preparing = 0
    var isStopping = false
  }

  /// Bytes that deltas and packs may take while they are made, of all threads together. What a file and its base of the largest
  /// size take is within it.
  static let memory = 512 << 20
  /// Preparations that are remembered, so that a publisher can ask for them.
  private static let remembered = 32
  /// Of these, those of which the files of the pack are kept for the release.
  private static let drafts = 4
  /// Releases that may wait on a thread of the worker pool at once; publishers that prepare first don't.
  private static let mostWaiting = 2

  init(store: Store, options: Options) {
    self.store = store
    self.options = options
    budget = MemoryBudget(limit: Self.memory)
    packs = PackBuilder(
      store: store, limits: options.packs, budget: budget, counters: PackCounters(),
      makesFirst: options.isPushing, log: options.log)
  }

  var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Waits while releases are being prepared, for what isn't urgent.
  /// - Returns: false where the work is to end.
  func awaitPreparations() -> Bool {
    state.waiting { state in state.isStopping ? false : state.preparing == 0 ? true : nil }
  }

  /// Ends the work at the next file.
  func stop() {
    state.broadcasting { $0.isStopping = true }
    for preparation in preparations.withLock({ $0 }) { preparation.abandon() }
    backlog.stop()
  }

  // MARK: - Before a release

  /// Begins to prepare a release, or joins who does already.
  func prepare(_ preview: ReleasePreview) -> Preparation {
    let id = Self.id(preview)
    let (preparation, isNew) = preparations.withLock { list -> (Preparation, Bool) in
      if let known = list.first(where: { $0.id == id }) { return (known, false) }
      let new = Preparation(id: id, preview)
      list.append(new)
      if list.count > Self.remembered { list.removeFirst() }
      for old in list.dropLast(Self.drafts) { old.dropDrafts() }
      return (new, true)
    }
    guard isNew else { return preparation }
    let search = search(threads: Environment.cores, isUrgent: true)
    state.withLock { $0.preparing += 1 }
    // A thread of its own rather than a dispatch queue, whose manager would open descriptors of its own.
    do throws(SystemError) {
      _ = try OSThread(name: "prepare") { [self] in
        preparation.run(search, packs) { !self.isStopping }
        state.broadcasting { $0.preparing -= 1 }
      }
    } catch {
      state.broadcasting { $0.preparing -= 1 }
      preparation.giveUp()
    }
    return preparation
  }

  func preparation(_ id: String) -> Preparation? {
    preparations.withLock { list in list.first { $0.id == id } }
  }

  /// The same, for who had it begun; to anyone else there is none.
  func preparation(_ id: String, for asker: Preparation.Asker) -> Preparation? {
    preparation(id).flatMap { $0.isOpen(to: asker) ? $0 : nil }
  }

  /// Whether the deltas of a release that was just made are stored: it was prepared, or has none to be made.
  func areStored(of outcome: ReleaseOutcome) -> Bool {
    // Of a first release, which may bring 100,000 files, none is looked at.
    if outcome.previous == .none { return true }
    let preview = ReleasePreview(outcome)
    if preview.new.isEmpty { return true }
    return preparation(Self.id(preview, on: outcome.previous))?.status.isReady ?? false
  }

  /// The gauge of stored packs, in the Prometheus text format; empty where they can't be asked for.
  var packBytesText: String {
    guard let stored = try? store.derived.packs() else { return "" }
    let bytes = stored.reduce(Int64(0)) { $0.addingClamped($1.pack.size) }
    return """
      # HELP xcache_pack_bytes Bytes that the stored packs take, of --pack-room.
      # TYPE xcache_pack_bytes gauge
      xcache_pack_bytes \(bytes)

      """
  }

  /// The files of packs of releases of a channel that are planned, the newest first.
  func packDrafts(of channel: Int64) -> [PackDraft] {
    preparations.withLock { list in
      list.reversed().flatMap { $0.channel == channel ? $0.packDrafts : [] }
    }
  }

  /// The packs of a channel's version are made: what was coded for them gives its room, and descriptors, back.
  func dropPackDrafts(of channel: Int64, before version: ManifestVersion) {
    let stale = preparations.withLock { list in
      list.filter { $0.channel == channel && $0.base < version }
    }
    for preparation in stale { preparation.dropDrafts() }
  }

  /// Of releases that were planned and not made, as dry runs are, drafts end with a time.
  /// - Parameter seconds: since they were coded.
  func dropDrafts(olderThan seconds: Double = 600) {
    for preparation in preparations.withLock({ $0 }) where preparation.isDone(since: seconds) {
      preparation.dropDrafts()
    }
  }

  func isLate(_ preparation: Preparation) -> Bool { preparation.seconds >= options.wait }

  /// Waits until a release's deltas are stored, at most as long as releases wait.
  /// - Returns: nil where too many others wait here already.
  func awaitReady(_ preparation: Preparation) -> Bool? {
    if preparation.status.isReady { return true }
    guard waiting.add(1, ordering: .relaxed).newValue <= Self.mostWaiting else {
      waiting.subtract(1, ordering: .relaxed)
      return isLate(preparation) ? false : nil
    }
    defer { waiting.subtract(1, ordering: .relaxed) }
    if isStopping { return false }
    return preparation.awaitReady(within: options.wait)
  }

  /// The same release planned on the same version is the same work.
  private static func id(_ preview: ReleasePreview, on version: ManifestVersion? = nil) -> String {
    let channel = preview.channel
    var hasher = SHA256Hasher()
    hasher.update(
      Array("\(channel?.id ?? 0) \(version ?? channel?.version ?? .none)\n".utf8).span.bytes)
    var line: [UInt8] = []
    for (url, content) in preview.new {
      line.removeAll(keepingCapacity: true)
      line.append(contentsOf: url.text.utf8)
      line.append(UInt8(ascii: " "))
      content.appendJSON(to: &line)
      hasher.update(line.span.bytes)
    }
    for url in preview.gone { hasher.update(Array("\(url.text)\n".utf8).span.bytes) }
    return String(hasher.finish().hex.prefix(32))
  }

  /// The older versions that devices may be at: "per bundle the last 5 versions in which it changed, and always those
  /// that at least 1 % of last week's polls reported" (DESIGN §5); those that are reported come first.
  func backlogBases(of channel: ChannelInfo) throws(StoreError) -> [ManifestVersion] {
    var bases: [ManifestVersion] = []
    for version in try store.commonVersions(of: channel)
    where version < channel.version && version != .none {
      if try store.digest(channel, at: version) != nil { bases.append(version) }
    }
    let common = Set(bases)
    for version in try store.basesWorthDeltas(channel, count: options.versions)
    where version < channel.version && !common.contains(version) {
      bases.append(version)
    }
    return bases
  }

  func search(threads: Int, isUrgent: Bool) -> DeltaSearch {
    DeltaSearch(store: store, budget: budget, threads: threads, isUrgent: isUrgent, counters: counters)
  }
}
