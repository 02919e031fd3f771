import Manifests
import OriginAPI
import Store
import Synchronization
import System
import Values

/// Makes deltas and packs: those that a release waits for, on all cores, and those from older versions at low priority.
final class DeltaService: Sendable {
  struct Options: Sendable {
    /// The seconds that a release waits for its deltas from the version it replaces.
    var wait = 30.0
    /// The number of threads for deltas from older versions.
    var threads = max(1, Environment.cores / 2)
    /// How many older states of each bundle get deltas.
    var versions = 5
    var packs = PackLimits()
    /// Whether releases, with their packs, are pushed before they are committed.
    var isPushing = false
    var log: @Sendable (String) -> Void = { _ in }
  }

  let options: Options
  let counters = DeltaCounters()
  let packs: PackBuilder
  let backlog = DeltaBacklog()
  private let store: Store
  private let budget: MemoryBudget
  private let waiting = Atomic<Int>(0)
  private let stopping = Atomic<Bool>(false)
  private let preparations: PreparationQueue

  /// The memory, in bytes, for all threads that make deltas and packs. It suffices for a file and a base of the largest
  /// size.
  static let memory = 512 << 20
  /// For how many preparations the pack's coded files are kept for the release.
  private static let maxDrafts = 4
  /// How many releases may wait on a worker thread at once; those of publishers that prepare first don't.
  private static let maxWaiting = 2

  init(store: Store, options: Options) {
    self.store = store
    self.options = options
    let budget = MemoryBudget(limit: Self.memory)
    let packs = PackBuilder(
      store: store, limits: options.packs, budget: budget, counters: PackCounters(),
      makesPackBeforeCommit: options.isPushing, log: options.log)
    let search = DeltaSearch(
      store: store, budget: budget, threads: Environment.cores, isUrgent: true, counters: counters)
    preparations = PreparationQueue { $0.run(search, packs) }
    self.budget = budget
    self.packs = packs
  }

  var isStopping: Bool { stopping.load(ordering: .relaxed) }

  /// Waits, before work that isn't urgent, while releases are being prepared.
  /// - Returns: false if the work is to stop.
  func awaitPreparations() -> Bool {
    preparations.awaitIdle()
  }

  /// Stops the work at the next file.
  func stop() {
    stopping.store(true, ordering: .relaxed)
    preparations.stop()
    backlog.stop()
  }

  // MARK: - Before a release

  /// Begins to prepare a release, or joins a preparation in progress.
  /// - Parameters:
  ///   - subject: whose it is; a later one of the same subject takes its place.
  ///   - isUrgent: whether it doesn't wait for others, like that of a rollback.
  func prepare(
    _ preview: ReleasePreview, _ subject: Preparation.Subject? = nil, isUrgent: Bool = false
  ) -> Preparation {
    let new = Preparation(id: Self.id(preview), preview, subject)
    let preparation = preparations.add(new, isUrgent: isUrgent)
    if preparation === new {
      for old in preparations.known.dropLast(Self.maxDrafts) { old.dropDrafts() }
    }
    return preparation
  }

  func preparation(_ id: String) -> Preparation? {
    preparations.known.first { $0.id == id }
  }

  /// Returns a preparation if `requester` had it begun; to anyone else there is none.
  func preparation(_ id: String, for requester: Preparation.Requester) -> Preparation? {
    guard let known = preparation(id), known.isOpen(to: requester), known.checkIsWanted() else { return nil }
    known.noteInterest()
    return known
  }

  /// Whether the deltas of a release just made are stored: it was prepared, or needs none.
  func areStored(of outcome: ReleaseOutcome) -> Bool {
    // A first release may have 100,000 files; none is examined.
    if outcome.previous == .none { return true }
    let preview = ReleasePreview(outcome)
    if preview.new.isEmpty { return true }
    return preparation(Self.id(preview, on: outcome.previous))?.status.isReady ?? false
  }

  /// The gauge of stored packs in the Prometheus text format; empty if they can't be listed.
  var packBytesText: String {
    guard let stored = try? store.derived.packs() else { return "" }
    let bytes = stored.reduce(Int64(0)) { $0.addingClamped($1.pack.size) }
    return """
      # HELP xcache_pack_bytes Bytes that the stored packs take, of --pack-room.
      # TYPE xcache_pack_bytes gauge
      xcache_pack_bytes \(bytes)

      """
  }

  /// A text that changes when deltas or packs are made.
  var edition: String { "\(counters.made) \(packs.counters.made)" }

  /// Returns the coded pack files of a channel's planned releases, newest first.
  func packDrafts(of channel: Int64) -> [PackDraft] {
    preparations.known.reversed().flatMap { $0.channel == channel ? $0.packDrafts : [] }
  }

  /// Drops the drafts of a channel once the version's packs are made, which frees disk space and descriptors.
  func dropPackDrafts(of channel: Int64, before version: ManifestVersion) {
    for preparation in preparations.known where preparation.channel == channel && preparation.base < version {
      preparation.dropDrafts()
    }
  }

  /// Drops old drafts of releases that were planned but not made, such as dry runs.
  /// - Parameter seconds: the minimum time since they were coded.
  func dropDrafts(olderThan seconds: Double = 600) {
    for preparation in preparations.known where preparation.isDone(since: seconds) {
      preparation.dropDrafts()
    }
  }

  func isLate(_ preparation: Preparation) -> Bool { preparation.seconds >= options.wait }

  /// Waits until a release's deltas are stored, at most as long as releases wait.
  /// - Parameter onWorker: whether an API worker waits, of which most are for others.
  /// - Returns: nil if too many others are waiting already.
  func awaitReady(_ preparation: Preparation, onWorker: Bool = true) -> Bool? {
    if preparation.status.isReady { return true }
    if !onWorker { return isStopping ? false : preparation.awaitReady(within: options.wait) }
    guard waiting.add(1, ordering: .relaxed).newValue <= Self.maxWaiting else {
      waiting.subtract(1, ordering: .relaxed)
      return isLate(preparation) ? false : nil
    }
    defer { waiting.subtract(1, ordering: .relaxed) }
    if isStopping { return false }
    return preparation.awaitReady(within: options.wait)
  }

  /// Returns an id that is the same for the same release planned on the same version.
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

  /// Returns the older versions that devices may have: those that at least 1 % of last week's polls reported, then of each
  /// bundle the last versions in which it changed (`Options.versions`).
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
