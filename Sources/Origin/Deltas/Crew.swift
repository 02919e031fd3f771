import Platform

/// Runs the same work on a list by several threads.
enum Crew {
  /// Calls `body` once for each index below `count`, each index by whichever thread is free; returns when all are
  /// done.
  static func each(_ count: Int, threads: Int, isUrgent: Bool, _ body: @escaping @Sendable (Int) -> Void) {
    let next = Locked(0)
    let work: @Sendable () -> Void = {
      while let index = next.withLock({ next -> Int? in
        guard next < count else { return nil }
        defer { next += 1 }
        return next
      }) {
        body(index)
      }
    }
    // A thread that can't be had is done without; where none can, the caller works.
    let crew = (0..<min(threads, count)).compactMap { number in
      try? OSThread(name: "delta-\(number)") {
        if !isUrgent { Kernel.lowerPriority() }
        work()
      }
    }
    if crew.isEmpty { work() }
    for thread in crew { thread.join() }
  }
}
