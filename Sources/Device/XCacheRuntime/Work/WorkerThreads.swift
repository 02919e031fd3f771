import System

/// Threads for blocking work, so that no thread of Swift's concurrency pool ever blocks.
final class WorkerThreads: Sendable {
  private struct State {
    /// The number of jobs that are waiting or running.
    var jobs = 0
    var next = 0
    /// Callers that wait until there are no jobs.
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  private let queue = WorkQueue<@Sendable () -> Void>()
  private let name: String
  private let count: Int
  private let spares = Locked(Spares())
  private let state = Locked(State())

  /// Starts the threads; `priority` is nil for work that a page waits for.
  init(_ name: String, count: Int, priority: OSThread.Priority? = nil) {
    self.name = name
    let (queue, spares) = (queue, spares)
    let threads = (0..<count).compactMap { _ in
      // A thread only retains the queue, and ends when the queue is stopped.
      try? OSThread(name: name) {
        if let priority {
          OSThread.lowerPriority(to: priority)
          OSThread.lowerDiskPriority()
        }
        Self.work(queue, spares)
      }
    }
    self.count = threads.count
  }

  private static func work(_ queue: WorkQueue<@Sendable () -> Void>, _ spares: Locked<Spares>) {
    while let job = queue.next() {
      job()
      if spares.withLock({ $0.retireOne() }) { return }
    }
  }

  deinit { queue.stop() }

  /// Runs `body` on one of the threads and returns its result; runs it on the calling thread if the system has no thread
  /// left.
  func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    if count == 0 { return body() }
    return await withCheckedContinuation { continuation in
      add { continuation.resume(returning: body()) }
    }
  }

  /// Adds a job that runs after those added before, even if nothing else retains this object by then.
  func add(_ body: @escaping @Sendable () -> Void) {
    if count == 0 { return body() }
    state.withLock { $0.jobs += 1 }
    // A stopped queue drops its waiting jobs, so each job retains this object.
    queue.add { [self] in
      body()
      jobEnded()
    }
  }

  /// Adds a job; if it takes longer than `patience`, another thread takes the place of its own meanwhile.
  func add(lending patience: Duration?, _ body: @escaping @Sendable () -> Void) {
    guard let patience else { return add(body) }
    add { [self] in
      let loan = Locked<Bool?>(nil)
      let timer = Task {
        guard (try? await Task.sleep(for: patience)) != nil else { return }
        loan.withLock { if $0 == nil { $0 = lend() } }
      }
      body()
      timer.cancel()
      let isLent = loan.withLock { loan -> Bool in
        defer { loan = false }
        return loan == true
      }
      if isLent { spares.withLock { $0.returnOne() } }
    }
  }

  /// Starts a spare thread; false if there are too many.
  private func lend() -> Bool {
    guard spares.withLock({ $0.take() }) else { return false }
    let (queue, spares) = (queue, spares)
    if (try? OSThread(name: name) { Self.work(queue, spares) }) != nil { return true }
    spares.withLock { $0.running -= 1 }
    return false
  }

  private func jobEnded() {
    let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.jobs -= 1
      guard state.jobs == 0 else { return [] }
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Waits until there are no jobs left, for at most `duration`.
  func waitUntilIdle(within duration: Duration) async {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    let timer = Task {
      try? await Task.sleep(for: duration)
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.jobs > 0 { state.waiting[number] = continuation }
        return state.jobs == 0
      }
      if isIdle { continuation.resume() }
    }
    timer.cancel()
  }
}

/// The threads beyond a pool's own, which work while jobs take long.
private struct Spares {
  /// Each waits for the network most of the time.
  private static let maxRunning = 32
  var running = 0
  /// How many threads have to end, whichever they are.
  private var surplus = 0

  /// Whether another one may start.
  mutating func take() -> Bool {
    guard running < Self.maxRunning else { return false }
    running += 1
    return true
  }

  /// Called when a job that took long is done.
  mutating func returnOne() { surplus += 1 }

  /// Whether the calling thread has to end.
  mutating func retireOne() -> Bool {
    guard surplus > 0 else { return false }
    surplus -= 1
    running -= 1
    return true
  }
}
