import Store
import System

/// Decides when memory that large work needed is given back to the system.
///
/// What is freed stays with the allocator, for the next time: after the first publish of 100,000 files that were 300 of
/// 500 MB. Giving it back is worth it when there is much more in memory than there was after the last time, or much more of
/// it is free, and nothing is going on that would want it again at once.
struct MemoryTrim {
  /// Bytes.
  struct Memory: Equatable {
    let resident: Int
    /// Of these, what nothing is in, and what isn't the heap's, which hardly changes.
    let spare: Int

    func least(_ other: Memory) -> Memory {
      Memory(resident: min(resident, other.resident), spare: min(spare, other.spare))
    }
  }

  /// When it was given back last, or less since; what the start needed counts as work.
  private var base = Memory(resident: 0, spare: 0)
  private var last = 0
  private var looks = 0

  /// Bytes that may have come beside the base before it is worth the look.
  private static func slack(_ base: Int) -> Int { max(4 << 20, base / 32) }
  /// Bytes that may be free beside those that were free then. Work of which much was in use when its memory was given back
  /// leaves no more behind than there was, all of it free.
  private static func freeSlack(_ base: Int) -> Int { max(2 << 20, base / 32) }
  /// While work goes on all the time: looks until it is given back all the same.
  static let mostLooks = 12

  /// - Returns: whether to give back now; `gaveBack` tells what came of it.
  mutating func isDue(_ now: Memory) -> Bool {
    defer { last = now.resident }
    guard
      now.resident > base.resident + Self.slack(base.resident)
        || now.spare > base.spare + Self.freeSlack(base.resident)
    else {
      base = base.least(now)
      looks = 0
      return false
    }
    looks += 1
    let isQuiet = abs(now.resident - last) < 1 << 20
    return isQuiet || looks > Self.mostLooks
  }

  mutating func gaveBack(_ now: Memory) {
    (base, last, looks) = (now, now.resident, 0)
  }
}

extension MemoryTrim {
  /// Looks once, on a thread that nobody waits for.
  mutating func look(_ store: Store) {
    guard let before = Memory.now, isDue(before) else { return }
    store.releaseMemory()
    ProcessMemory.trim()
    gaveBack(Memory.now ?? before)
  }
}

extension MemoryTrim.Memory {
  /// Of this process; nil where the system doesn't tell.
  static var now: Self? {
    ProcessMemory.resident.map { Self(resident: $0, spare: $0 - ProcessMemory.heapInUse) }
  }
}
