/// Work on a thread of its own, whose result is taken later: as `async let` for threads.
package final class ThreadTask<Value: Sendable, Failure: Error>: Sendable {
  private let work: @Sendable () throws(Failure) -> Value
  private let result = Locked<Result<Value, Failure>?>(nil)
  private let thread: OSThread?

  /// Starts `work`. If the system has no thread left, `value()` does it.
  ///
  /// - Parameters:
  ///   - name: 15 bytes at most; shows in `top -H`.
  ///   - priority: The new thread's; nil means the calling one's, which keeps its own.
  package init(
    _ name: String, priority: OSThread.Priority? = nil,
    _ work: @escaping @Sendable () throws(Failure) -> Value
  ) {
    self.work = work
    thread = try? OSThread(name: name) { [result] in
      if let priority { OSThread.lowerPriority(to: priority) }
      let made = Result { () throws(Failure) in try work() }
      result.withLock { $0 = made }
    }
  }

  /// Waits until the thread has ended, and returns what the work came to. Must be called exactly once, even if nobody needs
  /// the result any more.
  package func value() throws(Failure) -> Value {
    thread?.join()
    if let made = result.withLock({ $0 }) { return try made.get() }
    return try work()
  }
}
