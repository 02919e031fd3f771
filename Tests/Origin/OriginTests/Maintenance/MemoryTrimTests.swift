import System
import Testing

@testable import Origin

@Suite struct MemoryTrimTests {
  private static let mega = 1 << 20

  /// The resident memory at each check, in megabytes, and the checks at which memory is returned.
  @Test(arguments: [
    // The start's own work, once it is over.
    ([40, 60, 60, 50, 50], [2]),
    // Large work: returned once, after it ended.
    ([30, 30, 200, 400, 500, 500, 90, 90, 90], [1, 5]),
    // Small growth isn't worth a trim.
    ([30, 30, 31, 33, 34, 34, 33], [1]),
    // After memory shrank by itself, that is the new base.
    ([80, 80, 50, 50, 60, 60], [1, 5]),
    // Work that doesn't end is waited for, but not for ever.
    ([30, 30] + (1...14).map { 100 + $0 % 2 * 50 }, [1, 2 + MemoryTrim.maxChecks]),
  ])
  func trimsOnceWorkIsOver(_ residents: [Int], _ due: [Int]) {
    var trim = MemoryTrim()
    var trimmed: [Int] = []
    func memory(_ resident: Int) -> MemoryTrim.Memory { .init(resident: resident * Self.mega, spare: 0) }
    for (index, resident) in residents.enumerated() where trim.isDue(memory(resident)) {
      trimmed.append(index)
      trim.recordTrim(memory(min(resident, index + 1 < residents.count ? residents[index + 1] : resident)))
    }
    #expect(trimmed == due)
  }

  /// Memory that was in use at the last trim and is free now: the total hasn't grown since.
  @Test func laterFreeMemoryIsReturned() {
    var trim = MemoryTrim()
    func isDue(_ resident: Int, free: Int) -> Bool {
      trim.isDue(.init(resident: resident * Self.mega, spare: free * Self.mega))
    }
    _ = isDue(60, free: 30)
    #expect(isDue(60, free: 30))
    trim.recordTrim(.init(resident: 50 * Self.mega, spare: 20 * Self.mega))
    #expect(!isDue(50, free: 21))
    #expect(isDue(50, free: 32))
    trim.recordTrim(.init(resident: 40 * Self.mega, spare: 22 * Self.mega))
    #expect(!isDue(40, free: 22) && !isDue(40, free: 24))
    // If a trim didn't help, it isn't repeated.
    #expect(isDue(40, free: 27))
    trim.recordTrim(.init(resident: 40 * Self.mega, spare: 27 * Self.mega))
    #expect(!isDue(40, free: 27))
  }

  /// Other tests allocate and free memory of the process meanwhile, so one undisturbed attempt is enough.
  @Test func freedMemoryIsReturnedToTheSystem() throws {
    #expect(try (0..<10).contains { _ in try givesBack() })
  }

  private func givesBack() throws -> Bool {
    let before = try #require(ProcessMemory.resident)
    // Small enough to come from the heap; the last one keeps the heap's top in place.
    var pieces = (0..<3000).map { _ in [UInt8](repeating: 1, count: 32 << 10) }
    let held = try #require(ProcessMemory.resident)
    pieces.removeSubrange(..<2999)
    let kept = try #require(ProcessMemory.resident)
    ProcessMemory.trim()
    let after = try #require(ProcessMemory.resident)
    #expect(pieces.count == 1)
    return held > before + 64 * Self.mega && after < kept - 64 * Self.mega
  }
}
