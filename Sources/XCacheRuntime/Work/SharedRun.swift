import System
import XCacheClient

/// Something that runs once for everybody who waits for it, an update or the fetch of a file. When the last of them was
/// cancelled, nobody wants it any more.
final class SharedRun<Value: Sendable>: Sendable {
  /// Ends it.
  let signal = StopSignal()

  private struct State {
    var next = 0
    /// Those who wait; nil where they aren't at it yet.
    var waiting: [Int: CheckedContinuation<Value?, Never>?] = [:]
    var isAbandoned = false
    /// What became of it, once it has ended.
    var value: Value?
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

  /// What becomes of it; nil at once where the calling task is cancelled.
  /// - Parameter abandoned: told when nobody waits any more.
  func value(for waiter: Int, abandoned: @escaping @Sendable () -> Void) async -> Value? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let value = state.withLock { state -> Value?? in
          if let value = state.value { return .some(value) }
          // Gone where the task was cancelled before it came here.
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

  /// Tells everybody who waits what became of it.
  func finish(_ value: Value) {
    let waiting = state.withLock { state in
      state.value = value
      defer { state.waiting = [:] }
      return state.waiting.values.compactMap { $0 }
    }
    for continuation in waiting { continuation.resume(returning: value) }
  }
}
