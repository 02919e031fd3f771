import Manifests
import System
import Values

/// Where an open rollout stands: what devices have reported, and what follows from that.
package struct RolloutStanding: Sendable {
  /// The rollout.
  package let rollout: Rollout
  /// What it does by itself.
  package let plan: RolloutPlan
  /// All that devices have reported.
  package let evidence: RolloutEvidence
  /// What they have reported since a person resumed it after an alarm; all, if nobody did.
  package let recent: RolloutEvidence
  /// The freeze that holds; nil if none does.
  package private(set) var freeze: ChannelFreeze?

  /// The same with the freeze that holds now.
  package func with(freeze: ChannelFreeze?) -> RolloutStanding {
    var standing = self
    standing.freeze = freeze
    return standing
  }

  /// What counts in the decision: openings, failures and time of one and the same evidence. Otherwise openings would let a rollout go on
  /// whose failures aren't seen.
  private var state: RampState {
    RampState(
      share: rollout.audience.share, isPaused: rollout.isPaused,
      since: max(plan.steppedAt ?? rollout.startedAt, plan.firstHour * 3_600_000),
      openedCandidate: max(0, recent.sums(.candidate).opened - plan.steppedCandidate),
      openedControl: max(0, recent.sums(.control).opened - plan.steppedControl),
      evidence: EValue(recent.hours), failingNetworks: recent.failingNetworks)
  }

  /// Returns what is to be done.
  /// - Parameter now: in milliseconds since 1970.
  package func decision(now: Int64) -> RampDecision {
    let state = state
    let decision = RampDecision.of(
      state, ramp: plan.ramp?.decided, haltsItself: plan.haltsItself, now: now)
    if rollout.audience.share == 0, rollout.audience.groups.isEmpty, decision.letsIn {
      return .wait(for: [.person])
    }
    switch decision {
    // A person has resumed it in spite of an alarm, and takes what follows.
    case .pause where !plan.pausesItself: return .wait(for: [.person])
    case .complete where plan.ramp?.ramp.steps.last == RolloutRule.all: return .advance(to: RolloutRule.all)
    case .wait(for: [.completing]) where state.share == RolloutRule.all && plan.ramp?.completes == true:
      return completion(state, now)
    default: return decision
    }
  }

  /// All devices are let in, so there is no control to compare them with.
  private func completion(_ state: RampState, _ now: Int64) -> RampDecision {
    guard let ramp = plan.ramp?.ramp else { return .wait(for: [.person]) }
    var waits: [RampWait] = []
    if state.openedCandidate < Double(ramp.each) {
      waits.append(.openings(.candidate, state.openedCandidate, of: ramp.each))
    }
    let (end, isBeyond) = state.since.addingReportingOverflow(ramp.atLeast)
    if isBeyond || now < end { waits.append(.time(isBeyond ? .max : end)) }
    return waits.isEmpty ? .complete : .wait(for: waits)
  }

  /// The numbers of an alarm, for the audit trail and those who are told.
  package var alarm: JSONValue {
    func arm(_ arm: RolloutArm) -> JSONValue {
      let sums = recent.sums(arm)
      return ["failed": .integer(Self.whole(sums.failed)), "opened": .integer(Self.whole(sums.opened))]
    }
    return [
      "candidate": arm(.candidate), "control": arm(.control),
      "e": .integer(Self.number(EValue(recent.hours).log)), "networks": .integer(recent.failingNetworks),
    ]
  }

  /// The alarm in words.
  package var alarmText: String { Self.text(ofAlarm: alarm) }

  /// Returns an alarm's numbers in words: `40 of 800 devices with it failed, of the others 2 of 810 (e = 133)`.
  static func text(ofAlarm alarm: JSONValue) -> String {
    func part(_ arm: String) -> String {
      "\(alarm[arm]?["failed"]?.integer ?? 0) of \(alarm[arm]?["opened"]?.integer ?? 0)"
    }
    return "\(part("candidate")) devices with it failed, of the others \(part("control")) "
      + "(e = \(alarm["e"]?.integer ?? 0))"
  }

  private static func whole(_ count: Double) -> Int64 {
    Int64(min(count, Double(largest)).rounded())
  }

  /// The largest whole number that JSON's readers take (RFC 8259, section 6).
  private static let largest: Int64 = 1 << 53 - 1

  /// Returns an e-value as a whole number, at most 2^53 - 1.
  /// - Parameter log: its natural logarithm.
  package static func number(_ log: Double) -> Int64 {
    log < 36 ? Int64(RealMath.exp(log)) : largest
  }
}

extension RampDecision {
  /// Whether it lets more devices in, now or in time. Where a person has let in none, a ramp would do that by the clock alone.
  fileprivate var letsIn: Bool {
    switch self {
    case .advance, .complete: true
    case .wait(let waits): waits.contains { if case .time = $0 { true } else { false } }
    case .pause, .halt: false
    }
  }
}
