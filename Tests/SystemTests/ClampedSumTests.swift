import System
import Testing

@Suite struct ClampedSumTests {
  @Test(
    arguments: [
      (1, 2, 3), (Int64.max, 1, Int64.max), (Int64.max - 1, 1, Int64.max), (Int64.min, -1, Int64.min),
      (Int64.max, -1, Int64.max - 1), (Int64.min, Int64.max, -1),
    ] as [(Int64, Int64, Int64)])
  func sumsStayAtTheEnd(a: Int64, b: Int64, sum: Int64) {
    #expect(a.addingClamped(b) == sum)
    #expect([a, b].clampedSum { $0 } == sum)
  }
}
