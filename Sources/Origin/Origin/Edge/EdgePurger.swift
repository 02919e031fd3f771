import Manifests
import OriginAPI
import System

/// Has edges drop the answers of each channel whose polls are answered differently from now on: one thread for each edge, so that one that
/// is slow or down doesn't hold up the others. What waits is in memory only, so each start begins with all channels; without a purge, answers
/// get old enough by themselves (`EdgePolicy`).
final class EdgePurger: Sendable {
  private let edges: [EdgeLane]

  /// How long purges may take when the process ends.
  private static let grace: Duration = .seconds(1)

  init(_ targets: [EdgePurgeTarget], log: @escaping @Sendable (String) -> Void) {
    edges = zip(targets, Self.names(of: targets)).map { EdgeLane($0, named: $1, log: log) }
  }

  /// The names of targets; those that would have the same get a number.
  private static func names(of targets: [EdgePurgeTarget]) -> [String] {
    var counts: [String: Int] = [:]
    return targets.map { target in
      let count = counts[target.name, default: 0] + 1
      counts[target.name] = count
      return count == 1 ? target.name : "\(target.name) #\(count)"
    }
  }

  /// Starts sending: what edges have of each channel may be of before a change that the last process hadn't sent when it was killed. From
  /// then on, each change of the catalog leads to the purges that it needs.
  func start(_ catalog: Published<Catalog>) throws(SystemError) {
    for edge in edges { try edge.start() }
    catalog.observe { [weak self] before, after in self?.add(after.edgeChanges(since: before)) }
    add(catalog.current.firstEdgeChanges)
  }

  /// Adds purges; nothing here waits.
  func add(_ changes: [EdgeChange]) {
    if changes.isEmpty { return }
    for edge in edges { edge.add(changes) }
  }

  /// Sends what waits once more, and ends; all of it takes no longer than a second, whatever the edges do.
  func finish() {
    let end = Clock.continuousMilliseconds() + Int64(Self.grace / .milliseconds(1))
    for edge in edges { edge.beginEnding(by: end) }
    for edge in edges { edge.finish(by: end) }
  }

  // MARK: - State

  /// The state of each edge.
  var states: [EdgeState] { edges.map(\.state) }

  /// What each edge knows of one channel.
  func states(of purge: EdgePurge) -> [ChannelEdge] { edges.map { $0.state(of: purge) } }

  /// The state in Prometheus's text exposition format.
  var prometheusText: String {
    let states = edges.map { edge in
      var state = edge.counted
      state.name = Self.label(state.name)
      return state
    }
    func lines(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: Int64)])
      -> String
    {
      "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
        + samples.map { "\(name){\($0.labels)} \($0.value)\n" }.joined()
    }
    return lines(
      "xcache_edge_purge_attempts_total", "counter", "Requests to an edge to drop answers.",
      states.flatMap {
        [
          ("edge=\"\($0.name)\",result=\"done\"", $0.done),
          ("edge=\"\($0.name)\",result=\"failed\"", $0.failed),
        ]
      })
      + lines(
        "xcache_edge_purge_waiting", "gauge", "Channels whose changes an edge hasn't been told yet.",
        states.map { ("edge=\"\($0.name)\"", Int64($0.pending)) })
      + lines(
        "xcache_edge_purge_late_seconds", "gauge",
        "Age of the oldest purge that an edge hasn't taken, if it is more than 5 s; otherwise 0.",
        states.map { ("edge=\"\($0.name)\"", ($0.lateness ?? 0) / 1000) })
  }
}

extension EdgePurger {
  /// A label's value, with what the format needs to have escaped.
  static func label(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}

/// The purges of one edge.
private final class EdgeLane: Sendable {
  private struct State {
    var queue: EdgePurgeQueue
    /// Whether there may be something to do before the wait is over.
    var isChanged = false
    /// When purges are to be over because the process ends.
    var end: Int64?
    /// Why the last attempt failed; nil if it didn't.
    var fault: String?
    /// Whether the log tells of a failure that isn't over.
    var isReported = false
    var done: Int64 = 0
    var failed: Int64 = 0
  }

  private let name: String
  private let log: @Sendable (String) -> Void
  private let shared: Monitor<State>
  private let target: EdgePurgeTarget
  private let thread = BackgroundThread()

  private static let longestWait: Int64 = 3_600_000

  private static var now: Int64 { Clock.continuousMilliseconds() }

  init(_ target: EdgePurgeTarget, named name: String, log: @escaping @Sendable (String) -> Void) {
    (self.target, self.name, self.log) = (target, name, log)
    shared = Monitor(State(queue: EdgePurgeQueue(batch: target.batch)))
  }

  /// With the priority of answers: a kill switch is waited for.
  func start() throws(SystemError) { try thread.start("edge-purges", nil) { [self] in run() } }

  func add(_ changes: [EdgeChange]) {
    shared.signalling { state in
      state.queue.add(changes, at: Self.now)
      state.isChanged = true
    }
  }

  func beginEnding(by end: Int64) {
    shared.broadcasting { state in
      state.end = end
      state.queue.end(at: Self.now)
      state.isChanged = true
    }
  }

  func finish(by end: Int64) { thread.stop(within: .milliseconds(max(0, end - Self.now))) }

  // MARK: - On the thread

  private func run() {
    var sender: EdgePurgeSender?
    while true {
      switch shared.withLock({ Self.step(&$0) }) {
      case .send(let purges):
        let connected = sender ?? EdgePurgeSender(target, left: left)
        sender = connected
        let outcome = connected.send(purges)
        let line = shared.withLock { Self.note(outcome, &$0, name) }
        if let line { log(line) }
      case .wait(let milliseconds):
        // Caches close connections that are idle for seconds.
        if milliseconds > EdgePurgeQueue.again { sender = nil }
        _ = shared.waiting(for: .milliseconds(milliseconds)) { $0.isChanged ? () : nil }
      case .idle: return
      }
    }
  }

  /// The milliseconds for which an attempt may take.
  @Sendable private func left() -> Int {
    shared.withLock { $0.end.map { Int(max(0, $0 - Self.now)) } ?? EdgePurgeSender.timeout }
  }

  /// What to do now; `idle` only to end.
  private static func step(_ state: inout State) -> EdgePurgeQueue.Action {
    state.isChanged = false
    // What fails once more then is left to its age.
    if let end = state.end, now >= end || state.fault != nil { return .idle }
    let action = state.queue.next(at: now)
    return action == .idle && state.end == nil ? .wait(longestWait) : action
  }

  /// Records an attempt; returns what the log is told.
  private static func note(_ outcome: EdgePurgeOutcome, _ state: inout State, _ name: String) -> String? {
    state.queue.ended(outcome, at: now)
    let isLate = state.queue.lateness(at: now) != nil
    switch outcome {
    case .done:
      state.done += 1
      state.fault = nil
      guard state.isReported, !isLate else { return nil }
      state.isReported = false
      return "edge \(name): purges are taken again"
    case .failed(let reason, _, let isRefused):
      state.failed += 1
      state.fault = reason
      guard !state.isReported, isRefused || isLate, state.end == nil else { return nil }
      state.isReported = true
      return
        "warning: edge \(name): a purge failed: \(reason); it is tried again, and until then devices may get older answers"
    }
  }

  // MARK: - State

  var state: EdgeState {
    shared.withLock { state in
      let lateness = state.queue.lateness(at: Self.now)
      return EdgeState(
        name: name, waiting: state.queue.pending, lateSince: Self.since(lateness), fault: state.fault)
    }
  }

  func state(of purge: EdgePurge) -> ChannelEdge {
    shared.withLock { state in
      let (isPending, lateness) = (
        state.queue.isPending(purge), state.queue.lateness(of: purge, at: Self.now)
      )
      return ChannelEdge(
        name: name, isTold: !isPending, lateSince: Self.since(lateness),
        fault: isPending || lateness != nil ? state.fault : nil)
    }
  }

  private static func since(_ lateness: Int64?) -> Moment? {
    lateness.map { Moment(milliseconds: Clock.unixMilliseconds() - $0) }
  }

  /// What `/metrics` says of it.
  var counted: (name: String, done: Int64, failed: Int64, pending: Int, lateness: Int64?) {
    shared.withLock { (name, $0.done, $0.failed, $0.queue.pending, $0.queue.lateness(at: Self.now)) }
  }
}
