import TestSupport
import Testing

@testable import Manifests
@testable import System

@Suite struct FailureRateTests {
  private func rate(_ opened: Double, _ failed: Double) throws -> FailureRate {
    let sums = try #require(CountedSums(opened: opened, failed: failed))
    return try #require(FailureRate(sums))
  }

  /// Known from Γ(½) = √π: with one device, the bet is worth 1 / 2(1 − p) where it hasn't failed.
  @Test func oneDeviceSaysLittle() throws {
    let good = try rate(1, 0)
    #expect(good.rate == 0 && good.low == 0 && abs(good.high - 0.975) < 1e-12)
    let bad = try rate(1, 1)
    #expect(bad.rate == 1 && bad.high == 1 && abs(bad.low - 0.025) < 1e-12)
  }

  @Test func moreDevicesSayMore() throws {
    var width = 1.0
    for opened in [10.0, 100, 1_000, 100_000, 1e9, 1e15] {
      let rate = try rate(opened, opened / 10)
      #expect(abs(rate.rate - 0.1) < 1e-12 && rate.low < 0.1 && rate.high > 0.1)
      #expect(rate.high - rate.low < 0.6 * width)
      width = rate.high - rate.low
    }
  }

  @Test func failuresAndTheOthersAreAlike() throws {
    for (opened, failed) in [(7.0, 2.0), (800, 40), (1_000, 999.5)] {
      let (a, b) = (try rate(opened, failed), try rate(opened, opened - failed))
      #expect(abs(a.low + b.high - 1) < 1e-12 && abs(a.high + b.low - 1) < 1e-12)
    }
  }

  /// Reports are anonymous, so there is no number that isn't sent.
  @Test func allNumbersHaveAnAnswer() throws {
    #expect(FailureRate(.none) == nil)
    #expect(CountedSums(opened: 0, failed: 5).flatMap { FailureRate($0) } == nil)
    // More failures than openings.
    #expect(try rate(3, 4) == rate(3, 3))
    #expect(try rate(3, 9e15) == rate(3, 3))
    let limit = Double(EvidenceRow.limit)
    let tiny = Double.leastNonzeroMagnitude
    let numbers = [0, tiny, 1e-300, 1e-9, 0.5, 1, 1.5, 1e9, limit - 1, limit]
    for opened in numbers.dropFirst() {
      for failed in numbers {
        let rate = try rate(opened, failed)
        #expect(
          0 <= rate.low && rate.low <= rate.rate && rate.rate <= rate.high && rate.high <= 1,
          "\(failed) of \(opened): \(rate)")
      }
    }
  }

  /// Looked at after each device, the true rate is ever left out in 5 % of all ramps at most.
  @Test(arguments: [0.02, 0.3]) func lookingOftenIsAllowed(truth: Double) throws {
    var random = SplitMix(seed: 2026)
    var left = 0
    ramp: for _ in 0..<200 {
      var failed = 0.0
      for opened in 1...100 {
        if Double(random.next() >> 11) * 0x1p-53 < truth { failed += 1 }
        let rate = try rate(Double(opened), failed)
        if truth < rate.low || truth > rate.high {
          left += 1
          continue ramp
        }
      }
    }
    #expect(left <= 10)
  }
}
