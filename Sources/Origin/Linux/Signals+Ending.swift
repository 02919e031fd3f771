import Glibc
import System

extension Signals {
  /// Ends the process by the signal that was received, so that a shell sees which one it was.
  package static func end(by request: Request) -> Never {
    let number =
      switch request {
      case .end("SIGINT"): SIGINT
      case .end: SIGTERM
      case .reopen: SIGHUP
      }
    _ = signal(number, SIG_DFL)
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, number)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    _ = raise(number)
    Environment.exit(128 + number)
  }
}
