import System

/// Threads for what blocks, so that no thread of Swift's concurrency ever does.
final class WorkerThreads: Sendable {
  private struct State {
    /// Jobs that wait or run.
    var jobs = 0
    var next = 0
    /// Those who wait until there is none.
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  private let queue = WorkQueue<@Sendable () -> Void>()
  private let count: Int
  private let state = Locked(State())

  /// - Parameter priority: nil for work that a page waits for.
  init(_ name: String, count: Int, priority: OSThread.Priority? = nil) {
    let queue = queue
    let threads = (0..<count).compactMap { _ in
      // A thread holds the queue alone, and ends when that is stopped.
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

  /// Runs `body` on one of the threads and gives what it gives; on the calling one where the system has no thread left.
  func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    if count == 0 { return body() }
    return await withCheckedContinuation { continuation in
      add { continuation.resume(returning: body()) }
    }
  }

  /// Has `body` run on one of the threads, behind what was added before, also where nobody holds this any more by then.
  func add(_ body: @escaping @Sendable () -> Void) {
    if count == 0 { return body() }
    state.withLock { $0.jobs += 1 }
    // A queue that is stopped forgets what waits, so each job holds the threads.
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

  /// Waits until there is nothing to do, or for so long.
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
