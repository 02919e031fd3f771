import System

/// Hands each event to every listener.
final class EventHub: Sendable {
  /// The most events that wait for one listener; beyond that, the oldest are dropped.
  private static let backlog = 256

  private struct State {
    var next = 0
    var isFinished = false
    var listeners: [Int: AsyncStream<RuntimeEvent>.Continuation] = [:]
  }

  private let state = Locked(State())

  deinit { finish() }

  /// Ends every stream.
  func finish() {
    let listeners = state.withLock { state in
      state.isFinished = true
      return state.listeners
    }
    for listener in listeners.values { listener.finish() }
  }

  /// Returns a stream of the events from now on.
  func listen() -> AsyncStream<RuntimeEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: RuntimeEvent.self, bufferingPolicy: .bufferingNewest(Self.backlog))
    let (number, isFinished) = state.withLock { state in
      state.next += 1
      state.listeners[state.next] = continuation
      return (state.next, state.isFinished)
    }
    if isFinished { continuation.finish() }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
    }
    return stream
  }

  func send(_ event: RuntimeEvent) {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(event) }
  }
}
