import Manifests
import Values

/// What rollouts came to on a device, of each once: that it opened a page, and that it failed (docs/protocol.md §11, "Evidence of a
/// rollout").
///
/// It does no I/O, and reads no clock; times are milliseconds since 1970, never negative.
struct CountedRollouts: Equatable, Sendable {
  /// What is known of a rollout, from the device's first page on.
  struct Count: Equatable, Sendable {
    /// A candidate that was made again keeps it.
    let seed: String
    /// Where the device counts, whatever becomes of the share.
    let arm: RolloutArm
    /// When the first page was opened.
    let opened: Int64
    var isFailed = false
    var isOpeningTold = false
    var isFailureTold = false
  }

  /// The rollouts that the device counts in, the last one at the end.
  private(set) var counts: [Count] = []

  /// A copy may name an earlier rollout for a while, which mustn't be counted again.
  private static let maxCounts = 4
  private static let hour: Int64 = 3_600_000
  /// The time for which failures count.
  private static let day = 24 * hour
  /// The most hours that a report may be late.
  private static let oldest: Int64 = 24

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
struct EvidenceMessage: Hashable, Sendable {
  /// The candidate.
  let version: ManifestVersion
  let arm: RolloutArm
  let opened: Int
  let failed: Int
  /// The whole hours since the first page.
  let age: Int64

  /// The body of the request.
  var body: [UInt8] {
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
      counts.append(
        Count(
          seed: seed, arm: arm, opened: opened, isFailed: isFailed, isOpeningTold: told[0],
          isFailureTold: told[1]))
    }
  }
}
