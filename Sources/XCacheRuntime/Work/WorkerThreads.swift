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
  private let count: Int
  private let state = Locked(State())

  /// Starts the threads; `priority` is nil for work that a page waits for.
  init(_ name: String, count: Int, priority: OSThread.Priority? = nil) {
    let queue = queue
    let threads = (0..<count).compactMap { _ in
      // A thread only retains the queue, and ends when the queue is stopped.
      try? OSThread(name: name) {
        if let priority {
          OSThread.lowerPriority(to: priority)
          OSThread.lowerDiskPriority()
        }
        while let job = queue.next() { job() }
      }
    }
    self.count = threads.count
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
      ended()
    }
  }

  private func ended() {
    let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.jobs -= 1
      guard state.jobs == 0 else { return [] }
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Waits until there are no jobs left, for at most `duration`.
  func idle(within duration: Duration) async {
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
