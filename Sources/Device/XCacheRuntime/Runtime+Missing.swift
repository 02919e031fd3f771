import System
import Values
import XCacheDevice

extension Runtime {
  /// How long a small file may keep a thread of its lane from the others.
  private static let patience = Duration.seconds(2)

  /// Answers a request for a listed file that is missing or damaged: after fetching it, or from the network.
  func supply(
    _ file: ListedFile, _ head: LocalHead, _ device: Device, for request: PageRequest
  ) async -> PageAnswer {
    lacks(file, true, for: request)
    switch MissingFile(size: file.size, isPart: head.status == 206, device.conditions, settings.device) {
    case .wait:
      guard let outcome = await fetch(file, device) else { return .network(.cancelled) }
      lacks(file, outcome.lacksNetwork, for: request)
      // A policy may have come meanwhile.
      if let url = try? ResourceURL(request.url), let reason = passReason(request, url, device) {
        return .network(reason)
      }
      return answer(outcome, head)
    case .pass(let fills):
      if fills { fill(file, device) }
      let isOffline = device.conditions.isOffline
      lacks(file, isOffline, for: request)
      return .network(isOffline ? .unavailable : .tooLarge)
    }
  }

  /// Notes whether a page lacks a listed file because of the network, or still waits for it.
  private func lacks(_ file: ListedFile, _ isLacking: Bool, for request: PageRequest) {
    guard let id = request.page?.id else { return }
    state.withLock { state in
      if isLacking {
        state.pages[id]?.lacking.insert(file.url)
      } else {
        state.pages[id]?.lacking.remove(file.url)
      }
    }
  }

  /// Has a file fetched with the backlog, unless that was tried before: what doesn't fit would be fetched, and evicted,
  /// over and over.
  private func fill(_ file: ListedFile, _ device: Device) {
    guard state.withLock({ $0.filled.insert(file.sha256).inserted }) else { return }
    updateThread.add { [weak self] in
      device.addToBacklog(file)
      self?.startBacklog()
    }
  }

  /// Fetches a listed file once for everyone who asks meanwhile; nil if the calling task is cancelled.
  private func fetch(_ file: ListedFile, _ device: Device) async -> FileFetch.Outcome? {
    let key = FileFetch.Key(url: file.url, sha256: file.sha256)
    let (run, waiter, isNew) = state.withLock { state -> (FileFetch.Run, Int?, Bool) in
      if let run = state.fetches[key], let waiter = run.join() { return (run, waiter, false) }
      let run = FileFetch.Run()
      state.fetches[key] = run
      return (run, run.join(), true)
    }
    guard let waiter else { return nil }
    if isNew {
      // On separate threads: a server that hangs must not hold up requests for files that are here, nor large files small
      // ones.
      let isSmall = file.size <= MissingFile.small
      let threads = isSmall ? smallFetchThreads : fetchThreads
      threads.add(lending: isSmall ? Self.patience : nil) {
        let outcome =
          run.signal.isSet
          ? .success(nil) : self.load(file, device, fetches: true, until: run.signal)
        self.state.withLock { if $0.fetches[key] === run { $0.fetches[key] = nil } }
        if case .failure(let error) = outcome, !run.signal.isSet { self.hub.send(.failed(error)) }
        run.finish(outcome)
      }
    }
    return await run.value(for: waiter) { device.stop(run.signal) }
  }
}

extension FileFetch.Outcome {
  /// Whether it is the network, or a server that is overloaded, that has kept the file from coming: another time it may come.
  fileprivate var lacksNetwork: Bool {
    guard case .failure(let error) = self else { return false }
    return switch error {
    case .noAnswer: true
    case .status(_, let code, _): code == 408 || code == 429 || code >= 500
    default: false
    }
  }
}
