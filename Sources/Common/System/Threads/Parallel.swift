/// Runs work on several threads, and returns when it is done.
package enum Parallel {
  /// Runs `body` on `threads` threads, including the calling one, and returns when all have ended.
  ///
  /// If the system has no thread left, those that started do all the work.
  /// - Parameters:
  ///   - threads: The number of threads.
  ///   - priority: The priority of the other threads; nil means the calling one's.
  ///   - body: What each thread runs.
  package static func run(
    threads: Int, priority: OSThread.Priority? = nil, _ body: @escaping @Sendable () -> Void
  ) {
    let extra = (1..<max(1, threads)).compactMap { _ in
      try? OSThread(name: "worker") {
        if let priority { OSThread.lowerPriority(to: priority) }
        body()
      }
    }
    body()
    for thread in extra { thread.join() }
  }

  /// Runs `body` for each index below `count` on up to `threads` threads.
  ///
  /// - Throws: The first error; indices that haven't begun by then are skipped.
  package static func forEach<Failure: Error>(
    _ count: Int, threads: Int, priority: OSThread.Priority? = nil,
    _ body: @escaping @Sendable (Int) throws(Failure) -> Void
  ) throws(Failure) {
    let job = Job(count, body)
    run(threads: min(threads, count), priority: priority) { job.work() }
    if let error = job.failure.withLock({ $0 }) { throw error }
  }

  private final class Job<Failure: Error>: Sendable {
    let failure = Locked<Failure?>(nil)
    private let next = Locked(0)
    private let count: Int
    private let body: @Sendable (Int) throws(Failure) -> Void

    init(_ count: Int, _ body: @escaping @Sendable (Int) throws(Failure) -> Void) {
      self.count = count
      self.body = body
    }

    func work() {
      while failure.withLock({ $0 == nil }) {
        let index = next.withLock { next in
          defer { next += 1 }
          return next
        }
        guard index < count else { return }
        do throws(Failure) {
          try body(index)
        } catch {
          failure.withLock { if $0 == nil { $0 = error } }
        }
      }
    }
  }
}
