import HTTP
import System

/// Threads for work that would block a loop. `JobQueue` decides on the order.
package final class WorkerPool: Sendable {
  private struct State {
    var queue: JobQueue
    var isStopped = false
    /// The threads that haven't ended.
    var threads = 0
  }

  private let state: Monitor<State>
  private let threads: [OSThread]

  /// Starts `count` threads; up to `limit` jobs may wait.
  package init(
    threads count: Int, limit: Int, name: String = "worker", priority: OSThread.Priority? = nil
  ) throws(SystemError) {
    let count = max(count, 1)
    let state = Monitor(State(queue: JobQueue(workers: count, limit: limit)))
    self.state = state
    var threads: [OSThread] = []
    do throws(SystemError) {
      for index in 0..<count {
        state.withLock { $0.threads += 1 }
        threads.append(
          try OSThread(name: "\(name)-\(index)") {
            if let priority { OSThread.lowerPriority(to: priority) }
            WorkerPool.work(state)
          })
      }
    } catch {
      state.broadcasting { $0.isStopped = true }
      throw error
    }
    self.threads = threads
  }

  /// Queues a job; false if too many wait. `always` takes a job that continues earlier work even then.
  package func submit(_ job: WorkerJob, always: Bool = false) -> Bool {
    state.signalling { state in !state.isStopped && state.queue.add(job, always: always) }
  }

  /// Puts a job that hasn't begun behind all others, since its client is probably gone.
  package func postpone(_ job: WorkerJob) { state.signalling { $0.queue.postpone(job) } }

  /// Removes a job that nobody wants any more, or breaks it off; true if it hadn't begun, and now never will.
  @discardableResult
  package func cancel(_ job: WorkerJob) -> Bool { state.withLock { $0.queue.cancel(job) } }

  /// Takes no more jobs, drops those that wait, and breaks off what can be.
  package func beginStopping() {
    state.broadcasting { state in
      state.isStopped = true
      state.queue.cancelAll()
    }
  }

  /// Ends the threads, those that are busy once they are done; called after `beginStopping`.
  /// - Returns: false if some were still busy after that time; they are left to end with the process.
  @discardableResult
  package func join(within duration: Duration) -> Bool {
    guard state.waiting(for: duration, { $0.threads == 0 ? true : nil }) ?? false else { return false }
    for thread in threads { thread.join() }
    return true
  }

  /// How many jobs wait.
  package var waiting: Int { state.withLock { $0.queue.waiting } }

  private static func work(_ state: Monitor<State>) {
    while true {
      let next: WorkerJob?? = state.waiting { state in
        if state.isStopped { return .some(nil) }
        guard let job = state.queue.next() else { return nil }
        return .some(job)
      }
      guard let next, let job = next else { break }
      job.run()
      // Another job of its holder may have waited for this one to end.
      state.signalling { $0.queue.finish(job) }
    }
    state.broadcasting { $0.threads -= 1 }
  }
}

/// The workers of each lane.
final class WorkerLanes: Sendable {
  private let pools: [WorkerPool]
  /// The place of each lane's pool, by the lane's number.
  private let places: [Int]

  init(_ configuration: ServerConfiguration) throws(SystemError) {
    var pools: [WorkerPool] = []
    let own = Scheduling.Lane.allCases.filter { configuration.lanes.contains($0) || $0 == .open }
    places = Scheduling.Lane.allCases.map { own.firstIndex(of: $0) ?? own.firstIndex(of: .open) ?? 0 }
    for lane in own {
      let limit = configuration.workerQueue
      pools.append(
        try WorkerPool(
          threads: configuration.workers(of: lane), limit: limit, name: "\(lane)", priority: lane.priority))
    }
    self.pools = pools
  }

  subscript(_ lane: Scheduling.Lane) -> WorkerPool { pools[places[lane.rawValue]] }

  /// Drops what waits, and gives what is running a little time to end.
  /// - Returns: false if something is still running.
  func stop(within duration: Duration) -> Bool {
    for pool in pools { pool.beginStopping() }
    let end = Clock.monotonicNanoseconds() &+ UInt64(duration.components.seconds) &* Timeouts.second
    var areDone = true
    for pool in pools {
      let now = Clock.monotonicNanoseconds()
      if !pool.join(within: .nanoseconds(end > now ? end - now : 0)) { areDone = false }
    }
    return areDone
  }
}

extension Scheduling.Lane {
  /// What isn't urgent leaves the processor to polls and to what is.
  fileprivate var priority: OSThread.Priority? {
    switch self {
    case .urgent, .recovery: nil
    case .acts, .reads, .signIn, .trade, .open: .awaited
    }
  }
}
