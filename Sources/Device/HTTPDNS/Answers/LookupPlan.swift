/// Decides how to look up a host without a fresh answer: which source to ask first, when to ask the other one as well, and
/// when to give up.
struct LookupPlan {
  enum Source: Hashable, Sendable, CaseIterable {
    case system, service
  }

  enum Step: Equatable {
    case ask(Source)
    /// Wait until an outcome is known or this time comes.
    case wait(until: Int64)
    case take(LookupAnswer, Source)
    /// Use an expired answer.
    case takeStale(LookupAnswer)
    /// Leave it to the system to connect as it would without us.
    case leave
  }

  /// The outcomes of the sources asked; nil while there is none.
  typealias Outcomes = [Source: Result<LookupAnswer, LookupError>]

  private let sequence: [Source]
  private let isRace: Bool
  private let stale: LookupAnswer?
  private let headStart: Int64
  private let deadline: Int64
  private var asked: [Source: Int64] = [:]
  /// Whether the service was asked and didn't answer within its head start.
  private(set) var isServiceLate = false

  /// `hasService` says whether the service is worth asking; `headStart` is how many milliseconds the first source has
  /// before the second one is asked, too.
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

  /// Returns what to do now.
  mutating func next(_ outcomes: Outcomes, at now: Int64) -> Step {
    for source in sequence {
      if case .success(let answer)? = outcomes[source] { return .take(answer, source) }
    }
    if let start = asked[.service], outcomes[.service] == nil, now >= start + headStart {
      isServiceLate = true
    }
    // Without a service worth asking, a stale answer from the last hour is as good as any.
    let isServiceOver = !sequence.contains(.service) || outcomes[.service] != nil || isServiceLate
    if isServiceOver, let stale { return .takeStale(stale) }
    var wake = deadline
    for (index, source) in sequence.enumerated() where asked[source] == nil {
      let moment = index == 0 || isRace ? now : due(after: sequence[index - 1], outcomes)
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
