/// What is to be done about an open rollout.
package enum RampDecision: Hashable, Sendable {
  /// Nothing, and what that waits for: never an empty list.
  case wait(for: [RampWait])
  /// The rollout goes to this share of the devices.
  case advance(to: Int)
  /// The candidate becomes the version of all devices.
  case complete
  /// The candidate fails too often: nobody new is let in.
  case pause
  /// The candidate fails too often: it is taken back from those that have it.
  case halt

  /// The e-value at which a rollout is paused.
  package static let pauses = 100.0
  /// The e-value at which it is halted, where that is wanted.
  package static let halts = 10_000.0
  /// The networks in which the candidate must have failed for that.
  package static let haltNetworks = 5

  /// Decides.
  ///
  /// - Parameters:
  ///   - ramp: the steps; nil where a person takes each.
  ///   - haltsItself: whether the rollout may be halted without a person.
  ///   - now: in milliseconds since 1970.
  package static func of(_ state: RampState, ramp: Ramp?, haltsItself: Bool, now: Int64) -> RampDecision {
    if haltsItself, state.evidence.reaches(halts), state.failingNetworks >= haltNetworks { return .halt }
    if state.isPaused { return .wait(for: [.resuming]) }
    if state.evidence.reaches(pauses) { return .pause }
    guard let ramp else { return .wait(for: [.person]) }
    guard let next = ramp.steps.first(where: { $0 > state.share }) else { return .wait(for: [.completing]) }
    let waits = waits(state, ramp, now)
    if !waits.isEmpty { return .wait(for: waits) }
    return next == RolloutRule.all ? .complete : .advance(to: next)
  }

  private static func waits(_ state: RampState, _ ramp: Ramp, _ now: Int64) -> [RampWait] {
    // A rollout to groups alone has no arms: nothing is known of it, so its first step waits for time alone.
    var waits: [RampWait] = []
    if state.share > 0 {
      let control = ramp.eachOfControl(share: state.share)
      if state.openedCandidate < Double(ramp.each) {
        waits.append(.openings(.candidate, state.openedCandidate, of: ramp.each))
      }
      if state.openedControl < Double(control) {
        waits.append(.openings(.control, state.openedControl, of: control))
      }
    }
    let (end, isBeyond) = state.since.addingReportingOverflow(ramp.atLeast)
    if isBeyond || now < end { waits.append(.time(isBeyond ? .max : end)) }
    return waits
  }
}

/// What a rollout waits for.
package enum RampWait: Hashable, Sendable {
  /// A person takes each step: there is no ramp.
  case person
  /// The rollout is paused.
  case resuming
  /// The ramp's last step is reached, and isn't all devices.
  case completing
  /// So many devices of an arm have opened a page in this step, of those that have to.
  case openings(RolloutArm, Double, of: Int64)
  /// A time, in milliseconds since 1970.
  case time(Int64)
}
