import Glibc

/// Threads that share a piece of work and are gone when it is done.
enum Workers {
  /// Cores that are there for this process.
  static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  /// Runs `body` on `count` threads, this one among them, and comes back when all have.
  static func run(_ count: Int, _ body: @escaping @Sendable () -> Void) {
    let threads = (1..<max(1, count)).map { _ in start(body) }
    body()
    for case let thread? in threads { pthread_join(thread, nil) }
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Nil where the system has no thread left: the others do its share.
  private static func start(_ body: @escaping @Sendable () -> Void) -> pthread_t? {
    var thread = pthread_t()
    let work = Unmanaged.passRetained(Work(body))
    let code = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
        return nil
      }, work.toOpaque())
    if code == 0 { return thread }
    work.release()
    return nil
  }
}
