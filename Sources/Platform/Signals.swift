import Glibc

/// The signals that end a server, taken by waiting for them instead of by handlers.
package enum Signals {
  /// Blocks SIGTERM and SIGINT for this thread and those it starts; called before any thread is started.
  package static func block() {
    var set = ending
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for SIGTERM or SIGINT, and gives its number.
  package static func wait() -> Int32 {
    var set = ending
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number
  }

  /// Lets a write to a closed connection fail with EPIPE instead of ending the process.
  package static func ignorePipe() { _ = signal(SIGPIPE, SIG_IGN) }

  private static var ending: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGTERM)
    sigaddset(&set, SIGINT)
    return set
  }
}
