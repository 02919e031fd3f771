import BuildCheck
import Store
import System

/// The source maps that stacks were read with last. Nothing else has them in memory, and one at a time is read: who needs the same one
/// meanwhile gets it, too.
final class SourceMapCache: Sendable {
  /// How many maps are kept, and how many bytes they may take.
  private static let (countLimit, costLimit) = (4, 64 << 20)
  /// How long a map is kept that no stack is read with, in nanoseconds.
  private static let idleTime: UInt64 = 300_000_000_000

  private struct Kept: Sendable {
    let name: SHA256
    /// Nil for bytes that aren't a map: they aren't read again each time.
    let map: SourceMap?
    var usedAt: UInt64
  }

  private let store: Store
  /// The map that was used last comes last.
  private let kept = Locked<[Kept]>([])
  private let reading = Locked<Void>(())

  init(store: Store) { self.store = store }

  /// Returns a map; nil if its bytes aren't here, or aren't a map.
  func map(_ name: SHA256) -> SourceMap? {
    if let known = known(name) { return known.map }
    return reading.withLock { _ in
      // Another thread may have read it in the meantime.
      if let known = known(name) { return known.map }
      // Before it is read, so that there are never more bytes than the limit and one map.
      guard let bytes = try? store.bytes(of: name, limit: SourceMap.sizeLimit) else { return nil }
      makeRoom(for: bytes.count)
      let map = try? SourceMap(bytes)
      let now = Clock.monotonicNanoseconds()
      kept.withLock { $0.append(Kept(name: name, map: map, usedAt: now)) }
      return map
    }
  }

  /// Returns a map that is in memory; nil for all others.
  func kept(_ name: SHA256) -> SourceMap? { known(name)?.map }

  /// Drops the maps that no stack was read with for some minutes.
  func dropOld(now: UInt64 = Clock.monotonicNanoseconds()) {
    kept.withLock { kept in kept.removeAll { now &- $0.usedAt > Self.idleTime && now > $0.usedAt } }
  }

  /// How many maps are in memory.
  var count: Int { kept.withLock { $0.count } }

  private func known(_ name: SHA256) -> Kept? {
    kept.withLock { kept in
      guard let index = kept.firstIndex(where: { $0.name == name }) else { return nil }
      var found = kept.remove(at: index)
      found.usedAt = Clock.monotonicNanoseconds()
      kept.append(found)
      return found
    }
  }

  private func makeRoom(for bytes: Int) {
    kept.withLock { kept in
      while !kept.isEmpty,
        kept.count >= Self.countLimit || kept.reduce(bytes, { $0 + ($1.map?.cost ?? 0) }) > Self.costLimit
      {
        kept.removeFirst()
      }
    }
  }
}
