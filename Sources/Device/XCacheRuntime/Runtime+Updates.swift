import System
import XCacheDevice

extension Runtime {
  /// Checks for an update and installs it, if a poll is due: at most one every 30 seconds, or as often as the channel
  /// allows.
  ///
  /// Only one update runs at a time; a trigger that comes meanwhile waits for it, and polls beside it if that is due, so that
  /// the kill switch doesn't wait for a slow download. Updates give way to pages that are
  /// loading. If the calling task is cancelled this returns at once; an update that nobody waits for any more ends within
  /// about a second, and the next one resumes it.
  /// - Returns: the report; nil if the update failed, which `events` reports, if the task was cancelled, or if `conditions`
  ///   don't allow it.
  @discardableResult
  public func handle(_ trigger: Trigger) async -> UpdateReport? {
    guard let device, isOpen else { return nil }
    updateThread.add { device.tidy() }
    guard conditions.allows(trigger) else { return nil }
    if case .pageOpened(let page) = trigger { await firstAnswer(of: page, atMost: .seconds(1)) }
    if Task.isCancelled { return nil }
    let (run, waiter, isNew) = state.withLock { state -> (SharedRun<UpdateReport?>, Int?, Bool) in
      if let run = state.update, let waiter = run.join() { return (run, waiter, false) }
      let run = SharedRun<UpdateReport?>()
      state.update = run
      return (run, run.join(), true)
    }
    guard let waiter else { return nil }
    if isNew { start(run) } else { pollDuringUpdate() }
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

  private func pollDuringUpdate() {
    guard let device, device.isPollDueDuringUpdate else { return }
    let signal = state.withLock { state -> StopSignal? in
      guard state.concurrentPoll == nil, !state.isClosed else { return nil }
      state.concurrentPoll = StopSignal()
      return state.concurrentPoll
    }
    guard let signal else { return }
    let hub = hub
    pollThread.add { [weak self] in
      let result = Result { () throws(DeviceError) in try device.pollDuringUpdate(until: signal) }
      self?.state.withLock { $0.concurrentPoll = nil }
      if case .failure(let error) = result, !error.isStop { hub.send(.failed(error)) }
    }
  }

  /// Polls if a poll is due, or in any case with `force`, and installs an update.
  @discardableResult
  func update(force: Bool, until signal: StopSignal = StopSignal()) async -> UpdateReport? {
    guard let device else { return nil }
    let hub = hub
    // It needn't end what the backlog is fetching.
    if !force, state.withLock({ $0.backlog != nil }), let report = device.reportIfNotDue() { return report }
    // In one step, so that no backlog job starts in between and gets ahead of the update.
    let backlog = state.withLock { state in
      state.updates += 1
      return state.backlog
    }
    if let backlog { device.stop(backlog) }
    let isTold = Locked(false)
    let result = await updateThread.run { () -> Result<UpdateReport, DeviceError> in
      // A higher version ends what there is to tell.
      device.tellReturn()
      return Result { () throws(DeviceError) in
        try device.update(
          force: force, until: signal, progress: { hub.send(.progress($0)) },
          found: { hub.send(.updateFound(version: $0)) },
          switched: { [weak self] from, to in
            isTold.withLock { $0 = true }
            // Pages are of it while its files still come.
            self?.state.withLock { $0.health.setVersion(to) }
            hub.send(.switched(from: from, to: to))
          })
      }
    }
    state.withLock { state in
      state.updates -= 1
      state.health.setVersion(device.version)
    }
    if case .success(let report) = result {
      if report.from != report.to, !isTold.withLock({ $0 }) {
        hub.send(.switched(from: report.from, to: report.to))
      }
      tellCompletion()
    }
    startBacklog()
    device.tellReturn()
    device.tellEvidence()
    sendCounts()
    switch result {
    case .success(let report): return report
    case .failure(let error):
      // Whoever stopped it knows already.
      if !signal.isSet { hub.send(.failed(error)) }
      return nil
    }
  }

  /// Tells that the version held is complete, if it is, and nobody was told.
  private func tellCompletion() {
    guard let device, device.version != state.withLock({ $0.completed }),
      let version = device.completeVersion
    else { return }
    let isNew = state.withLock { state in
      defer { state.completed = version }
      return state.completed != version
    }
    if isNew { hub.send(.completed(version: version)) }
  }

  /// Applies a new policy, and switches interception back on in case it was off after crashes.
  func policyChanged() {
    guard let device else { return }
    hub.send(.policyChanged(version: device.runtimePolicy.version))
    prepareNames()
    fetchScripts()
    state.withLock { $0.offSince = nil }
    for proxy in proxies.withLock({ $0.compactMap(\.proxy) }) { proxy.endTunnels() }
  }

  /// Fetches what updates left for better conditions, if they are better now. It yields to everything else, so it doesn't
  /// start while an update is running or about to; the update calls this when it has ended.
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
      let result = Result { () throws(DeviceError) in
        try device.fetchBacklog(until: signal, progress: { hub.send(.progress($0)) })
      }
      self?.state.withLock { $0.backlog = nil }
      switch result {
      case .success: self?.tellCompletion()
      case .failure(let error): if !error.isStop { hub.send(.failed(error)) }
      }
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

  /// Ends the wait of one update; other updates have their own timers.
  private func release(_ waiter: UInt64, of page: OpenPage) {
    state.withLock { $0.pages[page.id]?.waiting.removeValue(forKey: waiter) }?.resume()
  }
}
