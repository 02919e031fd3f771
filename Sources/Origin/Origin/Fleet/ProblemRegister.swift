import Store

/// Since when problems are there, and who said that they know.
///
/// What only comes and goes for minutes, such as a share around its threshold, is one problem: it is over once it wasn't seen for ten.
struct ProblemRegister: Sendable {
  /// What is to be kept for after a restart, and wasn't yet.
  struct Changes: Sendable {
    let problems: [ProblemRecord]
    let over: [ProblemName]
    var isEmpty: Bool { problems.isEmpty && over.isEmpty }
  }

  /// The problems that are there, or were some minutes ago.
  private(set) var records: [ProblemName: ProblemRecord]
  /// Since when those that aren't there any more aren't, in milliseconds since 1970.
  private var missing: [ProblemName: Int64] = [:]
  private var changed: Set<ProblemName> = []
  private var over: Set<ProblemName> = []

  /// Milliseconds.
  static let grace: Int64 = 600_000

  /// Creates a register of what was kept.
  init(_ kept: [ProblemRecord] = []) {
    records = Dictionary(kept.map { ($0.name, $0) }) { first, _ in first }
  }

  /// Takes over what somebody said of problems, as it is kept. What is kept of one that was over, and of which it wasn't kept that it
  /// came again, isn't said of the new one.
  mutating func acknowledge(_ kept: [ProblemRecord]) {
    for record in kept where records[record.name]?.since == record.since {
      records[record.name]?.acknowledgement = record.acknowledgement
    }
  }

  /// Notes the problems of a moment, in milliseconds since 1970.
  mutating func update(_ found: [FoundProblem], now: Int64) {
    var seen: Set<ProblemName> = []
    for problem in found where seen.insert(problem.name).inserted {
      missing[problem.name] = nil
      guard let known = records[problem.name] else {
        // A clock that was set back must not date what is there to the future.
        records[problem.name] = ProblemRecord(
          name: problem.name, severity: problem.severity, since: min(problem.began ?? now, now))
        changed.insert(problem.name)
        over.remove(problem.name)
        continue
      }
      // Nor one that was ahead, and is set back now.
      if known.since > now {
        records[problem.name]?.since = min(problem.began ?? now, now)
        changed.insert(problem.name)
      }
      guard known.severity != problem.severity else { continue }
      if problem.severity > known.severity { records[problem.name]?.acknowledgement = nil }
      records[problem.name]?.severity = problem.severity
      changed.insert(problem.name)
    }
    for name in records.keys where !seen.contains(name) {
      guard let since = missing[name], since <= now else {
        missing[name] = now
        continue
      }
      guard now - since >= Self.grace else { continue }
      (records[name], missing[name]) = (nil, nil)
      changed.remove(name)
      over.insert(name)
    }
  }

  /// What is to be kept, and wasn't yet.
  var changes: Changes {
    Changes(problems: changed.compactMap { records[$0] }, over: Array(over))
  }

  /// Notes that all changes are kept.
  mutating func noteKept() { (changed, over) = ([], []) }
}
