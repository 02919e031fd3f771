import System

/// Who uses the network next: what a page asks for at once, everything else when its turn comes, and neither begins nor goes on
/// while a page loads.
///
/// Everything else is a job, an update or what follows one, of which there is one at a time. The gate ends it when nobody
/// wants it any more.
final class DownloadGate: Sendable {
  /// Files fetched at a time from a server to which requests go over one connection: each waits for the round trip, and
  /// no connection for another.
  static let widest = 32
  /// Answers in a row that didn't come, after which a job takes the line for dead.
  static let deadLine = 2

  fileprivate struct State {
    /// Fetches that pages wait for, by the sha256 of what they bring.
    var pages: [SHA256: PageFetch] = [:]
    var running = 0
    var width: Int
    var loading: [UInt64: Load] = [:]
    var conditions = Conditions()
    var job: StopSignal?
    var isClosed = false
    var timeouts = 0
    /// Until when pages aren't kept waiting for what isn't here, in nanoseconds of the clock that goes on while the system sleeps.
    var pagesWaitAgain: UInt64 = 0
  }

  /// A page that loads. Times are the monotonic clock's, in nanoseconds.
  fileprivate struct Load {
    let end: UInt64
    var quietEnd: UInt64

    var until: UInt64 { min(end, quietEnd) }
  }

  private let state: Monitor<State>
  /// As many as may ever be at work.
  let threads: Int
  /// Nanoseconds for which a page that asks for nothing still counts as loading.
  private let quiet: UInt64
  /// Nanoseconds for which a page counts as loading at most: one that never comes up must not starve updates.
  private let longestLoad: UInt64

  /// - Parameters:
  ///   - width: files that updates and completions fetch at a time.
  ///   - quiet: how long a page that asks for nothing still counts as loading.
  ///   - longestLoad: how long one that goes on asking does.
  init(width: Int, quiet: Duration = .seconds(1), longestLoad: Duration = .seconds(10)) {
    self.quiet = quiet.nanoseconds
    self.longestLoad = longestLoad.nanoseconds
    state = Monitor(State(width: width))
    threads = max(width, Self.widest)
  }

  /// From now on more are fetched at a time: a server takes many over one connection.
  func widen() {
    if state.withLock({ $0.width < Self.widest }) {
      state.broadcasting { $0.width = max($0.width, Self.widest) }
    }
  }

  /// What the app knows of network and battery.
  var conditions: Conditions { state.withLock { $0.conditions } }

  /// Changes them in one step.
  /// - Returns: what they were, and what they are.
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
  /// Runs `body` at once, which fetches for a page; whoever isn't at work yet waits for its end. Where the same bytes are being
  /// fetched for another page already this waits for that, and has its outcome.
  ///
  /// - Throws: what `body` does, and `.stopped` as soon as `signal` is set while another one's is waited for.
  func page(
    _ sha256: SHA256, until signal: StopSignal, _ body: () throws(ClientError) -> Void
  ) throws(ClientError) {
    while true {
      let own = PageFetch()
      let other = state.withLock { state -> PageFetch? in
        if let other = state.pages[sha256] { return other }
        state.pages[sha256] = own
        return nil
      }
      guard let other else {
        let outcome = Result { () throws(ClientError) in try body() }
        state.broadcasting { state in
          own.outcome = outcome
          state.pages[sha256] = nil
        }
        return try outcome.get()
      }
      let outcome: Result<Void, ClientError>? = state.waiting { state in
        if state.isClosed || signal.isSet { return .some(nil) }
        return other.outcome.map { .some($0) }
      }
      // Nobody else wanted it any more; this one still does.
      if case .failure(let error)? = outcome, error.isStop { continue }
      guard let outcome else {
        throw .noAnswer(url: "", TransportError(.stopped, "cancelled"))
      }
      return try outcome.get()
    }
  }

  /// A page begins to load.
  func pageOpens(_ page: UInt64) {
    let now = Clock.monotonicNanoseconds()
    let load = Load(end: now + longestLoad, quietEnd: now + quiet)
    state.withLock { $0.loading[page] = load }
  }

  /// A page that loads asked for something.
  func pageAsks(_ page: UInt64) {
    let quietEnd = Clock.monotonicNanoseconds() + quiet
    state.withLock { $0.loading[page]?.quietEnd = quietEnd }
  }

  /// Pages that have neither come up nor failed nor been left, as far as anybody waits for them.
  var loadingPages: Int { state.withLock { $0.loading.count } }

  /// A page came up, failed or was left.
  func pageIsLoaded(_ page: UInt64) {
    if state.withLock({ $0.loading[page] != nil }) { state.broadcasting { $0.loading[page] = nil } }
  }
}

// MARK: - The job

extension DownloadGate {
  /// Begins a job, which ends where `signal` says.
  /// - Throws: `closed`.
  func begin(_ signal: StopSignal, _ folder: String) throws(ClientError) {
    let isClosed = state.withLock { state in
      state.job = signal
      state.timeouts = 0
      return state.isClosed
    }
    if isClosed { throw .closed(folder: folder) }
  }

  /// Ends a job, or what a page waits for, at its next piece; another one isn't touched.
  func stop(_ signal: StopSignal) {
    signal.set()
    state.broadcasting { _ in }
  }

  /// Ends the job and what pages wait for, and lets none begin any more.
  func close() { state.broadcasting { $0.isClosed = true } }

  /// Whether the device was closed.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Whether nobody wants any more what ends with `signal`.
  func isOver(_ signal: StopSignal) -> Bool { signal.isSet || isClosed }

  /// Whether nobody wants the job any more.
  var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Runs `body` when its turn comes, or when it is to find out that the job has ended.
  func background<Value>(_ body: () throws(ClientError) -> Value) throws(ClientError) -> Value {
    wait { state in
      guard state.isStopped || state.pages.isEmpty && state.running < state.width else { return false }
      state.running += 1
      return true
    }
    defer { state.broadcasting { $0.running -= 1 } }
    return try body()
  }

  /// Waits while a page loads.
  /// - Returns: whether the job goes on.
  func piece() -> Bool {
    wait { state in
      state.timeouts = 0
      return true
    }
    return !isStopped
  }

  /// Waits for so long, or until the job has ended, or what a page waits for, where `signal` is that one's.
  func pause(_ milliseconds: UInt32, until signal: StopSignal? = nil) {
    _ = state.waiting(for: .milliseconds(milliseconds)) { state in
      let isOver = signal.map { state.isClosed || $0.isSet } ?? state.isStopped
      return isOver ? () : nil
    }
  }

  /// Waits until no page loads and `isReady` says so, or the job has ended and `isReady` says so.
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
  /// Whether too many answers in a row didn't come.
  var isLineDead: Bool { state.withLock { $0.timeouts >= Self.deadLine } }

  /// Seconds for which a page waits for the next piece of a file that isn't here.
  static let pageTimeout = 5

  /// Whether a page waited in vain within the last half minute.
  var isPageLineDead: Bool {
    let now = Clock.continuousNanoseconds()
    return state.withLock { now < $0.pagesWaitAgain }
  }

  /// Takes note that nothing came for a page.
  func notePageTimeout() {
    let end = Clock.continuousNanoseconds() + 30_000_000_000
    state.withLock { $0.pagesWaitAgain = end }
  }

  /// Takes note that an answer didn't come; the next piece of any ends the count.
  func countTimeout() { state.withLock { $0.timeouts += 1 } }
}

extension DownloadGate.State {
  fileprivate var isStopped: Bool { isClosed || job?.isSet == true }

  fileprivate mutating func isLoading(at now: UInt64) -> Bool {
    if loading.isEmpty { return false }
    // A page that was quiet may go on asking, and counts again then.
    loading = loading.filter { $0.value.end > now }
    return loading.values.contains { $0.until > now }
  }

  /// How long somebody who waits sleeps before the next look at the clock.
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

/// A fetch that pages wait for; touched under the gate's lock alone.
private final class PageFetch {
  var outcome: Result<Void, ClientError>?
}

/// Says of a job, or of what a page waits for, that nobody wants it any more.
package final class StopSignal: Sendable {
  private let flag = Locked(false)

  package init() {}

  package var isSet: Bool { flag.withLock { $0 } }

  func set() { flag.withLock { $0 = true } }
}
