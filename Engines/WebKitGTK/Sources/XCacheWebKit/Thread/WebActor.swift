import CWebKitGTK
import Foundation

/// The one thread that GTK and WebKit live on; every object of this module belongs to it.
///
/// It is a thread of its own, since the main actor has no fixed thread on Linux. Of WKWebView's adapter it is the main actor.
@globalActor
public actor WebActor {
  /// The only one.
  public static let shared = WebActor()
  /// Runs jobs on WebKit's thread.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { WebThread.shared.asUnownedSerialExecutor() }

  /// Runs `body` where GLib calls back, which is on the thread. Like `MainActor.assumeIsolated`.
  static func assumeIsolated<Result>(_ body: @WebActor () throws -> Result) rethrows -> Result {
    shared.preconditionIsolated()
    return try withoutActuallyEscaping(body) { try unsafeBitCast($0, to: (() throws -> Result).self)() }
  }
}

/// Runs the WebKit actor's jobs between GLib's own.
final class WebThread: SerialExecutor, @unchecked Sendable {
  // Unchecked: `id` is written before anybody else can see it.
  static let shared = WebThread()
  private let id: pthread_t

  private init() {
    let isReady = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var id = pthread_self()
    let thread = Thread {
      id = pthread_self()
      WebThread.prepare()
      guard gtk_init_check(nil, nil) != 0 else {
        fatalError("WebKit needs a display: set DISPLAY, or run under xvfb-run")
      }
      isReady.signal()
      g_main_loop_run(g_main_loop_new(nil, 0))
    }
    thread.name = "webkit"
    thread.stackSize = 8 << 20
    thread.start()
    isReady.wait()
    self.id = id
  }

  /// What GTK asks of a desktop that a kiosk hasn't got; what the environment already says stays.
  private static func prepare() {
    for (name, value) in [("NO_AT_BRIDGE", "1"), ("GIO_USE_VFS", "local"), ("GSETTINGS_BACKEND", "memory")] {
      setenv(name, value, 0)
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    // Not g_main_context_invoke, which may run the job here and now.
    g_idle_add_full(
      G_PRIORITY_DEFAULT,
      { data in
        Box<UnownedJob>.take(data)?.runSynchronously(on: WebThread.shared.asUnownedSerialExecutor())
        return 0
      }, Box(UnownedJob(job)).retained(), nil)
  }

  func checkIsolated() { precondition(pthread_equal(pthread_self(), id) != 0, "not on the WebKit thread") }
  func isIsolatingCurrentContext() -> Bool? { pthread_equal(pthread_self(), id) != 0 }
}
