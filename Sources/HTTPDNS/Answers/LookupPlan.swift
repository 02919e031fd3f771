/// Decides what is done about a host of which no fresh answer is held: whom to ask, when to ask the other one as well, and
/// when to go without.
struct LookupPlan {
  enum Source: Hashable, Sendable, CaseIterable {
    case system, service
  }

  enum Step: Equatable {
    case ask(Source)
    /// Until something is known, or the moment comes.
    case wait(until: Int64)
    case take(LookupAnswer, Source)
    /// The answer that ran out.
    case takeStale(LookupAnswer)
    /// The system connects as it does without us.
    case leave
  }

  /// What became of the sources that were asked; nil: nothing yet.
  typealias Outcomes = [Source: Result<LookupAnswer, LookupError>]

  private let sequence: [Source]
  private let isRace: Bool
  private let stale: LookupAnswer?
  private let headStart: Int64
  private let deadline: Int64
  private var asked: [Source: Int64] = [:]
  /// Whether the service was asked and gave nothing within its head start.
  private(set) var isServiceLate = false

  /// - Parameters:
  ///   - hasService: whether the service is worth asking.
  ///   - headStart: milliseconds that the first source has before the second one is asked, too.
  init(
    _ order: HTTPDNSSettings.Order, hasService: Bool, stale: LookupAnswer?, headStart: Int64, timeout: Int64,
    at now: Int64
  ) {
    switch order {
    case .systemFirst, .race: sequence = hasService ? [.system, .service] : [.system]
    case .serviceFirst: sequence = hasService ? [.service, .system] : [.system]
    }
    isRace = order == .race
    self.stale = stale
    self.headStart = headStart
    deadline = now + timeout
  }

  /// What is to be done now.
  mutating func next(_ outcomes: Outcomes, at now: Int64) -> Step {
    for source in sequence {
      if case .success(let answer)? = outcomes[source] { return .take(answer, source) }
    }
    if let start = asked[.service], outcomes[.service] == nil, now >= start + headStart {
      isServiceLate = true
    }
    // Without a service worth asking the answer of the last hour is as good as anything.
    let isServiceOver = !sequence.contains(.service) || outcomes[.service] != nil || isServiceLate
    if isServiceOver, let stale { return .takeStale(stale) }
    var wake = deadline
    for (place, source) in sequence.enumerated() where asked[source] == nil {
      let moment = place == 0 || isRace ? now : due(after: sequence[place - 1], outcomes)
      if now >= moment {
        asked[source] = now
        return .ask(source)
      }
      wake = min(wake, moment)
    }
    if sequence.allSatisfy({ outcomes[$0] != nil }) || now >= deadline { return .leave }
    if stale != nil, let start = asked[.service] { wake = min(wake, start + headStart) }
    return .wait(until: wake)
  }

  private func due(after source: Source, _ outcomes: Outcomes) -> Int64 {
    if outcomes[source] != nil { return .min }
    return (asked[source] ?? .max - headStart) + headStart
  }
}
