import System
import Testing

@testable import Origin

@Suite struct MemoryTrimTests {
  private static let mega = 1 << 20

  /// What a process has in memory from look to look, in megabytes, and at which looks some of it is given back.
  @Test(arguments: [
    // The start's own work, once it is over.
    ([40, 60, 60, 50, 50], [2]),
    // Large work: given back when nothing goes on any more, once.
    ([30, 30, 200, 400, 500, 500, 90, 90, 90], [1, 5]),
    // A little more, and again a little: nothing worth the look.
    ([30, 30, 31, 33, 34, 34, 33], [1]),
    // What went by itself is the new base.
    ([80, 80, 50, 50, 60, 60], [1, 5]),
    // Work that never ends is waited for, not for good.
    ([30, 30] + (1...14).map { 100 + $0 % 2 * 50 }, [1, 2 + MemoryTrim.maxChecks]),
  ])
  func givesBackOnceWorkIsOver(_ residents: [Int], _ due: [Int]) {
    var trim = MemoryTrim()
    var given: [Int] = []
    func memory(_ resident: Int) -> MemoryTrim.Memory { .init(resident: resident * Self.mega, spare: 0) }
    for (look, resident) in residents.enumerated() where trim.isDue(memory(resident)) {
      given.append(look)
      trim.recordTrim(memory(min(resident, look + 1 < residents.count ? residents[look + 1] : resident)))
    }
    #expect(given == due)
  }

  /// Memory that was in use when the rest was given back, and is free now: no more is in memory than then.
  @Test func whatIsFreeLaterGoesBack() {
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
    // Where it didn't help, it isn't tried again.
    #expect(isDue(40, free: 27))
    trim.recordTrim(.init(resident: 40 * Self.mega, spare: 27 * Self.mega))
    #expect(!isDue(40, free: 27))
  }

  /// Other tests take and free memory of the same process meanwhile, so one undisturbed attempt is enough.
  @Test func freedMemoryGoesBackToTheSystem() throws {
    #expect(try (0..<10).contains { _ in try givesBack() })
  }

  private func givesBack() throws -> Bool {
    let before = try #require(ProcessMemory.resident)
    // Small enough to come from the heap, and the last one keeps its top where it is.
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
