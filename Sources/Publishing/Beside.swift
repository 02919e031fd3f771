import System

/// Work that is done on a thread of its own while its owner does something else.
final class Beside<Value: Sendable>: Sendable {
  private let work: @Sendable () throws(PublishError) -> Value
  private let result = Locked<Result<Value, PublishError>?>(nil)
  private let thread: OSThread?

  /// Begins it; without a thread to be had it is done when its value is asked for.
  init(_ work: @escaping @Sendable () throws(PublishError) -> Value) {
    self.work = work
    let result = result
    thread = try? OSThread(name: "worker") {
      let made = Result { () throws(PublishError) in try work() }
      result.withLock { $0 = made }
    }
  }

  /// What came of it; asked for once, also where nobody wants it any more: the thread has ended then.
  func value() throws(PublishError) -> Value {
    thread?.join()
    if let made = result.withLock({ $0 }) { return try made.get() }
    return try work()
  }
}
