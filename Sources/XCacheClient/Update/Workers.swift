import Glibc
import Platform

/// Threads that share a list of things to do, each of which may wait for a server.
enum Workers {
  /// Runs `body` for each item on up to `threads` threads; the first error ends it and is thrown.
  static func forEach<Item: Sendable>(
    _ items: [Item], threads: Int, _ body: @escaping @Sendable (Item) throws(ClientError) -> Void
  ) throws(ClientError) {
    let state = Locked(State())
    run(min(threads, items.count)) {
      while let i = state.withLock({ $0.take(below: items.count) }) {
        do throws(ClientError) {
          try body(items[i])
        } catch {
          state.withLock { $0.failure = $0.failure ?? error }
        }
      }
    }
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  private struct State {
    var next = 0
    var failure: ClientError?

    mutating func take(below count: Int) -> Int? {
      guard failure == nil, next < count else { return nil }
      next += 1
      return next - 1
    }
  }

  /// Runs `body` on `count` threads, this one among them, and comes back when all have.
  private static func run(_ count: Int, _ body: @escaping @Sendable () -> Void) {
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
