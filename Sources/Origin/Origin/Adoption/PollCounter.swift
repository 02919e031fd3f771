import Store
import Synchronization

/// One event loop's counts of polls by channel and reported version.
///
/// Only the loop adds: a poll costs it a few atomic operations on memory that no other thread touches, no lock and no
/// allocation. The service's thread takes the counts every few seconds. There are two tables, so that unused keys can be
/// cleared in the one that the loop has left.
final class PollCounter: Sendable {
  private let tables = (PollTable(), PollTable())
  private let active = Atomic<Int>(0)

  /// Returns the version that a poll counts for. Numbers above the newest, which may be a candidate's, aren't kept, so that
  /// invented ones can't fill a table.
  static func version(_ reported: PollQuery.Version, of channel: ChannelCatalog) -> Int64 {
    switch reported {
    case .absent: PollCount.none
    case .number(let version) where version >= 0 && version <= channel.highest.number: version
    case .number, .unknown: PollCount.other
    }
  }

  /// Counts a poll for `version`.
  @inline(__always)
  func count(_ version: Int64, of channel: Int64) {
    // Not assigned to a variable first: that would retain the table.
    if active.load(ordering: .acquiring) == 0 {
      tables.0.add(channel, version)
    } else {
      tables.1.add(channel, version)
    }
  }

  /// Returns what was counted since the last call, and resets it.
  func drain() -> [PollCount] {
    let side = active.load(ordering: .relaxed)
    let (current, spare) = side == 0 ? tables : (tables.1, tables.0)
    // The loop left the spare table at the latest at an earlier call, seconds ago.
    var counts = spare.drain()
    spare.clear()
    counts += current.drain()
    if current.isCrowded { active.store(1 - side, ordering: .releasing) }
    return counts
  }
}

/// A hash table of counters, written by one thread and emptied by another.
private final class PollTable: @unchecked Sendable {
  // Unchecked: all shared state is atomic, and the pointers never change.
  private let keys: UnsafeMutablePointer<Atomic<UInt64>>
  private let counts: UnsafeMutablePointer<Atomic<Int>>
  /// Used by the loop only, except for `clear`, which is called once the loop has left the table.
  private let used = Atomic<Int>(0)

  private static let slotCount = 1024
  private static let probes = 16

  init() {
    keys = .allocate(capacity: Self.slotCount)
    counts = .allocate(capacity: Self.slotCount)
    for slot in 0..<Self.slotCount {
      (keys + slot).initialize(to: Atomic(0))
      (counts + slot).initialize(to: Atomic(0))
    }
  }

  deinit {
    for slot in 0..<Self.slotCount {
      (keys + slot).deinitialize(count: 1)
      (counts + slot).deinitialize(count: 1)
    }
    keys.deallocate()
    counts.deallocate()
  }

  var isCrowded: Bool { used.load(ordering: .relaxed) > Self.slotCount / 2 }

  /// Counts one poll; under `other` if there is no slot for its key, and not at all if there is none for that either.
  func add(_ channel: Int64, _ version: Int64) {
    let key = Self.key(channel, version)
    if key != 0, count(key) { return }
    _ = count(Self.key(channel, PollCount.other))
  }

  private func count(_ key: UInt64) -> Bool {
    var slot = Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 40)
    for _ in 0..<Self.probes {
      slot &= Self.slotCount - 1
      let found = keys[slot].load(ordering: .relaxed)
      if found == 0 {
        keys[slot].store(key, ordering: .releasing)
        used.add(1, ordering: .relaxed)
      }
      if found == 0 || found == key {
        counts[slot].add(1, ordering: .relaxed)
        return true
      }
      slot += 1
    }
    return false
  }

  func drain() -> [PollCount] {
    var taken: [PollCount] = []
    for slot in 0..<Self.slotCount {
      let key = keys[slot].load(ordering: .acquiring)
      if key == 0 { continue }
      let polls = counts[slot].exchange(0, ordering: .relaxed)
      if polls > 0 { taken.append(Self.count(key, polls)) }
    }
    return taken
  }

  func clear() {
    guard used.load(ordering: .relaxed) > 0 else { return }
    for slot in 0..<Self.slotCount { keys[slot].store(0, ordering: .relaxed) }
    used.store(0, ordering: .relaxed)
  }

  // MARK: - Keys: 20 bits of the channel's number, 44 of the version plus one.

  private static func key(_ channel: Int64, _ version: Int64) -> UInt64 {
    guard channel > 0, channel < 1 << 20, version < 1 << 44 - 2 else { return 0 }
    return UInt64(channel) << 44 | UInt64(version + 1)
  }

  private static func count(_ key: UInt64, _ polls: Int) -> PollCount {
    PollCount(channel: Int64(key >> 44), version: Int64(key & (1 << 44 - 1)) - 1, polls: polls)
  }
}
