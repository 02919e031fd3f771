import TestSupport
import Testing

@testable import Manifests
@testable import System

@Suite struct EValueTests {
  private func hour(_ sums: (Double, Double, Double, Double), _ number: Int64 = 0) throws -> EvidenceHour {
    let candidate = try #require(CountedSums(opened: sums.0, failed: sums.1))
    let control = try #require(CountedSums(opened: sums.2, failed: sums.3))
    return EvidenceHour(hour: number, candidate: candidate, control: control)
  }

  private func value(_ sums: (Double, Double, Double, Double)..., ratio: Double = EValue.ratio) throws
    -> Double
  {
    var value = EValue(ratio: ratio)
    for sums in sums { value.add(try hour(sums)) }
    return value.log
  }

  private func isClose(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= 1e-12 * max(1, abs(b)) }

  @Test func nothingIsNoEvidence() throws {
    #expect(EValue().log == 0)
    #expect(EValue([]).log == 0)
    #expect(try value((1e6, 0, 1e6, 0)) == 0)
    #expect(try value((100, 7, 0, 0), (0, 0, 100, 7)) == 0)
    #expect(try value((100, 7, 0, 3), (0, 3, 100, 7)) == 0)
  }

  /// With arms of the same size, the bets are spread evenly between 0.6, the probability that a failure is the candidate's at a ratio
  /// of 1.5, and 1: they have 0.8 on average.
  @Test func oneFailureCountsWhatItsProbabilitySays() throws {
    #expect(isClose(try value((100, 1, 100, 0)), RealMath.log(0.8 / 0.6)))
    #expect(isClose(try value((100, 0, 100, 1)), RealMath.log(0.2 / 0.4)))
    // Control with half of the openings: 0.75 at the limit.
    var bets = 0.0
    for i in 0..<EValue.alternatives {
      let odds = 2 * EValue.alternative(i, 1.5)
      bets += odds / (1 + odds) / 0.75 / Double(EValue.alternatives)
    }
    #expect(isClose(try value((100, 1, 50, 0)), RealMath.log(bets)))
  }

  @Test func bettingEndsAtTheLargestProbability() throws {
    // Eight bets, the boldest one on 0.975 of 0.6, against 39 failures of the candidate alone.
    let log = try value((1000, 39, 1000, 0))
    let boldest = 39 * RealMath.log(0.975 / 0.6)
    #expect(log < boldest)
    #expect(log > boldest - RealMath.log(8))
  }

  @Test func theOrderOfBlocksDoesNotMatter() throws {
    let a = (120.0, 3.0, 80.0, 1.0)
    let b = (30.0, 1.0, 90.0, 0.0)
    #expect(isClose(try value(a, b), try value(b, a)))
    // But what stands in which does: a failure in a block with few openings of its own arm says more.
    #expect(try value((20, 1, 80, 0), (80, 0, 20, 0)) > value((20, 0, 80, 0), (80, 1, 20, 0)))
  }

  @Test func largeNumbersHaveALogarithm() throws {
    let limit = Double(EvidenceRow.limit)
    let much = try value((limit, limit, limit, 0))
    #expect(much > 4e15 && much < .infinity)
    let little = try value((limit, 0, limit, limit))
    #expect(little < -4e14 && little > -.infinity)
    #expect(try value((limit, 1, 1, 0)) > 0)
    #expect(try value((1e-300, 1, limit, limit)).isFinite)
    #expect(CountedSums(opened: .nan, failed: 0) == nil)
    #expect(CountedSums(opened: 0, failed: limit + 2) == nil)
    #expect(CountedSums(opened: -0.5, failed: 0) == nil)
  }

  @Test func thresholdsAreReachedAtTheirValue() throws {
    var evidence = EValue()
    #expect(evidence.reaches(1))
    #expect(!evidence.reaches(1.001))
    evidence.add(try hour((100, 1, 100, 0)))
    #expect(evidence.reaches(1.333))
    #expect(!evidence.reaches(1.334))
  }

  // MARK: - Validity

  /// The probabilities of 0 … `count` failures.
  private func binomial(_ count: Int, _ rate: Double) -> [Double] {
    var part = [1.0]
    for _ in 0..<count {
      part = (0...part.count).map { k in
        (k < part.count ? part[k] * (1 - rate) : 0) + (k > 0 ? part[k - 1] * rate : 0)
      }
    }
    return part
  }

  /// The expected e-value of a block after some evidence, divided by what it was before.
  private func expectation(_ sizes: (Int, Int), _ rates: (Double, Double), after: EValue) throws -> Double {
    var sum = 0.0
    for (k, p) in binomial(sizes.0, rates.0).enumerated() {
      for (l, q) in binomial(sizes.1, rates.1).enumerated() {
        var evidence = after
        evidence.add(try hour((Double(sizes.0), Double(k), Double(sizes.1), Double(l))))
        sum += p * q * RealMath.exp(evidence.log - after.log)
      }
    }
    return sum
  }

  @Test(arguments: [0.5, 1, 1.5, 3]) func itIsExpectedToFallUnderTheHypothesis(ratio: Double) throws {
    var later = EValue(ratio: ratio)
    later.add(try hour((40, 3, 30, 1)))
    for sizes in [(1, 1), (1, 5), (5, 1), (3, 3), (7, 2), (6, 9)] {
      for control in [0, 0.001, 0.01, 0.1, 0.3, 0.5, 2 / 3.0, 0.9, 1] {
        for part in [0, 0.5, 0.9, 1] {
          let rates = (min(1, ratio * control) * part, control)
          for after in [EValue(ratio: ratio), later] {
            #expect(try expectation(sizes, rates, after: after) <= 1 + 1e-12, "\(sizes) \(rates)")
          }
        }
      }
    }
  }

  @Test func atTheLimitNothingIsGivenAwayWhereFailuresAreRare() throws {
    #expect(try expectation((6, 9), (0.00015, 0.0001), after: EValue()) > 0.999_999)
    #expect(try expectation((6, 9), (0.0003, 0.0001), after: EValue()) > 1.000_1)
  }

  /// The share of ramps that are ever paused, looked at after each failure of the candidate.
  private func paused(_ rates: (Double, Double), ramps: Int, opens: Int, within: Int = .max) throws -> Double
  {
    var random = SplitMix(seed: 2026)
    func happens(_ rate: Double) -> Bool { Double(random.next() >> 11) * 0x1p-53 < rate }
    var count = 0
    ramp: for _ in 0..<ramps {
      var sums = (0.0, 0.0, 0.0, 0.0)
      for _ in 0..<min(opens, within) {
        sums.0 += 1
        sums.2 += 1
        if happens(rates.1) { sums.3 += 1 }
        guard happens(rates.0) else { continue }
        sums.1 += 1
        var evidence = EValue()
        evidence.add(try hour(sums))
        if evidence.reaches(RampDecision.pauses) {
          count += 1
          continue ramp
        }
      }
    }
    return Double(count) / Double(ramps)
  }

  @Test func fewRampsAtTheLimitArePaused() throws {
    #expect(try paused((0.15, 0.1), ramps: 1_000, opens: 200) <= 0.01)
  }

  @Test func badReleasesArePausedSoon() throws {
    #expect(try paused((0.05, 0.002), ramps: 200, opens: 800) >= 0.99)
    #expect(try paused((1, 0.002), ramps: 200, opens: 25) >= 0.99)
  }
}
