import Manifests
import System
import Values

/// What a device keeps of rollouts: `docs/protocol.md`, section 13.
package struct RolloutState: Equatable, Sendable {
  /// Made at the first start; no request contains it.
  let id: InstallID
  /// The last rule; nil if the origin's last answer had none.
  package private(set) var rule: RolloutRule?
  /// Whether the device was in by that rule.
  package private(set) var isIn = false
  /// The share of the last rule of this rollout that let anybody in, by which the arms are told apart: a pause, whose share is 0, changes
  /// nothing about who has the candidate, and what devices with it report is what a halt waits for.
  private(set) var lastShare: Int?
  /// The seed of the candidate that the app left.
  private(set) var leftSeed: String?
  /// What rollouts came to on this device.
  package var evidence = CountedRollouts()

  /// Creates the state of a device at its first start.
  package init(id: InstallID = .random()) {
    self.id = id
  }

  /// Creates the state of a device after a poll, which is kept otherwise than on its disk.
  /// - Parameters:
  ///   - id: its install id.
  ///   - rule: the rule of its last answer, if it had one.
  ///   - isIn: whether the device was in by that rule.
  ///   - lastShare: the share of the last answer's rule that let anybody in, if that was of the same rollout.
  ///   - evidence: what it counted.
  package init(id: InstallID, rule: RolloutRule?, isIn: Bool, lastShare: Int?, evidence: CountedRollouts) {
    (self.id, self.rule, self.isIn, self.evidence) = (id, rule, isIn, evidence)
    self.lastShare = lastShare
  }

  /// Decides by the rule of an answer whether the device follows the candidate, and keeps both.
  /// - Parameters:
  ///   - rule: the rule of the answer.
  ///   - app: what the app says of itself.
  ///   - taken: the seed under which the device took the candidate that it holds; nil if it holds a full version.
  ///   - skipped: a version that the device went back from: if that is the candidate, it follows the full version.
  package mutating func decide(
    _ rule: RolloutRule, for app: AppTraits, taken: String?, skipping skipped: ManifestVersion? = nil
  ) -> Bool {
    if leftSeed != rule.seed { leftSeed = nil }
    if rule.share > 0 { lastShare = rule.share } else if self.rule?.seed != rule.seed { lastShare = nil }
    self.rule = rule
    isIn =
      switch app.membership {
      case .byRule: rule.includes(installation(for: app, taken: taken))
      case .always: true
      case .never: false
      }
    if rule.version == skipped { isIn = false }
    return isIn
  }

  private func installation(for app: AppTraits, taken: String?) -> Installation {
    Installation(
      id: id, appVersion: app.parsedVersion, groups: app.groups, takenSeed: taken, leftSeed: leftSeed)
  }

  /// The part of the fleet in which the device counts in the open rollout, by the last rule; nil if it doesn't.
  func arm(for app: AppTraits, taken: String?) -> RolloutArm? {
    guard app.membership == .byRule else { return nil }
    return rule.flatMap { $0.arm(of: installation(for: app, taken: taken), share: lastShare) }
  }

  /// The version of the prefetch config that goes along with the candidate that the device holds; nil: it follows the channel's.
  /// - Parameter taken: the seed under which the device took the candidate that it holds.
  func prefetch(holding taken: String?) -> Int64? { rule?.seed == taken ? rule?.prefetch : nil }

  /// Notes that no rollout is open.
  package mutating func end() {
    (rule, lastShare) = (nil, nil)
    isIn = false
  }

  /// Leaves the candidate until a rule with another seed.
  mutating func leave(taken: String?) {
    leftSeed = rule?.seed ?? taken ?? leftSeed
    isIn = false
  }

  /// Whether a device goes from the candidate that it holds to a copy's full version, though that is lower.
  /// - Parameters:
  ///   - rule: the rule of the copy, if it has one.
  ///   - isIn: whether the device is in by that rule.
  ///   - app: what the app says of itself.
  ///   - taken: the seed under which the device took the candidate that it holds.
  func goesBack(
    by rule: RolloutRule?, isIn: Bool, for app: AppTraits, taken: String?
  ) -> Bool {
    // A copy may be from before the rollout was completed: who holds the version as everyone does stays.
    guard let asked = rule ?? self.rule, taken == asked.seed else { return false }
    return rule != nil ? !isIn : !asked.includesApp(app.parsedVersion)
  }
}

/// Whether a device takes part in rollouts.
package enum RolloutMembership: Equatable, Sendable {
  /// As the rule decides by the device's install id, app version and groups.
  case byRule
  /// In every rollout: to try a candidate.
  case always
  /// In none: to see what all other devices have.
  case never
}

/// What an app says of itself and its user, for rollouts.
package struct AppTraits: Equatable, Sendable {
  var version: String?
  var groups: Set<String> = []
  var membership = RolloutMembership.byRule

  /// Creates what an app says that lets the rule decide.
  package init(version: String? = nil, groups: Set<String> = []) {
    (self.version, self.groups) = (version, groups)
  }

  var parsedVersion: AppVersion? { version.flatMap { AppVersion($0) } }
}

extension RolloutState {
  /// The contents of `rollout.json`.
  package var saved: [UInt8] {
    var document = JSONObject()
    if evidence != CountedRollouts() { document["evidence"] = evidence.json }
    document["id"] = .string(Hex.encode(id.bytes.span.bytes))
    document["in"] = .bool(isIn)
    document["left"] = leftSeed.map { .string($0) }
    document["rule"] = rule?.json
    if rule?.share == 0 { document["share"] = lastShare.map { .integer($0) } }
    return JSONValue.object(document).canonical
  }

  /// Reads what was saved; nil if that isn't a device's, which then counts as new.
  init?(saved bytes: [UInt8]) {
    guard let document = try? JSONValue.parse(bytes),
      let id = document["id"]?.string.flatMap({ Hex.decode($0, count: InstallID.byteCount) }).flatMap({
        InstallID(bytes: $0)
      })
    else { return nil }
    self.init(id: id)
    rule = document["rule"].flatMap { try? RolloutRule(reading: $0) }
    isIn = rule != nil && document["in"]?.bool == true
    lastShare = rule.flatMap { rule in
      guard rule.share == 0 else { return rule.share }
      return document["share"]?.integer.flatMap { Int(exactly: $0) }.flatMap {
        (1...RolloutRule.all).contains($0) ? $0 : nil
      }
    }
    leftSeed = document["left"]?.string
    evidence = document["evidence"].map { CountedRollouts(json: $0) } ?? CountedRollouts()
  }
}
