import Libc

/// A thread of the operating system, joined by its owner, or left to itself when the owner lets go of it.
package final class OSThread: Sendable {
  // A number on Linux, a pointer on Apple's systems; either may be used from any thread.
  #if canImport(Darwin)
    nonisolated(unsafe) private let handle: Native.Thread
  #else
    private let handle: Native.Thread
  #endif
  private let isJoined = Locked(false)

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
    let start = Unmanaged.passRetained(Start(String(name.prefix(15)), body))
    do {
      handle = try Native.start(start.toOpaque()) { argument in
        // An optional on Linux alone.
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

  /// Waits until the thread has ended; called once.
  package func join() {
    isJoined.withLock { $0 = true }
    pthread_join(handle, nil)
  }

  // pthread_create(3): a thread that is neither joined nor detached keeps its stack after its end.
  deinit { if !isJoined.withLock({ $0 }) { pthread_detach(handle) } }
}

extension OSThread {
  /// How far a thread's work stands behind that of others, as steps of nice(1).
  package enum Priority: Int32, Sendable {
    /// Somebody waits for it, if not before everything else.
    case awaited = 5
    /// It runs only where no other wants to.
    case background = 10
  }

  /// Lets threads of usual priority go before the calling one, for as long as it lives.
  ///
  /// That it can't be had costs some speed elsewhere, nothing else.
  package static func lowerPriority(to priority: Priority) { Native.lowerPriority(by: priority.rawValue) }

  /// Lets the calling thread read and write the disk only after others, where the disk's scheduler knows priorities.
  package static func lowerDiskPriority() { Native.lowerDiskPriority() }

  /// Runs `body` on a thread of its own that lets others have the processor first, and waits for it: the calling
  /// thread, which others may use afterwards, keeps its priority. Without a thread to be had it runs on this one.
  package static func behind<Result: Sendable, Failure: Error>(
    _ name: String, _ body: @escaping @Sendable () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let outcome = Locked<Swift.Result<Result, Failure>?>(nil)
    let thread = try? OSThread(name: name) {
      lowerPriority(to: .background)
      let result = Swift.Result { () throws(Failure) in try body() }
      outcome.withLock { $0 = result }
    }
    thread?.join()
    if let result = outcome.withLock({ $0 }) { return try result.get() }
    return try body()
  }
}
