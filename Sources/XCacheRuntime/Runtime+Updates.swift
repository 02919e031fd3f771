import System
import XCacheClient

extension Runtime {
  /// Looks for an update and takes it, where one is due: at most one poll in 30 seconds, or as often as the channel says.
  ///
  /// One update runs at a time; a trigger that comes meanwhile waits for it. It stands back behind a page that is opening.
  /// - Returns: what became of it; nil where it failed, which `events` tells of, or where there is no network.
  @discardableResult
  public func handle(_ trigger: Trigger) async -> UpdateReport? {
    guard device != nil, !conditions.isOffline else { return nil }
    if case .pageOpened(let page) = trigger { await firstAnswer(of: page, atMost: .seconds(1)) }
    let task = state.withLock { state in
      if let running = state.update { return running }
      let task = Task { [weak self] in await self?.update(force: false) }
      state.update = task
      return task
    }
    return await task.value
  }

  /// - Parameter force: polls although none is due.
  @discardableResult
  func update(force: Bool) async -> UpdateReport? {
    guard let device else { return nil }
    let hub = hub
    let policy = device.runtimePolicy.version
    let result = await updateThread.run { () -> Result<UpdateReport, ClientError> in
      Result { () throws(ClientError) in
        try device.update(
          force: force, progress: { hub.tell(.progress($0)) }, found: { hub.tell(.updateFound(version: $0)) })
      }
    }
    let version = device.version
    state.withLock { state in
      state.update = nil
      state.health.holds(version)
    }
    let now = device.runtimePolicy.version
    if now != policy { policyChanged(to: now) }
    switch result {
    case .success(let report):
      if report.from != report.to { hub.tell(.switched(from: report.from, to: report.to)) }
      return report
    case .failure(let error):
      hub.tell(.failed(error))
      return nil
    }
  }

  /// Another policy is another chance for what was off after crashes.
  private func policyChanged(to version: String) {
    hub.tell(.policyChanged(version: version))
    state.withLock { $0.isInterceptionOff = false }
  }

  private func firstAnswer(of page: OpenPage, atMost duration: Duration) async {
    let timer = Task { [weak self] in
      try? await Task.sleep(for: duration)
      self?.state.withLock { $0.pages[page.id]?.release() }
    }
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state -> Bool in
        guard let open = state.pages[page.id], !open.hasAnswer else { return true }
        state.pages[page.id]?.waiting.append(continuation)
        return false
      }
      if isOver { continuation.resume() }
    }
    timer.cancel()
  }
}
