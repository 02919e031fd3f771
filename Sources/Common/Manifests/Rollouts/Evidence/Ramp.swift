/// The steps by which a rollout goes on by itself.
package struct Ramp: Hashable, Sendable {
  /// The maximum number of steps.
  package static let stepLimit = 20
  /// The longest time that a step may be told to last, in milliseconds: 365 days.
  package static let timeLimit: Int64 = 365 * 86_400_000

  /// The shares, of `RolloutRule.all`, each above the one before. With the last one, if it is all, the rollout is completed.
  package let steps: [Int]
  /// How many devices of the candidate have to open a page in each step.
  package let each: Int64
  /// How long each step lasts at least, in milliseconds.
  package let atLeast: Int64

  /// Creates a ramp; nil if a value is out of its range.
  package init?(steps: [Int], each: Int64 = 2_000, atLeast: Int64 = 3_600_000) {
    guard (1...Self.stepLimit).contains(steps.count), steps.allSatisfy((1...RolloutRule.all).contains),
      zip(steps, steps.dropFirst()).allSatisfy(<), (1...EvidenceRow.limit).contains(each),
      (0...Self.timeLimit).contains(atLeast)
    else { return nil }
    self.steps = steps
    self.each = each
    self.atLeast = atLeast
  }

  /// Returns how many devices of control have to open a page in a step with this share: as many in relation to its size.
  package func eachOfControl(share: Int) -> Int64 {
    guard share > 0 else { return each }
    let control = min(share, RolloutRule.all - share)
    // Rounded up. A share of 10,000 and a count of 2^53 have a product beyond 64 bits.
    let (high, low) = UInt64(each).multipliedFullWidth(by: UInt64(control))
    let (quotient, remainder) = UInt64(share).dividingFullWidth((high, low))
    return Int64(quotient) + (remainder == 0 ? 0 : 1)
  }
}

/// Where an open rollout stands.
package struct RampState: Hashable, Sendable {
  /// The share of the devices that it goes to, of `RolloutRule.all`.
  package let share: Int
  /// Whether nobody new is let in.
  package let isPaused: Bool
  /// When the share was set, or the rollout was resumed, in milliseconds since 1970.
  package let since: Int64
  /// How many devices have opened a page since, as far as they count.
  package let openedCandidate: Double
  /// The same in control.
  package let openedControl: Double
  /// What all evidence since the beginning says; after a person has resumed a rollout, the evidence since then.
  package let evidence: EValue
  /// In how many networks the candidate has failed.
  package let failingNetworks: Int

  /// Creates a state.
  package init(
    share: Int, isPaused: Bool = false, since: Int64, openedCandidate: Double = 0, openedControl: Double = 0,
    evidence: EValue = EValue(), failingNetworks: Int = 0
  ) {
    self.share = share
    self.isPaused = isPaused
    self.since = since
    self.openedCandidate = openedCandidate
    self.openedControl = openedControl
    self.evidence = evidence
    self.failingNetworks = failingNetworks
  }
}
