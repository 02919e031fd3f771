import CWebKitGTK
import Foundation

/// The single thread that GTK and WebKit run on; every object of this module belongs to it.
///
/// A thread of its own, since the main actor has no fixed thread on Linux. The WKWebView adapter uses the main actor
/// instead.
@globalActor
public actor WebActor {
  /// The only instance.
  public static let shared = WebActor()
  /// Runs jobs on WebKit's thread.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { WebThread.shared.asUnownedSerialExecutor() }

  /// Runs `body` in a GLib callback, which runs on this thread. Like `MainActor.assumeIsolated`.
  static func assumeIsolated<Result>(_ body: @WebActor () throws -> Result) rethrows -> Result {
    shared.preconditionIsolated()
    return try withoutActuallyEscaping(body) { try unsafeBitCast($0, to: (() throws -> Result).self)() }
  }
}

/// Runs the WebKit actor's jobs between GLib's own.
final class WebThread: SerialExecutor, @unchecked Sendable {
  // Unchecked: `id` is written before any other thread can see the object.
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

  /// Turns off what GTK expects of a desktop and a kiosk lacks; variables that are already set stay.
  private static func prepare() {
    for (name, value) in [("NO_AT_BRIDGE", "1"), ("GIO_USE_VFS", "local"), ("GSETTINGS_BACKEND", "memory")] {
      setenv(name, value, 0)
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    // Not g_main_context_invoke, which may run the job immediately.
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
