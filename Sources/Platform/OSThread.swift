import CLinux
import Glibc
import Synchronization

/// A thread of the operating system, joined by its owner, or left to itself when the owner lets go of it.
package final class OSThread: Sendable {
  private let handle: pthread_t
  private let isJoined = Atomic<Bool>(false)

  /// Starts `body` on a new thread; `name` (15 bytes at most) shows in `top -H`.
  ///
  /// - Throws: EAGAIN where no more threads are allowed.
  package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    final class Start {
      let name: String
      let body: @Sendable () -> Void
      init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
      }
    }
    var handle = pthread_t()
    let start = Unmanaged.passRetained(Start(String(name.prefix(15)), body))
    let code = pthread_create(
      &handle, nil,
      { argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        xcache_name_thread(start.name)
        start.body()
        return nil
      }, start.toOpaque())
    guard code == 0 else {
      start.release()
      throw SystemError("pthread_create", code: code)
    }
    self.handle = handle
  }

  /// Waits until the thread has ended; called once.
  package func join() {
    isJoined.store(true, ordering: .relaxed)
    pthread_join(handle, nil)
  }

  // pthread_create(3): a thread that is neither joined nor detached keeps its stack after its end.
  deinit { if !isJoined.load(ordering: .relaxed) { pthread_detach(handle) } }
}
