import Compression
import Manifests
import Store
import System
import Values

/// Makes deltas for files from what one older manifest holds.
struct DeltaSearch: Sendable {
  let store: Store
  let budget: MemoryBudget
  let threads: Int
  let isUrgent: Bool
  let counters: DeltaCounters

  typealias Contents = [(url: ResourceURL, content: ResourceContent)]

  /// Makes every delta that is missing.
  ///
  /// `shouldContinue` is asked before each file; false leaves the rest undone. `progress` gets the number of files done and
  /// the number of all files.
  ///
  /// - Returns: how many deltas were made, whether every file was examined, and why some could not be made.
  func run(
    _ new: Contents, on base: BaseManifest, shouldContinue: @escaping @Sendable () -> Bool = { true },
    progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> (made: Int, isComplete: Bool, failure: StoreError?) {
    let (targets, known) = try missingDeltas(DeltaFile.distinct(new), on: base)
    progress(0, targets.count)
    // Usually every file already has its delta: then the base needn't be read.
    guard !targets.isEmpty else { return (0, true, nil) }
    let older = try base.contents()
    let candidates = DeltaFile.distinct(older)
    guard !candidates.isEmpty else { return (0, true, nil) }
    let held = Set(older.indices.lazy.map { older.sha256(at: $0) })
    let facts = DerivedFacts(store: store)
    let sketches = try facts.sketches(
      of: targets + candidates, threads: threads, isUrgent: isUrgent, shouldContinue: shouldContinue)
    let finder = Self.finder(targets, candidates, sketches)
    let state = Locked((made: 0, done: 0, isComplete: true, failure: StoreError?.none))
    // The largest first, so that the last one is short.
    let order = targets.sorted { $0.size > $1.size }
    Parallel.forEach(order.count, threads: threads, priority: isUrgent ? nil : .background) { index in
      guard shouldContinue() else { return state.withLock { $0.isComplete = false } }
      let target = order[index]
      guard let sketch = sketches[target.sha256] else { return }
      let file = BaseFinder.File(name: target.name, size: target.size, sketch: sketch)
      let bases = finder.bases(for: file).map { candidates[$0] }
        .filter { known[target.sha256]?.contains($0.sha256) != true }
      let made = Result { () throws(StoreError) in
        isMade(target, held) ? false : try make(target, bases, facts)
      }
      let done = state.withLock { state in
        state.done += 1
        switch made {
        case .success(let isMade): if isMade { state.made += 1 }
        case .failure(let error): state.failure = error
        }
        return state.done
      }
      progress(done, order.count)
    }
    return state.withLock { ($0.made, $0.isComplete, $0.failure) }
  }

  /// Returns the files that the older manifest neither holds nor has a delta for, and the bases already tried for each.
  private func missingDeltas(_ files: [DeltaFile], on base: BaseManifest) throws(StoreError)
    -> (files: [DeltaFile], tried: [SHA256: Set<SHA256>])
  {
    let known = try store.derived.pairs(of: files.map(\.sha256))
    let held = try base.held(Set(files.map(\.sha256)).union(known.values.joined().map(\.base)))
    var rest: [DeltaFile] = []
    var tried: [SHA256: Set<SHA256>] = [:]
    for file in files where !held.contains(file.sha256) {
      let pairs = known[file.sha256] ?? []
      if pairs.contains(where: { $0.size != nil && held.contains($0.base) }) { continue }
      rest.append(file)
      tried[file.sha256] = Set(pairs.filter { $0.size == nil }.map(\.base))
    }
    return (rest, tried)
  }

  /// Whether another search has made a file's delta since this one began.
  private func isMade(_ target: DeltaFile, _ held: Set<SHA256>) -> Bool {
    let pairs = (try? store.derived.pairs(of: target.sha256)) ?? []
    return pairs.contains { $0.size != nil && held.contains($0.base) }
  }

  private static func finder(_ targets: [DeltaFile], _ candidates: [DeltaFile], _ sketches: [SHA256: Sketch])
    -> BaseFinder
  {
    let none = Sketch([], .tokens)
    var finder = BaseFinder(wanted: targets.compactMap { sketches[$0.sha256] })
    for file in candidates {
      finder.add(BaseFinder.File(name: file.name, size: file.size, sketch: sketches[file.sha256] ?? none))
    }
    finder.seal()
    return finder
  }

  /// Makes and stores one file's delta; true if there is one now.
  /// - Throws: if it can't be stored, as on a full disk; devices then fetch plain bodies.
  private func make(_ target: DeltaFile, _ bases: [DeltaFile], _ facts: DerivedFacts) throws(StoreError)
    -> Bool
  {
    guard let largest = bases.map(\.size).max() else { return false }
    let cost = MemoryBudget.cost(target: target.size, base: largest)
    return try budget.withMemory(for: cost) { () throws(StoreError) in
      let start = Clock.monotonicNanoseconds()
      defer { counters.worked(nanoseconds: Clock.monotonicNanoseconds() - start) }
      guard let bytes = try? store.bytes(of: target.sha256, limit: DeltaTrial.largestFile) else {
        return false
      }
      let plain = facts.plainSize(target.sha256, target.ctype, size: Int64(target.size))
      let delta = DeltaTrial.best(of: bytes, sha256: target.sha256, plain: Int(plain), bases: bases.count) {
        let sha256 = bases[$0].sha256
        guard let bytes = try? store.bytes(of: sha256, limit: DeltaTrial.largestFile) else { return nil }
        return DeltaTrial.Base(sha256: sha256, bytes: bytes)
      }
      do throws(StoreError) {
        guard let delta else {
          try store.derived.reject(bases.map(\.sha256), for: target.sha256)
          return false
        }
        guard try store.keep(delta.coded, of: target.sha256, on: delta.base) else { return false }
        counters.made(bytes: delta.coded.count)
        return true
      } catch {
        counters.failed()
        throw error
      }
    }
  }
}

/// Limits the memory of all deltas being made at once; one that exceeds the limit is made alone.
final class MemoryBudget: Sendable {
  private let limit: Int
  private let used = Monitor(0)

  /// - Parameter limit: in bytes.
  init(limit: Int) { self.limit = limit }

  /// Runs `body` once `cost` bytes are available.
  func withMemory<Result, Failure: Error>(for cost: Int, _ body: () throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    let limit = self.limit
    used.waiting { used -> Void? in
      guard used == 0 || used + cost <= limit else { return nil }
      used += cost
      return ()
    }
    defer { used.broadcasting { $0 -= cost } }
    return try body()
  }

  /// Returns about how much memory libzstd needs at its best level for a file and its base, besides the two and the result.
  static func cost(target: Int, base: Int) -> Int {
    let input = target + base
    return 3 * input + min(96 << 20, 16 * input)
  }
}
