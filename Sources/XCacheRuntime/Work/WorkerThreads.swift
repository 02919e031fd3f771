import System

/// Threads for what blocks, so that no thread of Swift's concurrency ever does.
final class WorkerThreads: Sendable {
  private let queue = WorkQueue<@Sendable () -> Void>()
  private let count: Int

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
    // A queue that is stopped forgets what waits.
    defer { withExtendedLifetime(self) {} }
    return await withCheckedContinuation { continuation in
      queue.add { continuation.resume(returning: body()) }
    }
  }

  /// Has `body` run on one of the threads, behind what was added before, also where nobody holds this any more by then.
  func add(_ body: @escaping @Sendable () -> Void) {
    if count == 0 { return body() }
    queue.add { withExtendedLifetime(self, body) }
  }
}
