import Store
import System

/// Decides when memory that large work needed is given back to the system.
///
/// What is freed stays with the allocator, for the next time: after the first publish of 100,000 files that were 300 of
/// 500 MB. Giving it back is worth it when there is much more than there was after the last time, and nothing is going
/// on that would want it again at once.
struct MemoryTrim {
  /// Bytes in memory when it was given back last, or fewer since; what the start needed counts as work.
  private var base = 0
  private var last = 0
  private var looks = 0

  /// What may have come beside the base before it is worth the look.
  private static func slack(_ base: Int) -> Int { max(4 << 20, base / 32) }
  /// While work goes on all the time: looks until it is given back all the same.
  static let patience = 12

  /// - Parameter resident: bytes in memory now.
  /// - Returns: whether to give back now; `gaveBack` tells what came of it.
  mutating func isDue(_ resident: Int) -> Bool {
    defer { last = resident }
    guard resident > base + Self.slack(base) else {
      base = min(base, resident)
      looks = 0
      return false
    }
    looks += 1
    let isQuiet = abs(resident - last) < 1 << 20
    return isQuiet || looks > Self.patience
  }

  mutating func gaveBack(_ resident: Int) {
    (base, last, looks) = (resident, resident, 0)
  }
}

extension MemoryTrim {
  /// Looks once, on a thread that nobody waits for.
  mutating func look(_ store: Store) {
    guard let before = ProcessMemory.resident, isDue(before) else { return }
    store.releaseMemory()
    ProcessMemory.trim()
    gaveBack(ProcessMemory.resident ?? before)
  }
}
