import System

/// Decides when a device uses the network: a page's requests run at once, and a job's wait for their turn, and while a page fetches or
/// loads.
///
/// A job is an update, say; there is one at a time, and the gate also stops it. A thread of a job waits for all of this together, so it
/// is one state under one lock, and whoever changes it wakes the threads that wait. The parts of the state that have rules of their own
/// are values without a lock: `PageLoads` and `RequestTimeouts`. `DownloadGate+Pages` has what pages call.
final class DownloadGate: Sendable {
  /// The number of files fetched concurrently from a server over one connection: more requests hide the round trip, and need no
  /// further connections.
  static let maxWidth = 32

  struct State {
    /// Stops the job; nil before the first one.
    var job: StopSignal?
    var isClosed = false
    var conditions = Conditions()
    /// How many of the job's files may be fetched concurrently, and how many are.
    var width: Int
    var running = 0
    var pageFetches: [SHA256: PageFetch] = [:]
    var pageLoads: PageLoads
    var timeouts = RequestTimeouts()

    var isJobStopped: Bool { isClosed || job?.isSet == true }
  }

  let state: Monitor<State>
  /// The maximum number of concurrent fetches.
  let threads: Int

  /// - Parameters:
  ///   - width: the number of files that jobs fetch concurrently.
  ///   - quiet: how long a page without new requests still counts as loading.
  ///   - longestLoad: the maximum time for which a page counts as loading.
  init(width: Int, quiet: Duration = .seconds(1), longestLoad: Duration = .seconds(10)) {
    state = Monitor(State(width: width, pageLoads: PageLoads(quiet: quiet, longest: longestLoad)))
    threads = max(width, Self.maxWidth)
  }
}

// MARK: - The job

extension DownloadGate {
  /// Begins a job, which `signal` stops.
  /// - Throws: `closed`.
  func beginJob(_ signal: StopSignal, _ folder: String) throws(DeviceError) {
    let isClosed = state.withLock { state in
      state.job = signal
      state.timeouts.reset()
      return state.isClosed
    }
    if isClosed { throw .closed(folder: folder) }
  }

  /// Stops the job or the page's fetch with this signal, at its next chunk.
  func stop(_ signal: StopSignal) {
    signal.set()
    state.broadcasting { _ in }
  }

  /// Stops the job and all pages' fetches, and lets no new ones begin.
  func close() { state.broadcasting { $0.isClosed = true } }

  /// Whether the device has been closed.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Whether a fetch with this signal has been stopped.
  func isStopped(_ signal: StopSignal) -> Bool { signal.isSet || isClosed }

  /// Whether the job has been stopped.
  var isJobStopped: Bool { state.withLock { $0.isJobStopped } }
}

// MARK: - Turns of the job's requests

extension DownloadGate {
  /// Runs `body`, which fetches one of the job's files, when its turn comes, or once the job is stopped, so that it can find out.
  func runInTurn<Value>(_ body: () throws(DeviceError) -> Value) throws(DeviceError) -> Value {
    wait { state in
      guard state.isJobStopped || state.pageFetches.isEmpty && state.running < state.width else {
        return false
      }
      state.running += 1
      return true
    }
    defer { state.broadcasting { $0.running -= 1 } }
    return try body()
  }

  /// Waits while a page loads; called when a chunk has arrived.
  /// - Returns: whether the job is to continue.
  func waitForPages() -> Bool {
    wait { state in
      state.timeouts.reset()
      return true
    }
    return !isJobStopped
  }

  /// Waits for the given time, or until the job is stopped, or, if a page's `signal` is given, until that is set.
  func pause(_ milliseconds: UInt32, until signal: StopSignal? = nil) {
    _ = state.waiting(for: .milliseconds(milliseconds)) { state in
      let isOver = signal.map { state.isClosed || $0.isSet } ?? state.isJobStopped
      return isOver ? () : nil
    }
  }

  /// Waits until `isReady` returns true while no page loads or the job is stopped.
  private func wait(_ isReady: (inout State) -> Bool) {
    while true {
      let timeout = state.withLock { $0.pageLoads.nextCheck(after: Clock.monotonicNanoseconds()) }
      let isOver: Void? = state.waiting(for: timeout) { state in
        let mayContinue = state.isJobStopped || !state.pageLoads.isAny(at: Clock.monotonicNanoseconds())
        return mayContinue && isReady(&state) ? () : nil
      }
      if isOver != nil { return }
    }
  }

  /// Raises the number of concurrent fetches, for a server that takes many requests over one connection.
  func widen() {
    if state.withLock({ $0.width < Self.maxWidth }) {
      state.broadcasting { $0.width = max($0.width, Self.maxWidth) }
    }
  }
}

// MARK: - What is known of the network

extension DownloadGate {
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

  /// Whether too many requests of the job in a row have timed out.
  var isNetworkDown: Bool { state.withLock { $0.timeouts.isNetworkDown } }

  /// Counts a timeout of the job's; the next chunk of any response resets the count.
  func countTimeout() { state.withLock { $0.timeouts.add() } }

  /// Has the job ask on, although requests have timed out: those were one server's.
  func forgetTimeouts() { state.withLock { $0.timeouts.reset() } }

  /// Whether a page's request has timed out within the last half minute.
  var hasPageTimedOut: Bool {
    let now = Clock.continuousNanoseconds()
    return state.withLock { $0.timeouts.hasPageTimedOut(at: now) }
  }

  /// Records that a page's request timed out.
  func recordPageTimeout() {
    let now = Clock.continuousNanoseconds()
    state.withLock { $0.timeouts.recordPage(at: now) }
  }
}
