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
    guard let opening = opening(from: version) else { return }
    rollout.withLock { $0.countOpening(opening, at: time, hasFailed: hasFailed) }
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
    rollout.withLock { $0.countFailure(at: time, taken: held.candidate) }
    tellEvidence()
  }

  /// Records that the device went back from a version.
  /// - Parameter hasOpened: whether pages of it were opened. The process may have ended before that was noted.
  func recordEvidence(ofReturnFrom held: DeviceIndex, hasOpened: Bool) {
    guard let seed = held.candidate else { return }
    let (app, now) = (traits.withLock { $0 }, now())
    rollout.withLock { $0.countReturn(from: seed, for: app, hasOpened: hasOpened, at: now) }
    tellEvidence()
  }

  /// Tells the origin what is new; returns at once, apart from the write that has to come first.
  package func tellEvidence() {
    let isReady = !conditions.isOffline && reporter.takesBatches
    let now = now()
    let report = rollout.withLock { isReady ? $0.takeReport(at: now) : nil }
    // What the disk doesn't know of would be told again by the next process.
    if saveRollout(), let report { reporter.report(report) }
  }

  /// The open rollout, and the arm in which the device counts from this page on; nil if it counts already, or doesn't.
  private func opening(from version: String) -> (rule: RolloutRule, arm: RolloutArm)? {
    if settings.isPreview || rollout.withLock({ $0.rule == nil }) { return nil }
    let (held, app) = (index, traits.withLock { $0 })
    return rollout.withLock {
      $0.awaitedOpening(for: app, taken: held.candidate, isOfHeld: held.version.text == version)
    }
  }
}
