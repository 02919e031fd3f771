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
}
