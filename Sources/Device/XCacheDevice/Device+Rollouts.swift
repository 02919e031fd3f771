import Manifests
import System

/// Rollouts: a release that goes to a part of the devices first. Each device decides by itself, from its install id.
extension Device {
  /// The app's version, such as `4.2.0`, for rollouts that name a range of versions; nil if it is unknown. It is never sent, and
  /// a change counts from the next poll on.
  public var appVersion: String? {
    get { traits.withLock { $0.version } }
    set { traits.withLock { $0.version = newValue } }
  }

  /// The groups that this device is in, such as `qa`, for rollouts that name groups. They are never sent, and a change counts
  /// from the next poll on.
  public var groups: Set<String> {
    get { traits.withLock { $0.groups } }
    set { traits.withLock { $0.groups = newValue } }
  }

  /// Puts the device into every rollout from the next poll on, whatever the rule says: to try a candidate.
  package func takeCandidates() { traits.withLock { $0.membership = .always } }

  /// Keeps the device out of every rollout from the next poll on: to see what all other devices have, the same at each call.
  package func takeFullVersions() { traits.withLock { $0.membership = .never } }

  /// Whether the version held is the candidate of the open rollout, as of the last poll.
  public var holdsCandidate: Bool {
    let held = index
    return rollout.withLock { $0.rule?.seed == held.candidate && $0.rule?.version == held.version }
  }

  /// Leaves the candidate of the open rollout: the next update goes to the version that everyone else has, and the device stays
  /// out of this rollout, whatever its share and groups.
  public func leaveCandidate() {
    let taken = index.candidate
    rollout.withLock { $0.leave(taken: taken) }
    saveRollout()
  }

  /// Which version a poll follows.
  func versionChoice(holding held: DeviceIndex, isFollowed: Bool) -> VersionChoice {
    VersionChoice(
      state: rollout, app: traits.withLock { $0 }, taken: held.candidate,
      skipped: trials.withLock { $0.skipped(holding: HeldManifest(held)) }, isFollowed: isFollowed)
  }

  /// Saves what is kept of rollouts, if the disk doesn't have it.
  ///
  /// What a failure costs: after a restart, the first poll asks for the other version first, or the device has another bucket.
  /// - Returns: whether the disk has it.
  @discardableResult
  func saveRollout() -> Bool {
    // The lock is held while it is written, so that an older state never replaces a newer one.
    savedRollout.withLock { saved in
      let state = rollout.withLock { $0 }
      if saved == state { return true }
      guard cache.withLock({ $0.isOurs }) else { return false }
      let isSaved = (try? folder.write(state.saved, to: folder.rollout)) != nil
      saved = isSaved ? state : nil
      return isSaved
    }
  }
}
