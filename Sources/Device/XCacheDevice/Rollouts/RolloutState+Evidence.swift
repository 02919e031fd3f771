import Manifests

/// What is counted of the open rollout (docs/protocol.md §11, "Evidence of a rollout"). Pure: the fleet simulator calls it for a million
/// devices, with a clock of its own.
extension RolloutState {
  /// The open rollout, and the arm in which the device counts from this page on; nil if it counts already, or doesn't.
  /// - Parameters:
  ///   - app: what the app says of itself.
  ///   - taken: the seed under which the device took the candidate that it holds.
  ///   - isOfHeld: whether the page is answered from the version held.
  package func awaitedOpening(
    for app: AppTraits, taken: String?, isOfHeld: Bool
  ) -> (rule: RolloutRule, arm: RolloutArm)? {
    guard let rule, !evidence.hasOpened(rule.seed), let arm = arm(for: app, taken: taken) else { return nil }
    // In the candidate's arm it takes a page of the candidate.
    if arm == .candidate, taken != rule.seed || !isOfHeld { return nil }
    return (rule, arm)
  }

  /// Counts the first page.
  /// - Parameters:
  ///   - opening: from `awaitedOpening`, which may have been asked a while ago.
  ///   - time: when the page was opened.
  ///   - hasFailed: whether it is passed on, because it has failed twice in this version.
  package mutating func countOpening(
    _ opening: (rule: RolloutRule, arm: RolloutArm), at time: Int64, hasFailed: Bool
  ) {
    evidence.open(opening.rule.seed, opening.arm, at: time)
    if hasFailed { evidence.fail(opening.rule.seed, opening.arm, at: time) }
  }

  /// Counts a page of the version held that failed, or an end of the process while one started.
  /// - Parameters:
  ///   - time: when the page was opened.
  ///   - taken: the seed under which the device took the candidate that it holds.
  package mutating func countFailure(at time: Int64, taken: String?) {
    guard let rule else { return }
    // What fails in the other arm's version isn't this arm's.
    evidence.fail(rule.seed, taken == rule.seed ? .candidate : .control, at: time)
  }

  /// Counts that the device went back from a candidate.
  /// - Parameters:
  ///   - seed: the seed under which it took that.
  ///   - app: what the app says of itself.
  ///   - hasOpened: whether pages of it were opened. The process may have ended before that was noted.
  ///   - now: the time.
  package mutating func countReturn(from seed: String, for app: AppTraits, hasOpened: Bool, at now: Int64) {
    guard let rule, rule.seed == seed else { return }
    if hasOpened, arm(for: app, taken: seed) == .candidate { evidence.open(seed, .candidate, at: now) }
    evidence.fail(seed, .candidate, at: now)
  }

  /// Returns what is to be reported of the open rollout, and records that it is reported; nil if that is nothing, or too old.
  package mutating func takeReport(at now: Int64) -> EvidenceMessage? {
    rule.flatMap { evidence.take($0, at: now) }
  }
}
