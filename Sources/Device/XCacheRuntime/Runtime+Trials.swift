import System
import XCacheDevice

/// Versions that haven't proved themselves: docs/protocol.md §11, "A device heals itself".
extension Runtime {
  /// Says that the version held works: it has proved itself, and the version before isn't kept any more. The runtime finds that out by
  /// itself when a page has come up and ten seconds have passed; call this if the app knows sooner, or better.
  public func confirm() async {
    guard let device, isOpen else { return }
    await notes.run {
      let version = device.version
      device.recordSuccess(of: version)
      device.prove(version)
    }
  }

  /// Says that the version held doesn't work: the device goes back to the version before at once, and skips this one. `reason` is for
  /// the app's own log, and comes with the event.
  /// - Returns: false if there is no way back: the version has proved itself, the version before had to be given up, or its first page
  ///   failed, too, when the device went back before.
  @discardableResult
  public func reject(_ reason: String = "") async -> Bool {
    await goBack(.rejected, url: "", reason: reason)
  }

  /// Has it written, before a page's document is answered from a version on trial, that the page starts.
  func beginStart(of request: PageRequest, _ answer: PageAnswer, from version: String?) async {
    guard case .local = answer, request.destination == .document, let page = request.page, let version,
      let device, device.needsMark(version), !device.isStarting(page.id), device.conditions.isForeground,
      isUndecided(page), let url = state.withLock({ $0.pages[page.id]?.key })
    else { return }
    await pageThreads.run { device.beginStart(of: page.id, url, from: version) }
    // It may have been closed meanwhile, or the app may be in the background.
    if !isUndecided(page) || !device.conditions.isForeground { endStart(of: page) }
  }

  /// Whether what becomes of a page isn't known yet, and matters.
  private func isUndecided(_ page: OpenPage) -> Bool {
    state.withLock { state in
      state.pages[page.id].map { !$0.isDecided && page.id >= state.firstSinceReturn } ?? false
    }
  }

  /// Records that a page can't crash any more in its start.
  func endStart(of page: OpenPage) {
    guard let device, device.isStarting(page.id) else { return }
    writeNote { device.endStart(of: page.id) }
  }

  /// Records that a page which was answered from `source` came up: if the process lives for a while after, that version has proved
  /// itself.
  func recordSuccess(of page: OpenPage, from source: String) {
    guard let device else { return }
    guard awaitsVerdict(of: page, from: source, device) else {
      if device.recordProof(of: source) { writeNote { device.saveProof() } }
      return
    }
    let delay = settings.proofDelay
    writeNote {
      device.recordSuccess(of: source)
      if delay <= 0 { device.prove(source) }
    }
    guard delay > 0 else { return }
    Task { [weak self] in
      await ProcessTime.sleep(milliseconds: delay)
      self?.writeNote { device.prove(source) }
    }
  }

  /// Records that a page which was answered from `source` came up after its deadline: a busy device is slow with every version, so that
  /// isn't why it goes back.
  func recordLateSuccess(of page: OpenPage, from source: String) {
    guard let device, awaitsVerdict(of: page, from: source, device) else { return }
    writeNote { device.takeBackFailure(of: source) }
    recordSuccess(of: page, from: source)
  }

  /// Records that a page which was answered from `source` failed, and has the device go back if that is to be done.
  /// - Parameter url: the page's key.
  func recordFailure(of page: OpenPage, _ url: String, from source: String) {
    guard let device, awaitsVerdict(of: page, from: source, device) else { return }
    writeNote { [weak self] in
      device.endStart(of: page.id)
      guard device.recordFailure(of: source), let self, self.state.withLock({ $0.stuckVersion != source })
      else { return }
      let task = Task { await self.goBack(.page, url: url, reason: "") }
      self.state.withLock { $0.returning = task }
    }
  }

  /// A page that was opened before the device went back says nothing of what it is on since.
  private func awaitsVerdict(of page: OpenPage, from source: String, _ device: Device) -> Bool {
    device.awaitsVerdict(of: source) && page.id >= state.withLock { $0.firstSinceReturn }
  }

  private func goBack(_ cause: ReturnCause, url: String, reason: String) async -> Bool {
    guard let device, isOpen else { return false }
    let version = device.version
    // What an update has fetched stays, and the next one goes on with it.
    for signal in state.withLock({ [$0.update?.signal, $0.backlog] }) {
      if let signal { device.stop(signal) }
    }
    let outcome = await updateThread.run { () -> Result<VersionReturn?, DeviceError> in
      Result { () throws(DeviceError) in try device.goBack(cause, url: url, from: version) }
    }
    switch outcome {
    case .success(let done?):
      state.withLock { state in
        state.health.setVersion(done.to)
        state.firstSinceReturn = state.nextPage
      }
      hub.send(.switched(from: done.from, to: done.to))
      hub.send(.returned(from: done.from, to: done.to, cause: cause, reason: reason))
      return true
    case .success(nil):
      // No update is stopped for that again.
      if device.version == version { state.withLock { $0.stuckVersion = version } }
      return false
    case .failure(let error):
      hub.send(.failed(error))
      return false
    }
  }
}
