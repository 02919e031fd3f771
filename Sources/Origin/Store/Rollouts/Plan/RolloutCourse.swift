import Manifests

/// The steps by which a rollout goes on by itself, and what follows the last one.
package struct RolloutRamp: Hashable, Sendable {
  /// The steps.
  package let ramp: Ramp
  /// Whether the rollout is completed after the last step. Otherwise that takes a person.
  package let completes: Bool

  /// Creates a ramp.
  package init(_ ramp: Ramp, completes: Bool) {
    self.ramp = ramp
    self.completes = completes
  }

  /// The steps as the decision knows them: the one that completes is a step to all.
  var decided: Ramp {
    guard completes, let last = ramp.steps.last, last < RolloutRule.all else { return ramp }
    return Ramp(steps: ramp.steps + [RolloutRule.all], each: ramp.each, atLeast: ramp.atLeast) ?? ramp
  }
}

/// What a rollout is to do by itself, besides being paused by an alarm.
package struct RolloutCourse: Hashable, Sendable {
  /// Whether an alarm may halt it; nil: as it was, or no for a new rollout.
  package var haltsItself: Bool?
  /// The steps; nil: as they were, or none. `.some(nil)`: none from now on.
  package var ramp: RolloutRamp??
  /// How much one network counts; nil: as it was, or the standard for a new rollout.
  package var cap: NetworkCap?

  /// Creates a course.
  package init(haltsItself: Bool? = nil, ramp: RolloutRamp?? = nil, cap: NetworkCap? = nil) {
    self.haltsItself = haltsItself
    self.ramp = ramp
    self.cap = cap
  }

  /// Whether it leaves everything as it was.
  package var isEmpty: Bool { haltsItself == nil && ramp == nil && cap == nil }
}

/// What a rollout does by itself, and what that came to.
package struct RolloutPlan: Hashable, Sendable {
  /// Whether an alarm pauses it. Once a person has resumed it after one, it doesn't.
  package internal(set) var pausesItself = true
  /// Whether an alarm may halt it.
  package internal(set) var haltsItself = false
  /// When an alarm paused it last, in milliseconds since 1970; nil if none did.
  package internal(set) var alarmedAt: Int64?
  /// The highest e-value so far, as its natural logarithm.
  package internal(set) var highest = 0.0
  /// The first hour that counts, since 1970.
  package internal(set) var firstHour: Int64 = 0
  /// The steps; nil if a person takes each.
  package internal(set) var ramp: RolloutRamp?
  /// How much one network counts.
  package internal(set) var cap = NetworkCap.standard
  /// When the step began, in milliseconds since 1970; nil: with the rollout.
  var steppedAt: Int64?
  /// How many of the candidate's devices had counted until then, from the first hour on.
  var steppedCandidate = 0.0
  /// How many of control's had.
  var steppedControl = 0.0

  /// Whether an alarm has paused it, in spite of which no person has resumed it.
  package var isAlarmed: Bool { alarmedAt != nil && pausesItself }

  /// Whether nothing was changed since that a decision rests on.
  func agrees(with other: RolloutPlan) -> Bool {
    (pausesItself, haltsItself, firstHour) == (other.pausesItself, other.haltsItself, other.firstHour)
      && ramp == other.ramp && cap == other.cap
  }

  /// The plan without beginnings in the future, which a clock that was ahead has left: what can't have begun begins now. Nil if it has none.
  package func corrected(for rollout: Rollout, now: Int64) -> RolloutPlan? {
    var plan = self
    if (steppedAt ?? rollout.startedAt) > now { plan.steppedAt = now }
    plan.firstHour = min(firstHour, now / 3_600_000 + 1)
    return plan == self ? nil : plan
  }

  /// The plan with what a request changes.
  func with(_ course: RolloutCourse?) -> RolloutPlan {
    var plan = self
    if let halts = course?.haltsItself { plan.haltsItself = halts }
    if let ramp = course?.ramp { plan.ramp = ramp }
    if let cap = course?.cap { plan.cap = cap }
    return plan
  }
}
