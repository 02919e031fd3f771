import System

/// The bytes of recently requested files, up to a total size; the least recently used are evicted first.
///
/// Keyed by SHA-256, so entries stay valid when the manifest changes.
struct MemoryCache {
  /// Larger files aren't kept: one of them would push out many others.
  static let largestFile = 1 << 20

  /// The number of hits, misses and evictions.
  struct Counts: Hashable, Sendable {
    var hits = 0
    var misses = 0
    var evictions = 0
  }

  private struct Slot {
    let digest: SHA256
    let bytes: [UInt8]
    var older: Int?
    var newer: Int?
  }

  /// The most bytes that all files may take up together.
  let limit: Int
  private(set) var used = 0
  private(set) var counts = Counts()
  private var slotIndices: [SHA256: Int] = [:]
  private var slots: [Slot?] = []
  private var free: [Int] = []
  // A doubly linked list through the slots, from the most to the least recently used.
  private var newest: Int?
  private var oldest: Int?

  init(limit: Int) { self.limit = max(0, limit) }

  /// The number of files kept.
  var count: Int { slotIndices.count }

  /// Returns the bytes of a file; nil if they aren't kept.
  mutating func bytes(_ digest: SHA256) -> [UInt8]? {
    guard let index = slotIndices[digest], let slot = slots[index] else {
      counts.misses += 1
      return nil
    }
    counts.hits += 1
    if newest != index {
      unlink(index)
      linkAsNewest(index)
    }
    return slot.bytes
  }

  /// Keeps the bytes of a file unless there are too many.
  mutating func keep(_ bytes: [UInt8], as digest: SHA256) {
    guard bytes.count <= min(limit, Self.largestFile), slotIndices[digest] == nil else { return }
    while used + bytes.count > limit, let index = oldest {
      remove(index)
      counts.evictions += 1
    }
    let slot = Slot(digest: digest, bytes: bytes)
    let index: Int
    if let reused = free.popLast() {
      slots[reused] = slot
      index = reused
    } else {
      slots.append(slot)
      index = slots.count - 1
    }
    slotIndices[digest] = index
    used += bytes.count
    linkAsNewest(index)
  }

  /// Removes everything: the app was warned that memory is low.
  mutating func empty() {
    (slotIndices, slots, free) = ([:], [], [])
    (newest, oldest) = (nil, nil)
    used = 0
  }

  private mutating func remove(_ index: Int) {
    unlink(index)
    guard let slot = slots[index] else { return }
    slots[index] = nil
    slotIndices[slot.digest] = nil
    used -= slot.bytes.count
    free.append(index)
  }

  private mutating func unlink(_ index: Int) {
    guard let slot = slots[index] else { return }
    if let newer = slot.newer { slots[newer]?.older = slot.older } else { newest = slot.older }
    if let older = slot.older { slots[older]?.newer = slot.newer } else { oldest = slot.newer }
  }

  private mutating func linkAsNewest(_ index: Int) {
    slots[index]?.older = newest
    slots[index]?.newer = nil
    if let newest { slots[newest]?.newer = index }
    newest = index
    if oldest == nil { oldest = index }
  }
}
