#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

#if canImport(Darwin)
  /// A value that one thread at a time can access.
  package final class Locked<Value: ~Copyable>: Sendable {
    // Accessed only between lock and unlock of `mutex`. Synchronization's `Mutex` needs iOS 18.
    nonisolated(unsafe) private var value: Value
    nonisolated(unsafe) private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    package init(_ value: consuming sending Value) {
      self.value = value
      mutex.initialize(to: pthread_mutex_t())
      pthread_mutex_init(mutex, nil)
    }

    deinit {
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
    }

    /// Runs `body` with exclusive access to the value.
    package func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value)
    }
  }
#else
  import Synchronization

  /// A value that one thread at a time can access.
  ///
  /// `Mutex` on Linux is a futex that ThreadSanitizer doesn't see, so each acquire and release is reported to it.
  package final class Locked<Value: ~Copyable>: Sendable {
    private let mutex: Mutex<Value>

    package init(_ value: consuming sending Value) {
      mutex = Mutex(value)
    }

    /// Runs `body` with exclusive access to the value.
    package func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      let mark = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
      return try mutex.withLock { (value) throws(Failure) -> sending Result in
        Native.sanitizerAcquires(mark)
        defer { Native.sanitizerReleases(mark) }
        return try body(&value)
      }
    }
  }
#endif

/// A value that one thread at a time can access, and whose changes threads can wait for.
package final class Monitor<Value>: @unchecked Sendable {
  // Unchecked: `value` is accessed only between lock and unlock of `mutex`.
  private var value: Value
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init(_ value: sending Value) {
    self.value = value
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    Native.makeCondition(condition)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Runs `body` with exclusive access to the value.
  package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&value)
  }

  /// Runs `body` with exclusive access to the value, and wakes one waiting thread.
  package func signalling<Result>(_ body: (inout Value) -> Result) -> Result {
    defer { pthread_cond_signal(condition) }
    return withLock(body)
  }

  /// Runs `body` with exclusive access to the value, and wakes all waiting threads.
  package func broadcasting<Result>(_ body: (inout Value) -> Result) -> Result {
    defer { pthread_cond_broadcast(condition) }
    return withLock(body)
  }

  /// Runs `body` with the value until it returns a result; the thread sleeps between attempts.
  package func waiting<Result>(_ body: (inout Value) -> Result?) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = body(&value) { return result }
      pthread_cond_wait(condition, mutex)
    }
  }

  /// As `waiting`, but returns nil if `body` still has no result after `duration`.
  package func waiting<Result>(for duration: Duration, _ body: (inout Value) -> Result?) -> Result? {
    let end = Clock.moment(in: duration)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = body(&value) { return result }
      if !Native.wait(condition, mutex, until: end) { return body(&value) }
    }
  }
}
