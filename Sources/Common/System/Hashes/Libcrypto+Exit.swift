#if !canImport(CryptoKit)
  import CCrypto
  import Glibc

  // Where another part of the process used libcrypto before us, it is freed by a handler of exit, which other threads would
  // run into. A handler that is registered later is called before it ("in the reverse order of their registration",
  // atexit(3)): ours waits until no thread of ours is in libcrypto, and stops those that come later.
  extension Libcrypto {
    private struct Users {
      /// The number of threads that are in libcrypto.
      var count = 0
      /// The thread that runs the handlers of exit, once they have begun.
      var exiting: pthread_t?

      /// Whether the calling thread has to stop.
      var isOver: Bool { exiting.map { pthread_equal($0, pthread_self()) == 0 } ?? false }
    }

    private static let users = Monitor(Users())
    private static let process = getpid()

    /// How long exit waits for the threads that are in libcrypto: a request notices it within a second.
    private static let patience: Duration = .seconds(3)
    /// How long a thread is stopped that comes to libcrypto during exit: longer than that takes, unless a handler waits for
    /// this very thread.
    private static let stop: Duration = .seconds(10)

    /// Registers the handler; called once, after the first use by others.
    static func guardExit() {
      _ = process
      atexit { Libcrypto.beginExit() }
    }

    /// Runs `body`, which uses libcrypto, libssl or libcurl. During exit, this stops the thread instead.
    package static func using<Result, Failure: Error>(
      _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
      if isKept { return try body() }
      enter()
      defer { users.broadcasting { $0.count -= 1 } }
      return try body()
    }

    /// Called by what `using` runs, where it may take long, outside of libcrypto: stops the thread during exit.
    package static func pause() {
      if isKept || !users.withLock({ $0.isOver }) { return }
      users.broadcasting { $0.count -= 1 }
      enter()
    }

    private static func enter() {
      let hasEntered = users.withLock { users in
        if !users.isOver { users.count += 1 }
        return !users.isOver
      }
      if hasEntered { return }
      _ = users.waiting(for: stop) { _ -> Void? in nil }
      users.withLock { $0.count += 1 }
    }

    private static func beginExit() {
      // After fork(2) there is only the thread that called it, and another one may have had the lock.
      guard getpid() == process else { return }
      users.withLock { $0.exiting = pthread_self() }
      _ = users.waiting(for: patience) { $0.count == 0 ? () : nil }
    }
  }
#endif
