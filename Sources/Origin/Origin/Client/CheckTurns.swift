/// Whose step is next: one turn for each check that somebody waits for, then for the others.
struct CheckTurns<Check> {
  /// The one whose turn is the longest ago comes first.
  private var checks: [Check] = []

  mutating func add(_ check: Check) { checks.append(check) }

  mutating func drop(where isOver: (Check) -> Bool) { checks.removeAll(where: isOver) }

  /// The check whose next step is due, which is the last to be asked for another; nil if none has a step.
  mutating func next(isAwaited: (Check) -> Bool, hasWork: (Check) -> Bool) -> Check? {
    guard let index = checks.firstIndex(where: isAwaited) ?? checks.firstIndex(where: hasWork) else {
      return nil
    }
    let check = checks.remove(at: index)
    checks.append(check)
    return check
  }
}
