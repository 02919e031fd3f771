import Store
import System

/// Decides when to return memory used for large work to the system.
///
/// Freed memory stays with the allocator for reuse: after the first publish of 100,000 files that was 300 of 500 MB.
/// Returning it is worthwhile if much more memory is resident than after the last time, or much more of it is free, and
/// nothing is going on that would soon need it again.
struct MemoryTrim {
  /// In bytes.
  struct Memory: Equatable {
    let resident: Int
    /// How much of it is unused or not part of the heap; the latter hardly changes.
    let spare: Int

    func minimum(_ other: Memory) -> Memory {
      Memory(resident: min(resident, other.resident), spare: min(spare, other.spare))
    }
  }

  /// The memory when it was last returned, or less since; what startup needed counts as work.
  private var base = Memory(resident: 0, spare: 0)
  private var last = 0
  private var checks = 0

  /// How many more bytes than the base may be resident before memory is returned.
  private static func slack(_ base: Int) -> Int { max(4 << 20, base / 32) }
  /// How many more bytes may be free than when memory was last returned. Work that still used much at that time leaves no
  /// more behind than there was, but all of it free.
  private static func freeSlack(_ base: Int) -> Int { max(2 << 20, base / 32) }
  /// How many looks constant activity can delay returning memory.
  static let maxChecks = 12

  /// - Returns: whether to return memory now; `recordTrim` records the result.
  mutating func isDue(_ now: Memory) -> Bool {
    defer { last = now.resident }
    guard
      now.resident > base.resident + Self.slack(base.resident)
        || now.spare > base.spare + Self.freeSlack(base.resident)
    else {
      base = base.minimum(now)
      checks = 0
      return false
    }
    checks += 1
    let isQuiet = abs(now.resident - last) < 1 << 20
    return isQuiet || checks > Self.maxChecks
  }

  mutating func recordTrim(_ now: Memory) {
    (base, last, checks) = (now, now.resident, 0)
  }
}

extension MemoryTrim {
  /// Looks once; called on a thread that nobody waits for.
  mutating func trimIfDue(_ store: Store) {
    guard let before = Memory.now, isDue(before) else { return }
    store.releaseMemory()
    ProcessMemory.trim()
    recordTrim(Memory.now ?? before)
  }
}

extension MemoryTrim.Memory {
  /// The memory of this process; nil if the system doesn't report it.
  static var now: Self? {
    ProcessMemory.resident.map { Self(resident: $0, spare: $0 - ProcessMemory.heapInUse) }
  }
}
