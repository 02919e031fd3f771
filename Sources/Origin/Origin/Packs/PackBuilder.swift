import Compression
import Manifests
import Store
import System
import Values

/// Limits for packs.
package struct PackLimits: Sendable {
  /// The disk space for all packs, in bytes.
  package var quota: Int64 = 2 << 30
  /// The maximum size of one pack, in bytes; a larger update is fetched file by file.
  package var largest: Int64 = 256 << 20
  /// The maximum size of a file in it, in bytes, however small its delta: a file is coded in memory, as for a delta.
  package var largestFile = Int64(DeltaTrial.largestFile)
  /// Packs of at least this many bytes are assembled before the release's transaction, not in it, since other releases wait
  /// for it.
  package var preassemblyThreshold: Int64 = 8 << 20

  package init() {}
}

/// Makes packs: a release's files while it is only planned, the rest once it has its number.
struct PackBuilder: Sendable {
  let store: Store
  let limits: PackLimits
  let budget: MemoryBudget
  let counters: PackCounters
  /// Whether the pack from the version before is made and pushed while that version is still the newest.
  var makesPackBeforeCommit = false
  var log: @Sendable (String) -> Void = { _ in }

  /// How many bytes of files without a delta are coded at the best level: two seconds of one core. A release with more
  /// isn't an update of what was there, and doesn't wait for its pack, which would be about as large as the files.
  static let maxThoroughBytes: Int64 = 4 << 20

  // MARK: - The files

  /// The result of coding a pack's files.
  enum Coded {
    case draft(PackDraft)
    /// No pack is to be made, or the work was stopped.
    case nothing
    case tooLarge(TooLarge)
  }

  /// Why a pack is left out.
  enum TooLarge: Sendable {
    /// One of its files, with its size in bytes.
    case file(Int64)
    /// The pack itself.
    case pack
  }

  /// Codes the files that a pack brings.
  ///
  /// `changes` are sorted by URL; the version numbers of new entries don't matter. `older` is the manifest that the pack
  /// starts from, sorted by URL. The threads have low priority unless the pack is urgent. `shouldContinue` is asked before
  /// each file; if it returns false, there will be no pack.
  func draft(
    _ changes: [EntryDifference], on older: ContentTable, threads: Int,
    isUrgent: Bool, shouldContinue: @escaping @Sendable () -> Bool = { true }
  ) throws(StoreError) -> Coded {
    let entries = changes.compactMap(\.new)
    let targets = Set(entries.map(\.sha256))
    let pairs = try store.derived.pairs(of: Array(targets)).mapValues { $0.filter { $0.size != nil } }
    let wanted = targets.union(pairs.values.joined().map(\.base))
    let base = PackBase(older, wanted: wanted)
    let deltaBases = pairs.compactMapValues { deltas in
      deltas.filter { base.holder($0.base) != nil }.min {
        ($0.size ?? 0, $0.base.hex) < ($1.size ?? 0, $1.base.hex)
      }?
      .base
    }
    guard let plan = PackPlan(changes, on: base, deltaBases: deltaBases) else { return .nothing }
    let coder = RecordCoder(plan, entries, deltaBases, self)
    let records: [PackDraft.Record]
    switch try coder.run(threads: threads, isUrgent: isUrgent, shouldContinue: shouldContinue) {
    case .records(let coded): records = coded
    case .nothing: return .nothing
    case .tooLarge(let what): return .tooLarge(what)
    }
    var holders: [SHA256: ResourceURL] = [:]
    for sha256 in wanted { holders[sha256] = base.holder(sha256).map { older.url(at: $0) } }
    let facts = DerivedFacts(store: store)
    let plain = plan.changes.records.reduce(Int64(0)) { sum, index in
      let entry = entries[index]
      guard let ctype = ContentType(entry.ctype) else { return sum.addingClamped(entry.size) }
      return sum.addingClamped(facts.plainSize(entry.sha256, ctype, size: entry.size))
    }
    return .draft(
      PackDraft(
        links: PackDraft.links(of: plan), records: records, frames: coder.frames, plainBytes: plain,
        deltaBases: deltaBases, holders: holders, isOnLazy: base.hasLazy))
  }

  /// Codes the files of one pack on several threads.
  private struct RecordCoder: Sendable {
    let frames: ScratchFile
    private let jobs: [Job]
    private let renaming: PackRenaming
    private let isThorough: Bool
    private let builder: PackBuilder

    /// A file, and what it may be coded against.
    private struct Job: Sendable {
      let sha256: SHA256
      let size: Int
      let delta: SHA256?
      let partner: SHA256?
    }

    private struct Progress: Sendable {
      var records: [PackDraft.Record?]
      var bytes: Int64 = 0
      var isGivenUp = false
      var isTooLarge = false
    }

    enum Outcome {
      case records([PackDraft.Record])
      /// A file can't be coded, or the work was stopped.
      case nothing
      case tooLarge(TooLarge)
    }

    init(_ plan: PackPlan, _ entries: [Entry], _ deltaBases: [SHA256: SHA256], _ builder: PackBuilder) {
      self.builder = builder
      renaming = plan.changes.renaming(old: plan.old)
      jobs = plan.changes.records.map { index in
        let entry = entries[index]
        return Job(
          sha256: entry.sha256, size: Int(clamping: entry.size), delta: deltaBases[entry.sha256],
          partner: plan.changes.arrivals[index].partner.map { plan.old[$0].entry }
            .flatMap { $0.isLazy ? nil : $0.sha256 })
      }
      let whole = jobs.reduce(Int64(0)) { $1.delta == nil ? $0.addingClamped(Int64($1.size)) : $0 }
      isThorough = whole <= PackBuilder.maxThoroughBytes
      frames = ScratchFile(in: builder.store.derived)
    }

    func run(threads: Int, isUrgent: Bool, shouldContinue: @escaping @Sendable () -> Bool) throws(StoreError)
      -> Outcome
    {
      let largest = jobs.map(\.size).max() ?? 0
      guard largest <= builder.limits.largestFile else { return .tooLarge(.file(Int64(largest))) }
      let progress = Locked(Progress(records: Array(repeating: nil, count: jobs.count)))
      // The largest first, so that the last one is short.
      let order = jobs.indices.sorted { jobs[$0].size > jobs[$1].size }
      try Parallel.forEach(order.count, threads: threads, priority: isUrgent ? nil : .background) {
        (index) throws(StoreError) in
        guard !progress.withLock({ $0.isGivenUp }) else { return }
        let record = shouldContinue() ? try code(jobs[order[index]]) : nil
        progress.withLock { progress in
          progress.records[order[index]] = record
          progress.bytes += Int64(record?.frame.count ?? 0)
          if progress.bytes > builder.limits.largest { progress.isTooLarge = true }
          if record == nil || progress.isTooLarge { progress.isGivenUp = true }
        }
      }
      return progress.withLock { progress in
        if progress.isTooLarge { return .tooLarge(.pack) }
        return progress.isGivenUp ? .nothing : .records(progress.records.compactMap { $0 })
      }
    }

    private func code(_ job: Job) throws(StoreError) -> PackDraft.Record? {
      let store = builder.store
      func base(_ sha256: SHA256) -> PackRecord.Base? {
        (try? store.bytes(of: sha256, limit: DeltaTrial.largestFile)).map {
          PackRecord.Base(sha256: sha256, bytes: $0)
        }
      }
      let cost = MemoryBudget.cost(
        target: job.size, base: job.delta == nil && job.partner == nil ? 0 : job.size)
      let coded = builder.budget.withMemory(for: cost) { () -> PackRecord? in
        guard let bytes = try? store.bytes(of: job.sha256, limit: Int(clamping: builder.limits.largestFile))
        else {
          return nil
        }
        var delta: PackRecord.Delta?
        if let of = job.delta, let base = base(of),
          let coded = try? store.derived.bytes(of: job.sha256, on: of)
        {
          delta = PackRecord.Delta(base: base, coded: coded)
        }
        let partner = delta == nil && bytes.count <= DeltaTrial.largestFile ? job.partner.flatMap(base) : nil
        return PackRecord(bytes, delta: delta, partner: partner, renaming, isThorough: isThorough)
      }
      guard let coded else { return nil }
      return PackDraft.Record(
        sha256: job.sha256, base: coded.base, isRenamed: coded.isRenamed,
        frame: try frames.append(coded.frame))
    }
  }

  // MARK: - The whole

  /// The result of keeping a draft.
  enum Outcome {
    case kept(StoredPack)
    /// Its files were coded for other changes.
    case otherFiles
    /// It isn't worth keeping, which is recorded.
    case notWorthwhile
    /// There was no space for this many bytes.
    case noSpace(Int64)
  }

  /// Assembles a pack and keeps it.
  func keep(
    _ draft: PackDraft, _ changes: [EntryDifference], on base: PackBase, _ ends: PackEnds,
    of channel: Int64
  ) throws(StoreError) -> Outcome {
    guard let plan = draft.plan(changes, on: base),
      let head = Self.head(plan, ends, records: draft.records.count)
    else { return .otherFiles }
    let parts = PackParts(
      head: head,
      records: draft.records.map { record in
        (PackRecordHead(length: record.frame.count, sha256: record.sha256).bytes, record.frame)
      }, frames: draft.frames)
    let isTooLarge = parts.size > limits.largest
    guard !isTooLarge, Self.isWorthwhile(parts.size, draft, changes) else {
      if isTooLarge { try logTooLarge(.pack, ends, of: channel) }
      try store.derived.refusePack(ends, of: channel)
      return .notWorthwhile
    }
    guard try store.makePackSpace(limits.quota, for: parts.size) else {
      try logNoSpace(ends, of: channel)
      return .noSpace(parts.size)
    }
    let pack = try store.derived.keep(parts, ends, of: channel)
    // Looked at once the file is there: whoever removes a version later finds the file.
    guard try store.wants(ends, of: channel) else {
      try store.derived.drop(pack, of: channel)
      return .otherFiles
    }
    counters.made(bytes: pack.size)
    return .kept(pack)
  }

  /// Whether there is any space for a pack, before its files are coded.
  func hasAnySpace(_ ends: PackEnds, of channel: Int64) throws(StoreError) -> Bool {
    if try store.hasPackSpace(limits.quota, for: 1) { return true }
    try logNoSpace(ends, of: channel)
    return false
  }

  /// Logs that there is no space for a pack, once for each version that packs lead to.
  func logNoSpace(_ ends: PackEnds, of channel: Int64) throws(StoreError) {
    guard counters.withoutSpace.note(ends, of: channel) else { return }
    try logLeftOut(ends, of: channel, "serve --pack-room \(limits.quota) is used up")
  }

  /// Logs that a pack is left out, once for each version that packs lead to.
  func logTooLarge(_ what: TooLarge, _ ends: PackEnds, of channel: Int64) throws(StoreError) {
    guard counters.tooLarge.note(ends, of: channel) else { return }
    switch what {
    case .pack:
      try logLeftOut(
        ends, of: channel, "that from \(ends.base) is larger than serve --pack-limit \(limits.largest)")
    case .file(let size):
      try logLeftOut(
        ends, of: channel,
        "a file of \(size) bytes has changed, and packs take files of \(limits.largestFile) bytes at most")
    }
  }

  private func logLeftOut(_ ends: PackEnds, of channel: Int64, _ why: String) throws(StoreError) {
    let of = try store.channels().first { $0.id == channel }.map { " of \($0.app) \($0.name)" } ?? ""
    log("error: packs\(of) \(ends.version) are left out: \(why)")
  }

  /// Returns the size in bytes of the pack that a draft will become if its release gets the planned numbers; nil if none
  /// will be kept.
  ///
  /// `channel` is the release's, `isNearest` whether the pack starts from the version that the release replaces, and
  /// `others` the bytes of packs that are made before it.
  func size(
    _ draft: PackDraft, _ changes: [EntryDifference], on older: ContentTable,
    _ base: ManifestVersion, _ version: ManifestVersion, of channel: Int64, isNearest: Bool,
    after others: Int64
  ) throws(StoreError) -> Int64? {
    let digest = SHA256.of([])
    let ends = PackEnds(base: base, baseDigest: digest, version: version, digest: digest)
    guard let plan = draft.plan(changes, on: PackBase(older, wanted: Set(draft.holders.keys))),
      let head = Self.head(plan, ends, records: draft.records.count)
    else { return nil }
    let size = draft.recordBytes.addingClamped(Int64(head.count))
    guard size <= limits.largest, Self.isWorthwhile(size, draft, changes) else { return nil }
    // Packs to the version that the release replaces are removed, except if this pack is made before it commits.
    let staysNewest = makesPackBeforeCommit && isNearest
    let hasRoom = try store.hasPackSpace(
      limits.quota, for: size.addingClamped(others), replacing: staysNewest ? nil : channel)
    return hasRoom ? size : nil
  }

  /// Returns the head and change list; nil if the list can't be coded.
  static func head(_ plan: PackPlan, _ ends: PackEnds, records: Int) -> [UInt8]? {
    let list = plan.changes.bytes(version: ends.version, old: plan.old)
    // Other releases wait for this.
    let level: Int32? = list.count <= 64 << 10 ? nil : list.count <= 1 << 20 ? 19 : 9
    guard let coded = PackFrame.encode(list, level: level) else { return nil }
    return PackHead(
      plan.changes.format, base: ends.base, version: ends.version, baseDigest: ends.baseDigest,
      digest: ends.digest,
      records: records, plainChanges: list, codedChanges: coded.count
    ).bytes + coded
  }

  /// Whether a device is better off with a pack than with whole files and the patch that names them.
  ///
  /// It depends only on the changes, so that no cost includes a pack that is refused later. What both answers carry besides
  /// the patch and the pack is about the same size.
  private static func isWorthwhile(_ size: Int64, _ draft: PackDraft, _ changes: [EntryDifference])
    -> Bool
  {
    // Usually the answer is clear without the patch, which takes time to code.
    func patch() -> Int64 { Int64(MapChange.patchCount(changes.map { MapChange($0) })) }
    // Without files, the patch is all there is to fetch: one request, whereas a pack takes two.
    if draft.records.isEmpty { return size.addingClamped(bytesPerRequest) < patch() }
    return size <= draft.plainBytes || size <= draft.plainBytes.addingClamped(patch())
  }

  /// How many bytes arrive in the time of one request on a phone: 200 ms at 1.6 Mbit/s.
  private static let bytesPerRequest: Int64 = 40_000
}
