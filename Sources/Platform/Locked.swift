import CLinux
import Synchronization

/// A value that one thread at a time may touch.
///
/// `Mutex` on Linux is a futex that ThreadSanitizer doesn't see, so each hand-over is told to it.
package final class Locked<Value: ~Copyable>: Sendable {
  private let mutex: Mutex<Value>

  package init(_ value: consuming sending Value) {
    mutex = Mutex(value)
  }

  /// Runs `body` with the value, alone.
  package func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    let mark = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    return try mutex.withLock { (value) throws(Failure) -> sending Result in
      xcache_tsan_acquire(mark)
      defer { xcache_tsan_release(mark) }
      return try body(&value)
    }
  }
}
