import System
import XCacheClient

/// An update that runs, and everybody who waits for it. When the last of them was cancelled, nobody wants it any more.
final class UpdateRun: Sendable {
  /// Ends the update.
  let signal = StopSignal()

  private struct State {
    var next = 0
    /// Those who wait; nil where they aren't at it yet.
    var waiting: [Int: CheckedContinuation<UpdateReport?, Never>?] = [:]
    var isAbandoned = false
    /// What became of it, once it has ended.
    var report: UpdateReport??
  }

  private let state = Locked(State())

  /// How many wait.
  var waiters: Int { state.withLock { $0.waiting.count } }

  /// Takes part; nil where it is ending, since nobody wanted it any more.
  func join() -> Int? {
    state.withLock { state in
      if state.isAbandoned { return nil }
      state.next += 1
      state.waiting.updateValue(nil, forKey: state.next)
      return state.next
    }
  }

  /// What becomes of the update; nil at once where the calling task is cancelled.
  /// - Parameter abandoned: told when nobody waits any more.
  func report(to waiter: Int, abandoned: @escaping @Sendable () -> Void) async -> UpdateReport? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let report = state.withLock { state -> UpdateReport?? in
          if let report = state.report { return report }
          // Gone where the task was cancelled before it came here.
          guard state.waiting[waiter] != nil else { return .some(nil) }
          state.waiting.updateValue(continuation, forKey: waiter)
          return nil
        }
        if let report { continuation.resume(returning: report) }
      }
    } onCancel: {
      let (continuation, isLast) = state.withLock { state in
        let continuation = state.waiting.removeValue(forKey: waiter) ?? nil
        let isLast = state.waiting.isEmpty && state.report == nil && !state.isAbandoned
        if isLast { state.isAbandoned = true }
        return (continuation, isLast)
      }
      continuation?.resume(returning: nil)
      if isLast { abandoned() }
    }
  }

  /// Tells everybody who waits what became of it.
  func finish(_ report: UpdateReport?) {
    let waiting = state.withLock { state in
      state.report = .some(report)
      defer { state.waiting = [:] }
      return state.waiting.values.compactMap { $0 }
    }
    for continuation in waiting { continuation.resume(returning: report) }
  }
}
