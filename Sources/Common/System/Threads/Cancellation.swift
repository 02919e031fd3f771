/// Whether somebody still wants the result of some work. Whoever does the work asks now and then.
package final class Cancellation: Sendable {
  private let flag = Locked(false)

  package init() {}

  /// Tells the worker that nobody wants the result any more.
  package func cancel() { flag.withLock { $0 = true } }

  /// Whether nobody wants the result any more.
  package var isCancelled: Bool { flag.withLock { $0 } }

  /// The cancellation of what the calling thread does; nil if that must be completed. Threads that it starts have none.
  @TaskLocal package static var current: Cancellation?
}
