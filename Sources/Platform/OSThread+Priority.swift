import Glibc

extension OSThread {
  /// Lets threads of usual priority go before the calling one, for as long as it lives.
  ///
  /// nice(2): "according to POSIX, the nice value is a per-process setting. However, under … Linux/NPTL … it is a
  /// per-thread attribute".
  package static func lowerPriority() { _ = nice(5) }

  /// Runs `body` on a thread of its own that lets others have the processor first, and waits for it: the calling
  /// thread, which others may use afterwards, keeps its priority. Without a thread to be had it runs on this one.
  package static func behind<Result: Sendable, Failure: Error>(
    _ name: String, _ body: @escaping @Sendable () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let outcome = Locked<Swift.Result<Result, Failure>?>(nil)
    let thread = try? OSThread(name: name) {
      Kernel.lowerPriority()
      let result = Swift.Result { () throws(Failure) in try body() }
      outcome.withLock { $0 = result }
    }
    thread?.join()
    if let result = outcome.withLock({ $0 }) { return try result.get() }
    return try body()
  }
}
