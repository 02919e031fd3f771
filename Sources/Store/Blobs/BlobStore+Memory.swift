import System

extension BlobStore {
  /// Gives back the room of what is known of files no more: a table keeps what it once needed, and after a release of
  /// 100,000 files that would be some 50 MB.
  func releaseMemory() {
    state.withLock { state in
      state.whole.shrink()
      state.named.shrink()
      state.placed.shrink()
      state.placing.shrink()
      state.reserved.shrink()
      state.verified.shrink()
    }
  }
}

extension Dictionary {
  /// Moves into a smaller table where most of it is empty.
  mutating func shrink() {
    guard capacity > 1024, count < capacity / 4 else { return }
    var next = Dictionary(minimumCapacity: count)
    for (key, value) in self { next[key] = value }
    self = next
  }
}
