import Manifests
import System

/// What the open rollout comes to on this device. It is kept in `rollout.json`, and told after a poll that the origin answered: one that
/// couldn't be asked can't be told, either.
extension Device {
  /// Whether a page that is answered from a version may be the first one that counts. Cheap: each page asks.
  package func awaitsOpening(from version: String) -> Bool { opening(from: version) != nil }

  /// Records that a page was opened, if it is the first one, and tells the origin.
  /// - Parameters:
  ///   - time: when it was opened, in milliseconds since 1970.
  ///   - version: the version that it is answered from.
  ///   - hasFailed: whether it is passed on, because it has failed twice in this version.
  package func recordOpening(at time: Int64, from version: String, hasFailed: Bool) {
    guard let (rule, arm) = opening(from: version) else { return }
    rollout.withLock { state in
      state.evidence.open(rule.seed, arm, at: time)
      if hasFailed { state.evidence.fail(rule.seed, arm, at: time) }
    }
    tellEvidence()
  }

  /// Records that a page failed, which was opened at `time` and answered from a version.
  package func recordPageFailure(at time: Int64, from version: String) {
    let held = index
    if held.version.text == version { recordEvidence(ofFailureAt: time, holding: held) }
  }

  /// Records that an earlier process ended while its first page, which was opened at `time`, loaded.
  package func recordStartCrash(at time: Int64) { recordEvidence(ofFailureAt: time, holding: index) }

  private func recordEvidence(ofFailureAt time: Int64, holding held: DeviceIndex) {
    rollout.withLock { state in
      guard let rule = state.rule else { return }
      // What fails in the other arm's version isn't this arm's.
      state.evidence.fail(rule.seed, held.candidate == rule.seed ? .candidate : .control, at: time)
    }
    tellEvidence()
  }

  /// Records that the device went back from a version.
  /// - Parameter hasOpened: whether pages of it were opened. The process may have ended before that was noted.
  func recordEvidence(ofReturnFrom held: DeviceIndex, hasOpened: Bool) {
    guard let seed = held.candidate else { return }
    let (app, now) = (traits.withLock { $0 }, now())
    rollout.withLock { state in
      guard let rule = state.rule, rule.seed == seed else { return }
      if hasOpened, state.arm(for: app, taken: seed) == .candidate {
        state.evidence.open(seed, .candidate, at: now)
      }
      state.evidence.fail(seed, .candidate, at: now)
    }
    tellEvidence()
  }

  /// Tells the origin what is new; returns at once, apart from the write that has to come first.
  package func tellEvidence() {
    let isReady = !conditions.isOffline && reporter.takesBatches
    let now = now()
    let report = rollout.withLock { state in
      state.rule.flatMap { isReady ? state.evidence.take($0, at: now) : nil }
    }
    // What the disk doesn't know of would be told again by the next process.
    if saveRollout(), let report { reporter.report(report) }
  }

  /// The open rollout, and the arm in which the device counts from this page on; nil if it counts already, or doesn't.
  private func opening(from version: String) -> (rule: RolloutRule, arm: RolloutArm)? {
    if settings.isPreview || rollout.withLock({ $0.rule == nil }) { return nil }
    let (held, app) = (index, traits.withLock { $0 })
    return rollout.withLock { state in
      guard let rule = state.rule, !state.evidence.hasOpened(rule.seed),
        let arm = state.arm(for: app, taken: held.candidate)
      else { return nil }
      // In the candidate's arm it takes a page of the candidate.
      if arm == .candidate, held.candidate != rule.seed || held.version.text != version { return nil }
      return (rule, arm)
    }
  }
}
