import Manifests
import Store
import System
import Values

/// The deltas, the pack's files and the cost of a release that is about to be made.
///
/// Deltas are identified by the bytes at both ends, not by versions: they are made while the release is only planned, so
/// that it becomes visible as soon as it commits. Meanwhile, releases of other bundles wait for nothing.
final class Preparation: Sendable {
  /// The progress, for the publisher who waits.
  struct Status: Sendable {
    /// Whether every delta from the version to be replaced is stored or was found not worth making, and the pack's files
    /// are coded, unless they are mostly new.
    var isReady = false
    /// Whether the deltas from the other versions with a cost are made, too, and all costs are known.
    var isDone = false
    /// Whether nobody waits for it any more, or the origin is stopping: it won't be completed.
    var isAbandoned = false
    /// Seconds from the start until it was ready.
    var readyAfter: Double?
    var filesDone = 0
    var files = 0
    var deltas = 0
    /// The costs, by how many versions behind a device is; 0 stands for a new device.
    var costs: [Int: UpdateCost] = [:]
  }

  let id: String
  /// In monotonic nanoseconds.
  let startedAt = Clock.monotonicNanoseconds()
  /// The channel's id; nil if the channel is yet to be created.
  let channel: Int64?
  /// The version that the release is planned on.
  let base: ManifestVersion
  /// The plan, until all is done: it may have 100,000 files.
  private let preview: Locked<ReleasePreview?>
  private let state = Monitor(Status())
  private let drafts = Locked<[PackDraft]>([])
  private let requesters = Locked<Set<Requester>>([])
  private let interest: Locked<Interest>
  /// Whose it is; nil if it is nobody's in particular.
  let subject: Subject?

  /// The bundles of a channel that a token is about to change.
  struct Subject: Hashable, Sendable {
    /// The token's name.
    let owner: String
    let app: AppName
    let channel: ChannelName
    let bundles: [BundleName]
  }

  /// Who waits for it.
  private struct Interest {
    /// When somebody last asked for it, in monotonic nanoseconds.
    var askedAt: UInt64
    /// How many threads wait for it.
    var waiting = 0
    /// For how long after a question somebody still counts as waiting, in nanoseconds.
    var patience: UInt64
  }

  static let patience: UInt64 = 30_000_000_000
  /// As long as a publisher that is still there, though it has begun another one, takes to ask again.
  private static let patienceIfSuperseded: UInt64 = 2_000_000_000

  /// Who had a release prepared and may ask for its progress: nobody else may learn its files and their cost.
  struct Requester: Hashable, Sendable {
    let app: AppName
    let channel: ChannelName
    /// The token's id.
    let token: String
    /// The token's rights at that time.
    let rights: String
  }

  init(
    id: String, _ preview: ReleasePreview, _ subject: Subject? = nil, patience: UInt64 = Preparation.patience
  ) {
    self.id = id
    self.subject = subject
    interest = Locked(Interest(askedAt: startedAt, patience: patience))
    channel = preview.channel?.id
    base = preview.channel?.version ?? .none
    self.preview = Locked(preview)
  }

  /// Lets `requester` ask for this preparation. Identical releases share one, whoever plans them.
  func open(to requester: Requester) { requesters.withLock { _ = $0.insert(requester) } }
  func isOpen(to requester: Requester) -> Bool { requesters.withLock { $0.contains(requester) } }

  var status: Status { state.withLock { $0 } }
  var seconds: Double { Double(Clock.monotonicNanoseconds() - startedAt) / 1e9 }

  /// For which numbers of versions back a cost is reported.
  private static let distances = [1, 2, 5]

  /// Waits until it is ready, for at most `seconds` after its start.
  /// - Returns: false if it isn't ready by then, or the origin is stopping.
  func awaitReady(within seconds: Double) -> Bool {
    interest.withLock { $0.waiting += 1 }
    defer {
      interest.withLock { $0.waiting -= 1 }
      noteInterest()
    }
    return state.waiting(for: .seconds(seconds - self.seconds)) { status in
      status.isReady ? true : status.isAbandoned ? false : nil
    } ?? false
  }

  /// The coded pack files; those for the version to be replaced come first.
  var packDrafts: [PackDraft] { drafts.withLock { $0 } }
  /// Whether it was ready that many seconds ago, and nothing is left to do.
  func isDone(since seconds: Double) -> Bool {
    let status = status
    guard status.isDone, let readyAfter = status.readyAfter else { return false }
    return self.seconds - readyAfter >= seconds
  }
  /// Drops the drafts and frees their disk space.
  func dropDrafts() { drafts.withLock { $0 = [] } }

  /// Records that somebody asks for it.
  func noteInterest() { interest.withLock { $0.askedAt = Clock.monotonicNanoseconds() } }

  /// Records that its token has begun another one for the same bundles.
  func supersede() { interest.withLock { $0.patience = min($0.patience, Self.patienceIfSuperseded) } }

  /// Returns whether somebody waits for it, or it is done. If not, it is abandoned for good.
  func checkIsWanted() -> Bool {
    let status = status
    if status.isAbandoned || status.isDone { return !status.isAbandoned }
    let now = Clock.monotonicNanoseconds()
    let isWanted = interest.withLock { $0.waiting > 0 || now &- min($0.askedAt, now) < $0.patience }
    if !isWanted { abandon() }
    return isWanted
  }

  /// Wakes everyone who waits for it, and ends the work at the next file.
  func abandon() {
    state.broadcasting { if !$0.isDone { $0.isAbandoned = true } }
    preview.withLock { $0 = nil }
  }

  /// Ends the preparation, whatever is left to do.
  func giveUp() {
    becomeReady()
    state.withLock { if !$0.isAbandoned { $0.isDone = true } }
    preview.withLock { $0 = nil }
  }

  /// Does all the work, on the calling thread and threads of its own.
  func run(
    _ search: DeltaSearch, _ packs: PackBuilder, shouldContinue: @escaping @Sendable () -> Bool = { true }
  ) {
    do throws(StoreError) {
      try work(search, packs) { shouldContinue() && self.checkIsWanted() }
    } catch {
      // What can't be prepared is fetched as a whole; the release itself reports what is wrong with the store.
      becomeReady()
    }
    giveUp()
  }

  private func work(
    _ search: DeltaSearch, _ packs: PackBuilder, _ shouldContinue: @escaping @Sendable () -> Bool
  ) throws(StoreError) {
    guard let preview = preview.withLock({ $0 }) else { return }
    let facts = DerivedFacts(store: search.store)
    var sizes = AnswerSize(
      extras: try preview.channel.map { (channel) throws(StoreError) in
        try search.store.answerExtras(of: channel)
      } ?? .none)
    var current = ContentTable()
    if let channel = preview.channel, channel.version != .none {
      let full = channel.full.version
      let versions = [full] + (try search.store.fullVersions(channel, below: full, limit: 4))
      var bases: [(distance: Int?, version: ManifestVersion)] =
        Self.distances.filter { $0 <= versions.count }.map { ($0, versions[$0 - 1]) }
      // Devices that have an open candidate get deltas, too. What it costs is said of all others.
      if full != channel.version { bases.insert((nil, channel.version), at: 1) }
      bases.removeAll { channel.crossesRebase(from: $0.version) }
      for (index, (distance, version)) in bases.enumerated() where shouldContinue() {
        let base = BaseManifest(search.store, channel, at: version)
        let earlier = try search.store.diff(channel, from: base.version, to: channel.version)
        // Without the statements of what is planned, which aren't there yet.
        sizes.trust = try search.store.answerTrust(of: channel, from: base.version, to: channel.version)
        let update = Update(
          channel: channel, base: base, changes: Self.changes(preview, after: earlier),
          entries: try entries(preview, since: base.version, in: channel, search.store), sizes: sizes)
        try prepare(update, distance, search, packs, facts, shouldContinue)
        if index + 1 == channel.answeredVersions.count { becomeReady() }
        if version == channel.version { current = try base.contents() }
      }
    }
    becomeReady()
    // The costs of updates come first: whoever sees this one without them knows that there is nothing to update.
    guard shouldContinue() else { return }
    let next = Self.next(current, preview)
    var whole = UpdateCost(whole: next, facts)
    if let channel = preview.planned {
      sizes.trust = try preview.channel.flatMap { (channel) throws(StoreError) in
        try search.store.answerTrust(of: channel, from: nil, to: channel.version)
      }
      let entries = try manifest(preview, of: next.count, search.store)
      whole.answer = sizes.whole(
        next, entries, in: channel, at: preview.channel?.nextVersion ?? ManifestVersion(1))
    }
    state.withLock { [whole] in $0.costs[0] = whole }
  }

  /// The release as an update from one older version.
  private struct Update {
    let channel: ChannelInfo
    let base: BaseManifest
    let changes: (new: DeltaSearch.Contents, gone: [ResourceURL])
    /// The new entries as the release will write them.
    let entries: [ResourceURL: Entry]
    let sizes: AnswerSize

    var version: ManifestVersion { channel.nextVersion }
  }

  /// Returns what is new since a version, as written by the release or by an earlier one.
  private func entries(
    _ preview: ReleasePreview, since base: ManifestVersion, in channel: ChannelInfo, _ store: Store
  ) throws(StoreError) -> [ResourceURL: Entry] {
    var entries = preview.entries
    if base == channel.version { return entries }
    for change in try store.changes(channel, from: base, to: channel.version)
    where entries[change.url] == nil { entries[change.url] = change.entry }
    return entries
  }

  /// Returns the entries of the manifest after the release, including removed ones; for a large manifest, only the new
  /// ones.
  private func manifest(_ preview: ReleasePreview, of count: Int, _ store: Store) throws(StoreError)
    -> [ResourceURL: Entry]
  {
    var entries = preview.entries
    guard let channel = preview.channel, channel.version != .none, count < 2 * AnswerSize.judged else {
      return entries
    }
    for item in try store.manifest(channel, at: channel.version) where entries[item.url] == nil {
      entries[item.url] = item.entry
    }
    return entries
  }

  private func prepare(
    _ update: Update, _ distance: Int?, _ search: DeltaSearch, _ packs: PackBuilder,
    _ facts: DerivedFacts, _ shouldContinue: @escaping @Sendable () -> Bool
  ) throws(StoreError) {
    let (new, gone) = update.changes
    // No release waits for deltas of files that updates leave out.
    let fetched = new.filter { !$0.content.isLazy }
    let made = try search.run(fetched, on: update.base, shouldContinue: shouldContinue) { [state] done, all in
      state.withLock { state in
        guard distance == 1 else { return }
        state.filesDone = done
        state.files = all
      }
    }
    let targets = Set(new.map(\.content.sha256))
    let pairs = try search.store.derived.pairs(of: Array(targets))
    let held = try update.base.held(targets.union(pairs.values.joined().map(\.base)))
    let sure = try update.base.held(held, withoutLazy: true)
    var cost = UpdateCost(new, holding: sure, pairs: pairs, facts)
    let older = try update.base.contents()
    let changes = PackDraft.changes(new, gone: gone, on: older, in: update.channel, entries: update.entries)
    cost.answer = update.sizes.patch(
      changes.map { MapChange($0) },
      deltas: AnswerSize.deltas(changes, held, pairs, update.channel), from: update.base.version,
      to: update.version)
    // What the pack brings.
    let brought = older.hasLazy ? fetched : new
    if let distance, distance == 1, Self.wholeBytes(brought, sure, pairs) > PackBuilder.maxThoroughBytes {
      state.withLock { [cost] state in
        state.costs[distance] = cost
        state.deltas = made.made
      }
      becomeReady()
    }
    // If coding fails, e.g. on a full disk, devices take the patch.
    let coded = try? packs.draft(
      changes, on: older, threads: search.threads, isUrgent: !status.isReady, shouldContinue: shouldContinue)
    if case .draft(let draft) = coded {
      drafts.withLock { $0.append(draft) }
      guard let distance else { return }
      let nearer = state.withLock { $0.costs.values.reduce(Int64(0)) { $0.addingClamped($1.pack ?? 0) } }
      let size = try packs.size(
        draft, changes, on: older, update.base.version, update.version, of: update.channel.id,
        isNearest: distance == 1, after: nearer)
      if let size {
        cost.pack = size
        let ends = PackPath(
          channel: update.channel.name, app: update.channel.app, base: update.base.version,
          version: update.version,
          sha256: SHA256.of([]))
        let offer = PackOffer(download: ends.url(publicURL: update.channel.publicURL), size: size)
        cost.answer = update.sizes.pack(offer, from: update.base.version, to: update.version)
      }
    }
    guard let distance else { return }
    state.withLock { [cost] state in
      state.costs[distance] = cost
      guard distance == 1 else { return }
      state.deltas = made.made
    }
  }

  /// Returns the bytes of the new files that devices neither hold nor have a delta for.
  private static func wholeBytes(
    _ new: DeltaSearch.Contents, _ held: Set<SHA256>, _ pairs: [SHA256: [StoredDelta]]
  ) -> Int64 {
    var seen = held
    return new.reduce(0) { sum, item in
      let sha256 = item.content.sha256
      guard seen.insert(sha256).inserted else { return sum }
      let hasDelta = pairs[sha256]?.contains { $0.size != nil && held.contains($0.base) } ?? false
      return hasDelta ? sum : sum.addingClamped(item.content.size)
    }
  }

  private func becomeReady() {
    let seconds = seconds
    state.broadcasting { state in
      guard !state.isAbandoned else { return }
      if !state.isReady { state.readyAfter = seconds }
      state.isReady = true
    }
  }

  /// Returns the manifest after the release, in any order.
  private static func next(_ current: ContentTable, _ preview: ReleasePreview) -> ContentTable {
    let touched = Set(preview.new.map(\.url)).union(preview.gone)
    var next = ContentTable()
    for (url, content) in current where !touched.contains(url) { next.append(url, content) }
    for (url, content) in preview.new { next.append(url, content) }
    return next
  }

  /// Returns what the release adds and removes for a device at an older version; `earlier` is what has changed since then.
  private static func changes(_ preview: ReleasePreview, after earlier: [ContentChange])
    -> (new: DeltaSearch.Contents, gone: [ResourceURL])
  {
    let before = Dictionary(earlier.map { ($0.url, $0) }) { $1 }
    var new = preview.new.filter { item in before[item.url].map { $0.was != item.content } ?? true }
    var gone = preview.gone.filter { url in before[url].map { $0.was != nil } ?? true }
    let touched = Set(preview.new.map(\.url)).union(preview.gone)
    for change in earlier where change.was != change.now && !touched.contains(change.url) {
      if let content = change.now { new.append((change.url, content)) } else { gone.append(change.url) }
    }
    return (new, gone)
  }
}
