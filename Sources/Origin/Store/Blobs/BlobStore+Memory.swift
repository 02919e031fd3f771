import System

extension BlobStore {
  /// Frees the unused capacity of the tables about files: a table keeps the most it ever needed, some 50 MB after a
  /// release of 100,000 files.
  func releaseMemory() {
    state.withLock { state in
      state.whole.shrink()
      state.named.shrink()
      state.persisted.shrink()
      state.persisting.shrink()
      state.reserved.shrink()
      state.verified.shrink()
    }
  }
}

extension Dictionary {
  /// Moves into a smaller table if most of this one is empty.
  mutating func shrink() {
    guard capacity > 1024, count < capacity / 4 else { return }
    var next = Dictionary(minimumCapacity: count)
    for (key, value) in self { next[key] = value }
    self = next
  }
}
