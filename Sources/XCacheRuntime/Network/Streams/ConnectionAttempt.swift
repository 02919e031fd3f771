import System

/// A connection that is being made, and that may turn out not to be wanted.
package final class ConnectionAttempt: Sendable {
  private struct State {
    var isEnded = false
    var end: (@Sendable () -> Void)?
  }

  /// Milliseconds after which it is ended.
  package let milliseconds: Int
  private let state = Locked(State())

  init(milliseconds: Int) { self.milliseconds = milliseconds }

  /// Has `end` run when the attempt is ended, now where it was: whoever waits for the connection is to come back.
  package func onEnd(_ end: @escaping @Sendable () -> Void) {
    let isEnded = state.withLock { state in
      if !state.isEnded { state.end = end }
      return state.isEnded
    }
    if isEnded { end() }
  }

  /// Nobody wants it any more.
  func end() {
    let end = state.withLock { state in
      defer { state = State(isEnded: true) }
      return state.end
    }
    end?()
  }

  /// The connection stands, or failed: from now on it isn't ended. False where it was before.
  func finish() -> Bool {
    state.withLock { state in
      state.end = nil
      return !state.isEnded
    }
  }
}
