import System

extension Task where Failure == Never {
  /// Runs a task and blocks this thread until it returns. The thread has to be the caller's own, not one of Swift's
  /// concurrency pool.
  static func waiting(for body: @escaping @Sendable () async -> Success) -> Success {
    let result = Monitor<Success?>(nil)
    Task<Void, Never> {
      let value = await body()
      result.signalling { $0 = value }
    }
    return result.waiting { $0 }
  }

  /// The same, but cancels the task once `isOver` returns true, which is asked five times a second.
  static func waiting(
    cancelledWhen isOver: () -> Bool, for body: @escaping @Sendable () async -> Success
  ) -> Success {
    let result = Monitor<Success?>(nil)
    let task = Task<Void, Never> {
      let value = await body()
      result.signalling { $0 = value }
    }
    while true {
      if let value = result.waiting(for: .milliseconds(200), { $0 }) { return value }
      guard isOver() else { continue }
      task.cancel()
      return result.waiting { $0 }
    }
  }
}
