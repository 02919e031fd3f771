import System
import Testing

@Suite struct ClampedSumTests {
  @Test(
    arguments: [
      (1, 2, 3), (Int64.max, 1, Int64.max), (Int64.max - 1, 1, Int64.max), (Int64.min, -1, Int64.min),
      (Int64.max, -1, Int64.max - 1), (Int64.min, Int64.max, -1),
    ] as [(Int64, Int64, Int64)])
  func sumsAreClamped(a: Int64, b: Int64, sum: Int64) {
    #expect(a.addingClamped(b) == sum)
    #expect([a, b].clampedSum { $0 } == sum)
  }

  @Test func unsignedSumsAreClamped() {
    #expect(UInt8(250).addingClamped(5) == 255 && UInt8(250).addingClamped(6) == 255)
    #expect([UInt64.max, 1, .max].clampedSum { $0 } == .max)
    #expect([Int64]().clampedSum { $0 } == 0)
  }

  /// Each partial sum is clamped, in order.
  @Test func partialSumsAreClamped() {
    #expect([Int64.max, .max, -1].clampedSum { $0 } == .max - 1)
    #expect([Int64.min, -5, .max].clampedSum { $0 } == -1)
  }
}
