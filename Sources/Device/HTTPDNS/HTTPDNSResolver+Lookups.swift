import System

extension HTTPDNSResolver {
  /// The most threads that wait for one source on the current network, and on all networks together, since the system may
  /// let them hang for minutes.
  private static let maxRunning = 16
  private static let maxRunningOnAllNetworks = 64
  /// How often the service's addresses are refreshed, in milliseconds.
  private static let refreshInterval: Int64 = 8 * 3_600_000

  /// Milliseconds after which a waiting thread checks whether to go on.
  private static let checkInterval: Int64 = 200

  /// Carries out a lookup plan.
  func lookUp(_ host: HostName, from start: Int64, _ isCancelled: () -> Bool) -> Resolution? {
    let (skipsService, stale, network) = state.withLock { state -> (Bool, LookupAnswer?, Int) in
      let stale = state.cache.stale(host, at: start)
      return (
        state.service.isDown(at: start) || state.cache.isAbsent(host, at: start),
        stale.flatMap { usable($0, host, start, state) }, state.network
      )
    }
    var plan = LookupPlan(
      settings.order, hasService: sources[.service] != nil && !skipsService, stale: stale,
      headStart: Int64(settings.headStart), timeout: Int64(settings.timeout), at: start)
    let waiter = Waiter([:])
    var known: LookupPlan.Outcomes = [:]
    while true {
      if isCancelled() { return nil }
      let moment = now()
      // After a change of networks it starts over.
      if state.withLock({ $0.network }) != network {
        return isOff ? nil : lookUp(host, from: moment, isCancelled)
      }
      switch plan.next(known, at: moment) {
      case .ask(let source): ask(Question(host: host, source: source, network: network), waiter)
      case .wait(let until):
        let count = known.count
        let time = min(until - moment, Self.checkInterval)
        _ = waiter.waiting(for: .milliseconds(time)) { $0.count > count ? () : nil }
        known = filtered(waiter.withLock { $0 }, host)
      case .take(let answer, let source):
        if source == .system { noteLate(plan, Question(host: host, source: .service, network: network)) }
        return resolution(answer.addresses, source == .system ? .system : .service, network)
      case .takeStale(let answer):
        noteLate(plan, Question(host: host, source: .service, network: network))
        return resolution(answer.addresses, .stale, network)
      case .leave:
        noteLate(plan, Question(host: host, source: .service, network: network))
        return nil
      }
    }
  }

  /// Counts a late service as failed; a query counts once, however many wait for it and whatever its outcome.
  private func noteLate(_ plan: LookupPlan, _ question: Question) {
    guard plan.isServiceLate else { return }
    let now = now()
    state.withLock { state in
      guard state.network == question.network, state.running[question] != nil,
        state.late.insert(question).inserted
      else { return }
      state.service.failed(at: now)
    }
  }

  /// Turns an answer whose addresses all failed recently into a failure.
  private func filtered(_ outcomes: LookupPlan.Outcomes, _ host: HostName) -> LookupPlan.Outcomes {
    let now = now()
    return outcomes.mapValues { outcome in
      outcome.flatMap { answer in
        state.withLock { usable(answer, host, now, $0) }.map { .success($0) } ?? .failure(.noAddress)
      }
    }
  }

  private func usable(_ answer: LookupAnswer, _ host: HostName, _ now: Int64, _ state: State) -> LookupAnswer?
  {
    LookupAnswer(state.health.ordered(answer.addresses, of: host, at: now), seconds: answer.seconds)
  }

  /// Asks a source on a separate thread, unless the same question is already being asked.
  private func ask(_ question: Question, _ waiter: Waiter) {
    let isBusy = state.withLock { state -> Bool? in
      if state.running[question] != nil {
        state.running[question]?.append(waiter)
        return nil
      }
      let running = state.running.keys.filter { $0.source == question.source }
      guard running.count(where: { $0.network == question.network }) < Self.maxRunning,
        running.count < Self.maxRunningOnAllNetworks
      else { return true }
      state.running[question] = [waiter]
      return false
    }
    guard let isBusy else { return }
    if isBusy { return waiter.broadcasting { $0[question.source] = .failure(.busy) } }
    let run: @Sendable () -> Void = { self.answer(question) }
    guard (try? OSThread(name: "name lookup", run)) == nil else { return }
    finish(question, .failure(.busy))
  }

  private func answer(_ question: Question) {
    let outcome = Result { () throws(LookupError) -> LookupAnswer in
      guard let source = sources[question.source] else { throw .noAddress }
      return try source.lookUp(question.host)
    }
    finish(question, outcome)
    if case .success = outcome { save() }
  }

  private func finish(_ question: Question, _ outcome: Result<LookupAnswer, LookupError>) {
    let now = now()
    let waiters = state.withLock { state -> [Waiter] in
      // A late answer from another network says nothing about this one.
      if question.network == state.network { note(outcome, of: question, at: now, in: &state) }
      state.late.remove(question)
      return state.running.removeValue(forKey: question) ?? []
    }
    for waiter in waiters { waiter.broadcasting { $0[question.source] = outcome } }
  }

  private func note(
    _ outcome: Result<LookupAnswer, LookupError>, of question: Question, at now: Int64, in state: inout State
  ) {
    switch (question.source, outcome) {
    case (.service, .success(let answer)):
      state.service.answered()
      state.cache.keep(answer, of: question.host, at: now)
    // That a host doesn't exist is an answer.
    case (.service, .failure(.noAddress)):
      state.service.answered()
      state.cache.keepAbsent(question.host, at: now)
    case (.service, .failure(.busy)), (.system, .failure): break
    case (.service, .failure):
      if !state.late.contains(question) { state.service.failed(at: now) }
    case (.system, .success(let answer)):
      // The system has its own cache. If it goes first, or there is no other source, one lookup is enough for a while.
      guard settings.order == .systemFirst || sources[.service] == nil else { return }
      state.cache.keep(answer, of: question.host, at: now)
    }
  }

  // MARK: - Ahead of time

  /// Looks up hosts in advance, for example those of live pages at launch: at most 64, on a separate thread.
  public func prepare(_ hosts: some Sequence<String>) {
    let start = now()
    let names = Array(Set(hosts.compactMap { HostName($0) }).prefix(64)).sorted { $0.text < $1.text }
    let source: LookupPlan.Source =
      settings.order != .systemFirst && sources[.service] != nil ? .service : .system
    if isOff { return }
    let (missing, network) = state.withLock { state -> ([HostName], Int) in
      let missing = names.filter {
        state.cache.fresh($0, at: start) == nil && !state.cache.isAbsent($0, at: start)
      }
      return (missing, state.network)
    }
    // Even if all hosts are still known, the service's own addresses may not be.
    guard !missing.isEmpty else { return refreshService() }
    _ = try? OSThread(name: "name lookups") {
      OSThread.lowerPriority(to: .awaited)
      self.refreshService(waits: true)
      self.prepare(missing, from: source, on: network)
    }
  }

  private func prepare(_ hosts: [HostName], from source: LookupPlan.Source, on network: Int) {
    guard let names = sources[source] else { return }
    for start in stride(from: 0, to: hosts.count, by: names.batch) {
      let batch = Array(hosts[start..<min(start + names.batch, hosts.count)])
      let outcome = Result { () throws(LookupError) in try names.lookUp(batch) }
      let now = now()
      let isOver = state.withLock { state -> Bool in
        guard state.network == network else { return true }
        for host in batch {
          let own = outcome.flatMap { answers -> Result<LookupAnswer, LookupError> in
            answers[host].map { .success($0) } ?? .failure(.noAddress)
          }
          note(own, of: Question(host: host, source: source, network: network), at: now, in: &state)
        }
        return false
      }
      if isOver { return }
      // If the service is down, it isn't asked for the rest.
      if case .failure = outcome { return }
    }
    save()
  }

  /// Refreshes the service's addresses: with the first query, after a change of networks, and every 8 hours.
  func refreshService(waits: Bool = false) {
    guard let service = sources[.service] else { return }
    let now = now()
    let due = state.withLock { state -> Int? in
      if let last = state.refreshed, now - last < Self.refreshInterval { return nil }
      state.refreshed = now
      return state.network
    }
    guard let network = due else { return }
    let run: @Sendable () -> Void = {
      service.refresh { self.state.withLock { $0.network == network } }
    }
    if waits { return run() }
    _ = try? OSThread(name: "name service", run)
  }
}
