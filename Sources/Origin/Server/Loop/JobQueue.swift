import System

/// Blocking work for a connection. The pool that it was submitted to owns its state.
package final class WorkerJob: @unchecked Sendable {
  // Unchecked: `state` is accessed only under the pool's lock.
  fileprivate(set) var state = State.waiting
  let holder: Int
  /// Breaks the work off halfway; nil if it must be completed once it has begun.
  let cancellation: Cancellation?
  let body: @Sendable () -> Void

  enum State {
    case waiting
    /// Its client has ended its side and is probably gone: it runs, or waits until nothing else does.
    case leaving
    case running, over
  }

  package init(
    holder: Int = 0, cancellation: Cancellation? = nil, _ body: @escaping @Sendable () -> Void
  ) {
    self.holder = holder
    self.cancellation = cancellation
    self.body = body
  }

  func run() {
    guard let cancellation else { return body() }
    Cancellation.$current.withValue(cancellation, operation: body)
  }
}

/// Decides which of the jobs of one lane is next.
///
/// Holders take turns, each with its oldest job, and none occupies all workers: whoever has no job running never waits for
/// more than one round of the others. Jobs of clients that are probably gone come last, one at a time.
struct JobQueue {
  private struct Share {
    /// What waits, oldest first.
    var jobs: [WorkerJob] = []
    var running = 0
  }

  private let limit: Int
  private let limitPerHolder: Int
  private let runningPerHolder: Int
  private var shares: [Int: Share] = [:]
  /// Holders with waiting jobs; the first one is next.
  private var turns: [Int] = []
  private var leaving: [WorkerJob] = []
  private var isLeavingRunning = false
  /// The number of waiting jobs, apart from those of clients that are probably gone.
  private(set) var waiting = 0
  private(set) var running: [WorkerJob] = []

  /// - Parameters:
  ///   - workers: the number of threads that run the jobs.
  ///   - limit: how many jobs may wait; a holder gets a quarter of that.
  init(workers: Int, limit: Int) {
    self.limit = limit
    limitPerHolder = max(1, limit / 4)
    runningPerHolder = max(1, workers - 1)
  }

  /// Adds a job; false if too many wait already. `always` adds one that continues earlier work even then.
  mutating func add(_ job: WorkerJob, always: Bool) -> Bool {
    let own = shares[job.holder]?.jobs.count ?? 0
    guard always || waiting < limit && own < limitPerHolder else { return false }
    if own == 0 { turns.append(job.holder) }
    shares[job.holder, default: Share()].jobs.append(job)
    waiting += 1
    return true
  }

  /// Removes and returns the next job; nil if none waits, or those that wait are of holders that have enough workers.
  mutating func next() -> WorkerJob? {
    for index in turns.indices {
      let holder = turns[index]
      guard var share = shares[holder], share.running < runningPerHolder else { continue }
      let job = share.jobs.removeFirst()
      share.running += 1
      turns.remove(at: index)
      if !share.jobs.isEmpty { turns.append(holder) }
      shares[holder] = share
      waiting -= 1
      job.state = .running
      running.append(job)
      return job
    }
    guard !isLeavingRunning, !leaving.isEmpty else { return nil }
    isLeavingRunning = true
    let job = leaving.removeFirst()
    shares[job.holder, default: Share()].running += 1
    running.append(job)
    return job
  }

  /// Records that a job has been done.
  mutating func finish(_ job: WorkerJob) {
    if job.state == .leaving { isLeavingRunning = false }
    job.state = .over
    running.removeAll { $0 === job }
    shares[job.holder]?.running -= 1
    dropIfIdle(job.holder)
  }

  /// Puts a waiting job behind all others, since its client is probably gone.
  mutating func postpone(_ job: WorkerJob) {
    guard job.state == .waiting, take(job) else { return }
    waiting -= 1
    job.state = .leaving
    leaving.append(job)
  }

  /// Removes a job that nobody wants any more, or breaks it off; true if it hadn't begun.
  mutating func cancel(_ job: WorkerJob) -> Bool {
    if running.contains(where: { $0 === job }) {
      job.cancellation?.cancel()
      return false
    }
    switch job.state {
    case .waiting:
      waiting -= 1
      _ = take(job)
    case .leaving: leaving.removeAll { $0 === job }
    case .running, .over: return false
    }
    job.state = .over
    return true
  }

  /// Removes everything that waits and breaks off what can be.
  mutating func cancelAll() {
    for job in leaving + shares.values.flatMap(\.jobs) { job.state = .over }
    for job in running { job.cancellation?.cancel() }
    (leaving, turns, waiting) = ([], [], 0)
    for holder in shares.keys { shares[holder]?.jobs = [] }
  }

  /// Removes a job from its holder's.
  private mutating func take(_ job: WorkerJob) -> Bool {
    guard let index = shares[job.holder]?.jobs.firstIndex(where: { $0 === job }) else { return false }
    shares[job.holder]?.jobs.remove(at: index)
    if shares[job.holder]?.jobs.isEmpty == true { turns.removeAll { $0 == job.holder } }
    dropIfIdle(job.holder)
    return true
  }

  private mutating func dropIfIdle(_ holder: Int) {
    guard let share = shares[holder], share.jobs.isEmpty, share.running == 0 else { return }
    shares[holder] = nil
  }
}
