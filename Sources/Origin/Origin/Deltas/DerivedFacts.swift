import Compression
import Manifests
import Store
import System

/// Facts computed once from a file's bytes and then stored: its sketch, and the size of its best plain body.
struct DerivedFacts: Sendable {
  let store: Store

  /// Returns the sketches of files, except those that can't be made.
  /// `shouldContinue` is asked before each file; false leaves out the rest.
  func sketches(
    of files: [DeltaFile], threads: Int, isUrgent: Bool,
    shouldContinue: @escaping @Sendable () -> Bool = { true }
  ) throws(StoreError) -> [SHA256: Sketch] {
    var sketches: [SHA256: Sketch] = [:]
    for cut in [Sketch.Cut.tokens, .chunks] {
      let group = files.filter { $0.cut.number == cut.number }
      let kept = try store.derived.sketches(of: group.map(\.sha256), cut: cut.number)
      for (sha256, encoded) in kept { sketches[sha256] = Sketch(encoded: encoded) }
      let found = Set(sketches.keys)
      let rest = group.filter { !found.contains($0.sha256) }
      let made = Locked<[SHA256: Sketch]>([:])
      Parallel.forEach(rest.count, threads: threads, priority: isUrgent ? nil : .background) {
        [store] index in
        let file = rest[index]
        guard shouldContinue(), let bytes = try? store.bytes(of: file.sha256, limit: DeltaTrial.largestFile)
        else { return }
        let sketch = Sketch(bytes, cut)
        made.withLock { $0[file.sha256] = sketch }
      }
      let new = made.withLock { $0 }
      try store.derived.keep(sketches: new.mapValues(\.encoded), cut: cut.number)
      sketches.merge(new) { $1 }
    }
    return sketches
  }

  /// Returns the size in bytes of a file's best plain body, computed now if it isn't stored.
  func plainSize(_ sha256: SHA256, _ ctype: ContentType, size: Int64) -> Int64 {
    guard ctype.isCompressible, Coding.sizes.contains(size) else { return size }
    if let kept = try? store.derived.plainSize(of: sha256, coded: true) { return kept }
    guard let bytes = try? store.bytes(of: sha256, limit: Int(size)) else { return size }
    let best = Int64(
      min(bytes.count, Gzip.encode([bytes]).count, Zstd.encode([bytes], level: CodedFiles.zstdLevel).count))
    // Stored to save the work next time; failing to do so doesn't matter here.
    try? store.derived.keep(plainSize: best, of: sha256, coded: true)
    return best
  }
}
