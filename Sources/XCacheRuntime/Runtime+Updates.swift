import System
import XCacheClient

extension Runtime {
  /// Looks for an update and takes it, where one is due: at most one poll in 30 seconds, or as often as the channel says.
  ///
  /// One update runs at a time; a trigger that comes meanwhile waits for it. It stands back behind a page that loads. Where
  /// the calling task is cancelled this returns at once; an update that nobody waits for any more ends within about a
  /// second, and the next one goes on there.
  /// - Returns: what became of it; nil where it failed, which `events` tells of, where the task was cancelled, and where
  ///   `conditions` don't allow it.
  @discardableResult
  public func handle(_ trigger: Trigger) async -> UpdateReport? {
    guard let device, isOpen else { return nil }
    updateThread.add { device.tidy() }
    guard conditions.allow(trigger) else { return nil }
    if case .pageOpened(let page) = trigger { await firstAnswer(of: page, atMost: .seconds(1)) }
    if Task.isCancelled { return nil }
    let (run, waiter, isNew) = state.withLock { state -> (SharedRun<UpdateReport?>, Int?, Bool) in
      if let run = state.update, let waiter = run.join() { return (run, waiter, false) }
      let run = SharedRun<UpdateReport?>()
      state.update = run
      return (run, run.join(), true)
    }
    guard let waiter else { return nil }
    if isNew { start(run) }
    return await run.value(for: waiter) { device.stop(run.signal) } ?? nil
  }

  private func start(_ run: SharedRun<UpdateReport?>) {
    Task { [weak self] in
      let report = await self?.update(force: false, until: run.signal)
      self?.state.withLock { state in
        if state.update === run { state.update = nil }
      }
      run.finish(report ?? nil)
    }
  }

  /// - Parameter force: polls although none is due.
  @discardableResult
  func update(force: Bool, until signal: StopSignal = StopSignal()) async -> UpdateReport? {
    guard let device else { return nil }
    let hub = hub
    let policy = device.runtimePolicy.version
    // Together, so that none starts between the two and goes first.
    let backlog = state.withLock { state in
      state.updates += 1
      return state.backlog
    }
    if let backlog { device.stop(backlog) }
    let result = await updateThread.run { () -> Result<UpdateReport, ClientError> in
      Result { () throws(ClientError) in
        try device.update(
          force: force, until: signal, progress: { hub.tell(.progress($0)) },
          found: { hub.tell(.updateFound(version: $0)) })
      }
    }
    state.withLock { state in
      state.updates -= 1
      state.health.holds(device.version)
    }
    let now = device.runtimePolicy.version
    if now != policy { policyChanged(to: now) }
    startBacklog()
    sendCounts()
    switch result {
    case .success(let report):
      if report.from != report.to { hub.tell(.switched(from: report.from, to: report.to)) }
      return report
    case .failure(let error):
      // Whoever stopped it knows.
      if !signal.isSet { hub.tell(.failed(error)) }
      return nil
    }
  }

  /// Another policy is another chance for what was off after crashes.
  private func policyChanged(to version: String) {
    hub.tell(.policyChanged(version: version))
    prepareNames()
    fetchScripts()
    state.withLock { $0.isInterceptionOff = false }
    for proxy in proxies.withLock({ $0.compactMap(\.proxy) }) { proxy.endTunnels() }
  }

  /// Fetches what updates have left for better conditions, where they are better by now; behind everything else, so not while an
  /// update runs or is about to: that comes here when it has ended.
  func startBacklog() {
    guard let device else { return }
    let signal = state.withLock { state -> StopSignal? in
      guard state.backlog == nil, state.updates == 0, !state.isClosed,
        device.conditions.allowsLargeUpdates
      else { return nil }
      state.backlog = StopSignal()
      return state.backlog
    }
    guard let signal else { return }
    let hub = hub
    updateThread.add { [weak self] in
      let result = Result { () throws(ClientError) in
        try device.fetchBacklog(until: signal, progress: { hub.tell(.progress($0)) })
      }
      self?.state.withLock { $0.backlog = nil }
      if case .failure(let error) = result, !error.isStop { hub.tell(.failed(error)) }
    }
  }

  private func firstAnswer(of page: OpenPage, atMost duration: Duration) async {
    let waiter = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    let timer = Task { [weak self] in
      try? await Task.sleep(for: duration)
      self?.release(waiter, of: page)
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state -> Bool in
          guard let open = state.pages[page.id], !open.hasAnswer, !Task.isCancelled else { return true }
          state.pages[page.id]?.waiting[waiter] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      release(waiter, of: page)
    }
    timer.cancel()
  }

  /// Ends one update's wait; others have their own time.
  private func release(_ waiter: UInt64, of page: OpenPage) {
    state.withLock { $0.pages[page.id]?.waiting.removeValue(forKey: waiter) }?.resume()
  }
}
