import System

/// A fetch that pages wait for; accessed only under the gate's lock.
final class PageFetch {
  var outcome: Result<Void, DeviceError>?
}

extension DownloadGate {
  /// Runs `body`, which fetches a file for a page, at once; the job's fetches don't start until it ends. If the same bytes are
  /// already being fetched for another page, waits for that fetch and shares its outcome.
  ///
  /// - Throws: what `body` throws, and `.stopped` if `signal` is set while this waits for another page's fetch.
  func fetchForPage(
    _ sha256: SHA256, until signal: StopSignal, _ body: () throws(DeviceError) -> Void
  ) throws(DeviceError) {
    while true {
      let own = PageFetch()
      let other = state.withLock { state -> PageFetch? in
        if let other = state.pageFetches[sha256] { return other }
        state.pageFetches[sha256] = own
        return nil
      }
      guard let other else {
        let outcome = Result { () throws(DeviceError) in try body() }
        state.broadcasting { state in
          own.outcome = outcome
          state.pageFetches[sha256] = nil
        }
        return try outcome.get()
      }
      let outcome: Result<Void, DeviceError>? = state.waiting { state in
        if state.isClosed || signal.isSet { return .some(nil) }
        return other.outcome.map { .some($0) }
      }
      // The other page's fetch was stopped; this page still needs the file.
      if case .failure(let error)? = outcome, error.isStop { continue }
      guard let outcome else {
        throw .noAnswer(url: "", TransportError(.stopped, "cancelled"))
      }
      return try outcome.get()
    }
  }

  /// Whether a page's fetch of these bytes is running.
  func isFetching(_ sha256: SHA256) -> Bool { state.withLock { $0.pageFetches[sha256] != nil } }

  /// Records that a page begins to load.
  func pageOpened(_ page: UInt64) {
    let now = Clock.monotonicNanoseconds()
    state.withLock { $0.pageLoads.add(page, at: now) }
  }

  /// Records that a loading page requested something.
  func pageRequested(_ page: UInt64) {
    let now = Clock.monotonicNanoseconds()
    state.withLock { $0.pageLoads.recordRequest(of: page, at: now) }
  }

  /// Records that a page has loaded, failed or been left.
  func pageLoaded(_ page: UInt64) {
    if state.withLock({ $0.pageLoads.contains(page) }) { state.broadcasting { $0.pageLoads.remove(page) } }
  }

  /// The number of pages that count as loading; expired ones are dropped only when a job checks.
  var loadingPages: Int { state.withLock { $0.pageLoads.count } }
}
