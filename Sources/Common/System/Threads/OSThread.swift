#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A thread of the operating system. Its owner joins it; a thread that isn't joined is detached.
package final class OSThread: Sendable {
  // A number on Linux, a pointer on Apple's systems; any thread may use either.
  #if canImport(Darwin)
    nonisolated(unsafe) private let handle: Native.Thread
  #else
    private let handle: Native.Thread
  #endif
  private let isJoined = Locked(false)

  /// Starts `body` on a new thread; `name` (15 bytes at most) shows in `top -H`.
  ///
  /// - Throws: EAGAIN if no more threads are allowed.
  package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    final class Start {
      let name: String
      let body: @Sendable () -> Void
      init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
      }
    }
    let start = Unmanaged.passRetained(Start(String(name.prefix(15)), body))
    do {
      handle = try Native.start(start.toOpaque()) { argument in
        // Only optional on Linux.
        let argument: UnsafeMutableRawPointer? = argument
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        Native.nameThread(start.name)
        start.body()
        return nil
      }
    } catch {
      start.release()
      throw error
    }
  }

  /// Waits until the thread has ended. Must be called only once.
  package func join() {
    isJoined.withLock { $0 = true }
    pthread_join(handle, nil)
  }

  // pthread_create(3): a thread that is neither joined nor detached keeps its stack after it ends.
  deinit { if !isJoined.withLock({ $0 }) { pthread_detach(handle) } }
}

extension OSThread {
  /// How far a thread's priority is below normal, as a nice(1) increment.
  package enum Priority: Int32, Sendable {
    /// Somebody waits for the result, though it isn't urgent.
    case awaited = 5
    /// Runs only when no other thread wants to.
    case background = 10
  }

  /// Lowers the calling thread's priority for the rest of its life.
  ///
  /// A failure is ignored: it only slows other work down.
  package static func lowerPriority(to priority: Priority) { Native.lowerPriority(by: priority.rawValue) }

  /// Lowers the calling thread's disk priority, where the disk's scheduler has priorities.
  package static func lowerDiskPriority() { Native.lowerDiskPriority() }
}
