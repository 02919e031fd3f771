import System
import XCacheDevice

/// A job that runs once for everyone who waits for it: an update, or the fetch of a file. It is abandoned when its last
/// waiter is cancelled.
final class SharedRun<Value: Sendable>: Sendable {
  /// Stops the job.
  let signal = StopSignal()

  private struct State {
    var next = 0
    /// The waiters; nil for one that has joined but doesn't wait yet.
    var waiting: [Int: CheckedContinuation<Value?, Never>?] = [:]
    var isAbandoned = false
    /// The result, once the job has ended.
    var value: Value?
  }

  private let state = Locked(State())

  /// The number of waiters.
  var waiters: Int { state.withLock { $0.waiting.count } }

  /// Joins the job; nil if it is ending because nobody wanted it any more.
  func join() -> Int? {
    state.withLock { state in
      if state.isAbandoned { return nil }
      state.next += 1
      state.waiting.updateValue(nil, forKey: state.next)
      return state.next
    }
  }

  /// Waits for the result; returns nil at once if the calling task is cancelled.
  ///
  /// `abandoned` is called when nobody waits any more.
  func value(for waiter: Int, abandoned: @escaping @Sendable () -> Void) async -> Value? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let value = state.withLock { state -> Value?? in
          if let value = state.value { return .some(value) }
          // The task was cancelled before it got here.
          guard state.waiting[waiter] != nil else { return .some(nil) }
          state.waiting.updateValue(continuation, forKey: waiter)
          return nil
        }
        if let value { continuation.resume(returning: value) }
      }
    } onCancel: {
      let (continuation, isLast) = state.withLock { state in
        let continuation = state.waiting.removeValue(forKey: waiter) ?? nil
        let isLast = state.waiting.isEmpty && state.value == nil && !state.isAbandoned
        if isLast { state.isAbandoned = true }
        return (continuation, isLast)
      }
      continuation?.resume(returning: nil)
      if isLast { abandoned() }
    }
  }

  /// Hands the result to all waiters.
  func finish(_ value: Value) {
    let waiting = state.withLock { state in
      state.value = value
      defer { state.waiting = [:] }
      return state.waiting.values.compactMap { $0 }
    }
    for continuation in waiting { continuation.resume(returning: value) }
  }
}
