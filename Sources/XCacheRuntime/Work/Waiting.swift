import System

extension Task where Failure == Never {
  /// Waits on this thread for what a task gives. The thread has to be the caller's own, none of Swift's concurrency.
  static func waiting(for body: @escaping @Sendable () async -> Success) -> Success {
    let result = Monitor<Success?>(nil)
    Task<Void, Never> {
      let value = await body()
      result.signalling { $0 = value }
    }
    return result.waiting { $0 }
  }
}
