import System

/// An attempt at a connection, which may turn out not to be needed.
package final class ConnectionAttempt: Sendable {
  private struct State {
    var isEnded = false
    var end: (@Sendable () -> Void)?
  }

  /// The milliseconds after which the attempt is ended.
  package let milliseconds: Int
  private let state = Locked(State())

  init(milliseconds: Int) { self.milliseconds = milliseconds }

  /// Sets a closure to run when the attempt is ended, at once if it already was; it has to wake whoever waits for the
  /// connection.
  package func onEnd(_ end: @escaping @Sendable () -> Void) {
    let isEnded = state.withLock { state in
      if !state.isEnded { state.end = end }
      return state.isEnded
    }
    if isEnded { end() }
  }

  /// Ends the attempt, because nobody needs it any more.
  func end() {
    let end = state.withLock { state in
      defer { state = State(isEnded: true) }
      return state.end
    }
    end?()
  }

  /// Marks the attempt as finished, connected or failed; it can't be ended any more. False if it was ended before.
  func finish() -> Bool {
    state.withLock { state in
      state.end = nil
      return !state.isEnded
    }
  }
}
