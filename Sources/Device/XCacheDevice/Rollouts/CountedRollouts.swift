import Manifests
import Values

/// What rollouts came to on a device, of each once: that it opened a page, and that it failed (docs/protocol.md §11, "Evidence of a
/// rollout").
///
/// It does no I/O, and reads no clock; times are milliseconds since 1970, never negative.
package struct CountedRollouts: Equatable, Sendable {
  /// What is known of a rollout, from the device's first page on.
  package struct Count: Equatable, Sendable {
    /// A candidate that was made again keeps it.
    package let seed: String
    /// Where the device counts, whatever becomes of the share.
    package let arm: RolloutArm
    /// When the first page was opened.
    package let opened: Int64
    /// Whether it failed within a day of that.
    package var isFailed = false
    /// Whether the first page was reported.
    package var isOpeningTold = false
    /// Whether the failure was.
    package var isFailureTold = false

    /// Creates what is known with the first page.
    package init(seed: String, arm: RolloutArm, opened: Int64) {
      (self.seed, self.arm, self.opened) = (seed, arm, opened)
    }
  }

  /// The rollouts that the device counts in, the last one at the end.
  package private(set) var counts: [Count] = []

  /// A copy may name an earlier rollout for a while, which mustn't be counted again.
  private static let maxCounts = 4
  private static let hour: Int64 = 3_600_000
  /// The time for which failures count.
  private static let day = 24 * hour
  /// The most hours that a report may be late.
  private static let oldest: Int64 = 24

  /// Creates what is kept otherwise than on a device's disk; by default of a device that counts in no rollout yet.
  package init(_ counts: [Count] = []) { self.counts = counts }

  /// Whether the device has opened a page.
  func hasOpened(_ seed: String) -> Bool { counts.contains { $0.seed == seed } }

  /// Records the first page.
  mutating func open(_ seed: String, _ arm: RolloutArm, at time: Int64) {
    guard !hasOpened(seed) else { return }
    counts.append(Count(seed: seed, arm: arm, opened: time))
    if counts.count > Self.maxCounts { counts.removeFirst() }
  }

  /// Records a failure.
  /// - Parameters:
  ///   - seed: the rollout's.
  ///   - arm: the one whose version failed.
  ///   - time: when the page that failed was opened. One from before the first page says nothing, also if the clock was set back.
  mutating func fail(_ seed: String, _ arm: RolloutArm, at time: Int64) {
    guard let place = counts.firstIndex(where: { $0.seed == seed }), counts[place].arm == arm,
      time >= counts[place].opened, time - counts[place].opened < Self.day
    else { return }
    counts[place].isFailed = true
  }

  /// Returns what is to be reported of the open rollout, and records that it is reported; nil if that is nothing, or too old.
  mutating func take(_ rule: RolloutRule, at now: Int64) -> EvidenceMessage? {
    guard let place = counts.firstIndex(where: { $0.seed == rule.seed }) else { return nil }
    let count = counts[place]
    let age = max(0, (now - count.opened) / Self.hour)
    let isFailureNew = count.isFailed && !count.isFailureTold
    guard !count.isOpeningTold || isFailureNew, age <= Self.oldest else { return nil }
    counts[place].isOpeningTold = true
    counts[place].isFailureTold = count.isFailed
    return EvidenceMessage(
      version: rule.version, arm: count.arm, opened: count.isOpeningTold ? 0 : 1,
      failed: isFailureNew ? 1 : 0,
      age: age)
  }
}

/// A device's report of what a rollout came to.
package struct EvidenceMessage: Hashable, Sendable {
  /// The candidate.
  package let version: ManifestVersion
  /// The part of the fleet that the device counts in.
  package let arm: RolloutArm
  /// 1 if it tells of the first page.
  package let opened: Int
  /// 1 if it tells of a failure.
  package let failed: Int
  /// The whole hours since the first page.
  package let age: Int64

  /// The body of the request.
  package var body: [UInt8] {
    var members = JSONObject()
    if age > 0 || opened == 0 { members["age"] = .integer(age) }
    members["arm"] = .string(arm.rawValue)
    members["failed"] = .integer(failed)
    members["opened"] = .integer(opened)
    members["version"] = .string(version.text)
    let document: JSONValue = ["evidence": .object(members)]
    return document.canonical
  }
}

// MARK: - On the disk

extension CountedRollouts {
  /// The member of `rollout.json`.
  var json: JSONValue {
    .array(
      counts.map { count in
        [
          "arm": .string(count.arm.rawValue), "failed": .bool(count.isFailed),
          "opened": .integer(count.opened),
          "seed": .string(count.seed),
          "told": .array([.bool(count.isOpeningTold), .bool(count.isFailureTold)]),
        ]
      })
  }

  /// Reads what was saved. What isn't as this version writes it counts as nothing.
  init(json: JSONValue) {
    for value in (json.array ?? []).prefix(Self.maxCounts) {
      guard let seed = value["seed"]?.string, RolloutRule.isSeed(seed), !hasOpened(seed),
        let arm = value["arm"]?.string.flatMap(RolloutArm.init(rawValue:)),
        let opened = value["opened"]?.integer, opened >= 0, let isFailed = value["failed"]?.bool,
        let told = value["told"]?.array?.compactMap(\.bool), told.count == 2
      else { continue }
      var count = Count(seed: seed, arm: arm, opened: opened)
      (count.isFailed, count.isOpeningTold, count.isFailureTold) = (isFailed, told[0], told[1])
      counts.append(count)
    }
  }
}
