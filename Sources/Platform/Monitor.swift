import Glibc

/// A value that one thread at a time may touch, and on whose changes threads can wait.
package final class Monitor<Value>: @unchecked Sendable {
  // Unchecked: `value` is only touched between lock and unlock of `mutex`.
  private var value: Value
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init(_ value: sending Value) {
    self.value = value
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Runs `body` with the value, alone.
  package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&value)
  }

  /// Runs `body` with the value, alone, and wakes one waiting thread.
  package func signalling<Result>(_ body: (inout Value) -> Result) -> Result {
    defer { pthread_cond_signal(condition) }
    return withLock(body)
  }

  /// Runs `body` with the value, alone, and wakes every waiting thread.
  package func broadcasting<Result>(_ body: (inout Value) -> Result) -> Result {
    defer { pthread_cond_broadcast(condition) }
    return withLock(body)
  }

  /// Runs `body` with the value until it gives something; between tries the thread sleeps.
  package func waiting<Result>(_ body: (inout Value) -> Result?) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = body(&value) { return result }
      pthread_cond_wait(condition, mutex)
    }
  }
}
