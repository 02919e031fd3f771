import System

/// A rate of failures, and the interval in which the true one lies with 95 %, however often one looks: a confidence sequence.
///
/// docs/evidence.md derives it: a rate is outside once a bet against it, spread over all other rates, is worth 20 times its stake.
package struct FailureRate: Hashable, Sendable {
  /// The failures per opening, 0 to 1.
  package let rate: Double
  /// The lower end of the interval, `rate` at most.
  package let low: Double
  /// The upper end, `rate` at least.
  package let high: Double

  /// What the bet against a rate outside of the interval is worth, at least: the inverse of the probability that the true one ever is.
  package static let stake = 20.0

  /// Creates the rate of sums; nil without openings. More failures than openings count as as many: openings and failures are capped apart.
  package init?(_ sums: CountedSums) {
    let opened = sums.opened
    guard opened > 0 else { return nil }
    let rate = min(sums.failed, opened) / opened
    // A part that is too small for a rate is none.
    let failed = rate == 0 ? 0 : min(sums.failed, opened)
    let most = RealMath.log(Self.stake) + Self.regret(failed, of: opened)
    func isInside(_ p: Double) -> Bool { Self.distance(failed, of: opened, from: p) < most }
    self.rate = rate
    low = failed == 0 ? 0 : Self.end(outside: 0, inside: rate, isInside)
    high = failed == opened ? 1 : Self.end(outside: 1, inside: rate, isInside)
  }

  /// Returns where the interval ends, to 100 halvings.
  private static func end(outside: Double, inside: Double, _ isInside: (Double) -> Bool) -> Double {
    var (outside, inside) = (outside, inside)
    for _ in 0..<100 {
      let middle = outside + (inside - outside) / 2
      guard middle != outside, middle != inside else { break }
      if isInside(middle) { inside = middle } else { outside = middle }
    }
    return inside
  }

  /// How much less likely the sums are at `p` than at their own rate, as the logarithm of the factor.
  private static func distance(_ failed: Double, of opened: Double, from p: Double) -> Double {
    let (rate, others) = (failed / opened, opened - failed)
    let failures = failed == 0 ? 0 : -failed * RealMath.log1p((p - rate) / rate)
    return failures + (others == 0 ? 0 : -others * RealMath.log1p((rate - p) / (1 - rate)))
  }

  /// How much more likely the sums are at their own rate than on average over all rates, each with the weight of Beta(1/2, 1/2), as the
  /// logarithm of the factor. The large parts of the logarithms of the gamma function have been left out: they cancel each other.
  private static func regret(_ failed: Double, of opened: Double) -> Double {
    let all =
      opened * RealMath.log1p(1 / (2 * opened)) + RealMath.log(opened + 0.5) / 2 - 0.5
      + rest(opened + 0.5)
    return all - rest(failed) - rest(opened - failed) + halfLogOfHalfPi
  }

  /// log π − ½ log 2π
  private static let halfLogOfHalfPi = RealMath.log(.pi / 2) / 2

  /// Returns log Γ(x + ½) − (x log x − x + ½ log 2π), for x of 0 or more: by Stirling's series, which is exact to 12 digits from 10 on.
  private static func rest(_ x: Double) -> Double {
    guard x < 10 else {
      let square = 1 / (x * x)
      return (-1 / 24.0 + square * (7 / 2880.0 - square * (31 / 40_320.0 - square * 127 / 215_040))) / x
    }
    // Γ(x + ½) = Γ(x + ½ + steps) / ((x + ½) (x + 3/2) …)
    let steps = 10
    let far = x + Double(steps)
    let product = (0..<steps).reduce(1.0) { $0 * (x + 0.5 + Double($1)) }
    let near = x == 0 ? 0 : x * RealMath.log(x)
    return rest(far) + far * RealMath.log(far) - Double(steps) - RealMath.log(product) - near
  }
}
