/// Work that a few threads share, and that is done when the call comes back.
package enum Parallel {
  /// Runs `body` on `threads` threads, this one among them, and comes back when all have ended.
  ///
  /// Where the system has no thread left, the others do its share.
  /// - Parameter priority: of the other threads; nil: the calling one's.
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
  /// - Throws: the first error; indices that weren't begun by then aren't.
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
