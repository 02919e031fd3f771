import System

/// Schedules the network: a page's requests run at once; everything else waits its turn, and pauses while a page loads.
///
/// Everything else belongs to a job, such as an update, of which there is one at a time. The gate also cancels jobs.
final class DownloadGate: Sendable {
  /// The number of files fetched concurrently from a server over one connection: more requests hide the round trip, and need no
  /// further connections.
  static let widest = 32
  /// The number of timeouts in a row after which a job considers the network down.
  static let deadLine = 2

  fileprivate struct State {
    /// The fetches that pages wait for, by the sha256 of the file.
    var pages: [SHA256: PageFetch] = [:]
    var running = 0
    var width: Int
    var loading: [UInt64: Load] = [:]
    var conditions = Conditions()
    var job: StopSignal?
    var isClosed = false
    var timeouts = 0
    /// The time until which pages don't wait for missing files, in nanoseconds of the clock that keeps running during sleep.
    var pagesWaitAgain: UInt64 = 0
  }

  /// A loading page. Times are from the monotonic clock, in nanoseconds.
  fileprivate struct Load {
    let end: UInt64
    var quietEnd: UInt64

    var until: UInt64 { min(end, quietEnd) }
  }

  private let state: Monitor<State>
  /// The maximum number of concurrent fetches.
  let threads: Int
  /// The nanoseconds for which a page without new requests still counts as loading.
  private let quiet: UInt64
  /// The maximum nanoseconds for which a page counts as loading: one that never finishes must not starve updates.
  private let longestLoad: UInt64

  /// - Parameters:
  ///   - width: the number of files that jobs fetch concurrently.
  ///   - quiet: how long a page without new requests still counts as loading.
  ///   - longestLoad: the maximum time for which a page counts as loading.
  init(width: Int, quiet: Duration = .seconds(1), longestLoad: Duration = .seconds(10)) {
    self.quiet = quiet.nanoseconds
    self.longestLoad = longestLoad.nanoseconds
    state = Monitor(State(width: width))
    threads = max(width, Self.widest)
  }

  /// Raises the number of concurrent fetches, for a server that takes many requests over one connection.
  func widen() {
    if state.withLock({ $0.width < Self.widest }) {
      state.broadcasting { $0.width = max($0.width, Self.widest) }
    }
  }

  /// The network and power conditions.
  var conditions: Conditions { state.withLock { $0.conditions } }

  /// Changes the conditions atomically.
  /// - Returns: the conditions before and after the change.
  func changeConditions(_ change: (inout Conditions) -> Void) -> (old: Conditions, new: Conditions) {
    state.broadcasting { state in
      let old = state.conditions
      change(&state.conditions)
      return (old, state.conditions)
    }
  }
}

// MARK: - Pages

extension DownloadGate {
  /// Runs `body`, which fetches a file for a page, at once; background fetches don't start until it ends. If the same bytes are
  /// already being fetched for another page, waits for that fetch and shares its outcome.
  ///
  /// - Throws: what `body` throws, and `.stopped` if `signal` is set while this waits for another page's fetch.
  func page(
    _ sha256: SHA256, until signal: StopSignal, _ body: () throws(DeviceError) -> Void
  ) throws(DeviceError) {
    while true {
      let own = PageFetch()
      let other = state.withLock { state -> PageFetch? in
        if let other = state.pages[sha256] { return other }
        state.pages[sha256] = own
        return nil
      }
      guard let other else {
        let outcome = Result { () throws(DeviceError) in try body() }
        state.broadcasting { state in
          own.outcome = outcome
          state.pages[sha256] = nil
        }
        return try outcome.get()
      }
      let outcome: Result<Void, DeviceError>? = state.waiting { state in
        if state.isClosed || signal.isSet { return .some(nil) }
        return other.outcome.map { .some($0) }
      }
      // The other page's fetch was cancelled; this page still needs the file.
      if case .failure(let error)? = outcome, error.isStop { continue }
      guard let outcome else {
        throw .noAnswer(url: "", TransportError(.stopped, "cancelled"))
      }
      return try outcome.get()
    }
  }

  /// Notes that a page begins to load.
  func pageOpens(_ page: UInt64) {
    let now = Clock.monotonicNanoseconds()
    let load = Load(end: now + longestLoad, quietEnd: now + quiet)
    state.withLock { $0.loading[page] = load }
  }

  /// Notes that a loading page requested something.
  func pageAsks(_ page: UInt64) {
    let quietEnd = Clock.monotonicNanoseconds() + quiet
    state.withLock { $0.loading[page]?.quietEnd = quietEnd }
  }

  /// The number of pages that count as loading; expired ones are dropped only when a job checks.
  var loadingPages: Int { state.withLock { $0.loading.count } }

  /// Notes that a page has loaded, failed or been left.
  func pageIsLoaded(_ page: UInt64) {
    if state.withLock({ $0.loading[page] != nil }) { state.broadcasting { $0.loading[page] = nil } }
  }
}

// MARK: - The job

extension DownloadGate {
  /// Begins a job, which `signal` cancels.
  /// - Throws: `closed`.
  func begin(_ signal: StopSignal, _ folder: String) throws(DeviceError) {
    let isClosed = state.withLock { state in
      state.job = signal
      state.timeouts = 0
      return state.isClosed
    }
    if isClosed { throw .closed(folder: folder) }
  }

  /// Cancels the job or the page's fetch with this signal, at its next chunk.
  func stop(_ signal: StopSignal) {
    signal.set()
    state.broadcasting { _ in }
  }

  /// Cancels the job and all pages' fetches, and lets no new ones begin.
  func close() { state.broadcasting { $0.isClosed = true } }

  /// Whether the device has been closed.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Whether a fetch with this signal has been cancelled.
  func isOver(_ signal: StopSignal) -> Bool { signal.isSet || isClosed }

  /// Whether the job has been cancelled.
  var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Runs `body` when its turn comes, or once the job is cancelled, so that it can find out.
  func background<Value>(_ body: () throws(DeviceError) -> Value) throws(DeviceError) -> Value {
    wait { state in
      guard state.isStopped || state.pages.isEmpty && state.running < state.width else { return false }
      state.running += 1
      return true
    }
    defer { state.broadcasting { $0.running -= 1 } }
    return try body()
  }

  /// Waits while a page loads.
  /// - Returns: whether the job is to continue.
  func piece() -> Bool {
    wait { state in
      state.timeouts = 0
      return true
    }
    return !isStopped
  }

  /// Waits for the given time, or until the job is cancelled, or, if a page's `signal` is given, until that is set.
  func pause(_ milliseconds: UInt32, until signal: StopSignal? = nil) {
    _ = state.waiting(for: .milliseconds(milliseconds)) { state in
      let isOver = signal.map { state.isClosed || $0.isSet } ?? state.isStopped
      return isOver ? () : nil
    }
  }

  /// Waits until `isReady` returns true while no page loads or the job is cancelled.
  private func wait(_ isReady: (inout State) -> Bool) {
    while true {
      let timeout = state.withLock { $0.loadEnd(after: Clock.monotonicNanoseconds()) }
      let isOver: Void? = state.waiting(for: timeout) { state in
        let mayGo = state.isStopped || !state.isLoading(at: Clock.monotonicNanoseconds())
        return mayGo && isReady(&state) ? () : nil
      }
      if isOver != nil { return }
    }
  }
}

extension DownloadGate {
  /// Whether too many requests in a row have timed out.
  var isLineDead: Bool { state.withLock { $0.timeouts >= Self.deadLine } }

  /// The seconds for which a page waits for the next chunk of a missing file.
  static let pageTimeout = 5

  /// Whether a page's request has timed out within the last half minute.
  var isPageLineDead: Bool {
    let now = Clock.continuousNanoseconds()
    return state.withLock { now < $0.pagesWaitAgain }
  }

  /// Records that a page's request timed out.
  func notePageTimeout() {
    let end = Clock.continuousNanoseconds() + 30_000_000_000
    state.withLock { $0.pagesWaitAgain = end }
  }

  /// Counts a timeout; the next chunk of any response resets the count.
  func countTimeout() { state.withLock { $0.timeouts += 1 } }
}

extension DownloadGate.State {
  fileprivate var isStopped: Bool { isClosed || job?.isSet == true }

  fileprivate mutating func isLoading(at now: UInt64) -> Bool {
    if loading.isEmpty { return false }
    // A page that was quiet counts again when it makes another request.
    loading = loading.filter { $0.value.end > now }
    return loading.values.contains { $0.until > now }
  }

  /// Returns how long a waiting thread sleeps before it checks the clock again.
  fileprivate func loadEnd(after now: UInt64) -> Duration {
    let ends = loading.values.map(\.until).filter { $0 > now }
    return ends.min().map { .nanoseconds(Int64(clamping: $0 - now)) + .milliseconds(1) } ?? .seconds(1)
  }
}

extension Duration {
  fileprivate var nanoseconds: UInt64 {
    UInt64(components.seconds) * 1_000_000_000 + UInt64(components.attoseconds / 1_000_000_000)
  }
}

/// A fetch that pages wait for; accessed only under the gate's lock.
private final class PageFetch {
  var outcome: Result<Void, DeviceError>?
}

/// A cancellation flag for a job or a page's fetch.
package final class StopSignal: Sendable {
  private let flag = Locked(false)

  package init() {}

  package var isSet: Bool { flag.withLock { $0 } }

  func set() { flag.withLock { $0 = true } }
}
