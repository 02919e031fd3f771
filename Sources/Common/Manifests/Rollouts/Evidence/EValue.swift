import System

/// The evidence that a candidate fails more than `ratio` times as often as control, per device that opened a page: a number that is 1
/// without any evidence, and that a candidate which doesn't fail that often ever brings to 100 with a probability of 1 % at most,
/// however often one looks.
///
/// docs/evidence.md derives it: from Turner, Ly, Grünwald, Generic E-variables for exact sequential k-sample tests that allow for
/// optional stopping (Journal of Statistical Planning and Inference 230, 2024), for rates of failure that are low and unknown.
package struct EValue: Hashable, Sendable {
  /// Up to so many times as often as control a candidate may fail.
  package static let ratio = 1.5
  /// How many alternatives are bet on, each with the same part of the stake.
  package static let alternatives = 8

  /// The ratio of the null hypothesis.
  package let ratio: Double
  /// The natural logarithms of what became of the stake on each alternative.
  private var logs: [Double]

  /// Creates the e-value of no evidence.
  /// - Precondition: `ratio` is positive and finite.
  package init(ratio: Double = Self.ratio) {
    precondition(ratio > 0 && ratio < .infinity, "a ratio is positive")
    self.ratio = ratio
    logs = Array(repeating: 0, count: Self.alternatives)
  }

  /// Creates the e-value of hours.
  package init(_ hours: [EvidenceHour], ratio: Double = Self.ratio) {
    self.init(ratio: ratio)
    for block in EvidenceHour.blocks(hours) { add(block) }
  }

  /// Adds a block. One in which an arm has no openings tells nothing.
  package mutating func add(_ block: EvidenceHour) {
    let (candidate, control) = (block.candidate, block.control)
    guard candidate.opened > 0, control.opened > 0 else { return }
    for i in logs.indices {
      let alternative = Self.alternative(i, ratio)
      // How likely a failure is the candidate's, and how likely control's, if the alternative holds, each divided by the same for the
      // hypothesis. Both less 1, so that nothing is lost where they are close to it.
      let share = (alternative - ratio) / (alternative * candidate.opened + control.opened)
      logs[i] +=
        candidate.failed * RealMath.log1p(share * control.opened / ratio)
        + control.failed * RealMath.log1p(-share * candidate.opened)
    }
  }

  /// Returns a ratio that is bet on. In arms of the same size, the probability that a failure is the candidate's has the same distance
  /// from one to the next, from that of the hypothesis to 1.
  static func alternative(_ index: Int, _ ratio: Double) -> Double {
    let part = (Double(index) + 0.5) / Double(alternatives)
    return (ratio + part) / (1 - part)
  }

  /// The natural logarithm of the e-value, which itself may be too large for a number.
  package var log: Double {
    let top = logs.max() ?? 0
    let sum = logs.reduce(0) { $0 + RealMath.exp($1 - top) }
    return top + RealMath.log(sum / Double(logs.count))
  }

  /// Whether it is at least `threshold`.
  package func reaches(_ threshold: Double) -> Bool { log >= RealMath.log(threshold) }
}
