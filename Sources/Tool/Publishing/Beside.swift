import System

/// Work done on its own thread while its owner does something else.
final class Beside<Value: Sendable>: Sendable {
  private let work: @Sendable () throws(PublishError) -> Value
  private let result = Locked<Result<Value, PublishError>?>(nil)
  private let thread: OSThread?

  /// Starts the work. If no thread can be started, it runs in `value()`.
  init(_ work: @escaping @Sendable () throws(PublishError) -> Value) {
    self.work = work
    let result = result
    thread = try? OSThread(name: "worker") {
      let made = Result { () throws(PublishError) in try work() }
      result.withLock { $0 = made }
    }
  }

  /// Returns the result; the thread has ended then. Must be called exactly once, even if nobody needs the result any more.
  func value() throws(PublishError) -> Value {
    thread?.join()
    if let made = result.withLock({ $0 }) { return try made.get() }
    return try work()
  }
}
