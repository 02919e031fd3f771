import Platform
import Synchronization

/// Work that is shared by a few threads.
final class Parallel: Sendable {
  private let next = Atomic<Int>(0)
  private let failure = Locked<MirrorError?>(nil)
  private let count: Int
  private let body: @Sendable (Int) throws(MirrorError) -> Void

  private init(_ count: Int, _ body: @escaping @Sendable (Int) throws(MirrorError) -> Void) {
    self.count = count
    self.body = body
  }

  /// Runs `body` for each index below `count` on up to `threads` threads, this one among them, and comes back when
  /// all are done.
  ///
  /// - Throws: the first error; indices that weren't begun by then aren't.
  static func forEach(
    _ count: Int, threads: Int, _ body: @escaping @Sendable (Int) throws(MirrorError) -> Void
  ) throws(MirrorError) {
    let job = Parallel(count, body)
    // Where the system has no thread left, the others do its share.
    let extra = (1..<max(1, min(threads, count))).compactMap { _ in
      try? OSThread(name: "mirror") { job.work() }
    }
    job.work()
    extra.forEach { $0.join() }
    if let error = job.failure.withLock({ $0 }) { throw error }
  }

  private func work() {
    while failure.withLock({ $0 == nil }) {
      let index = next.add(1, ordering: .relaxed).oldValue
      guard index < count else { return }
      do {
        try body(index)
      } catch {
        failure.withLock { if $0 == nil { $0 = error } }
      }
    }
  }
}
