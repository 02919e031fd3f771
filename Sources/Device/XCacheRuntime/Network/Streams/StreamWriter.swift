import System

/// Writes on a thread of its own, so that the sender can read the response while the other side accepts no data.
///
/// Closing the stream ends a write that is in progress.
final class StreamWriter: Sendable {
  private enum State {
    case idle
    case writing([UInt8])
    /// The other side is gone, or accepted nothing for too long.
    case failed
    case over
  }

  private let state: Monitor<State>

  /// Starts the thread.
  /// - Parameters:
  ///   - stream: the stream to write to.
  ///   - milliseconds: how long the other side may accept nothing.
  /// - Throws: `SystemError` if the system has no thread left.
  init(_ stream: any ProxyStream, within milliseconds: Int) throws(SystemError) {
    let state = Monitor(State.idle)
    self.state = state
    _ = try OSThread(name: "upload") {
      while true {
        let next = state.waiting { state -> [UInt8]?? in
          switch state {
          case .idle: nil
          case .writing(let bytes): .some(bytes)
          case .failed, .over: .some(nil)
          }
        }
        guard let bytes = next else { return }
        let isWritten = bytes.withUnsafeBytes { stream.write($0, within: milliseconds) }
        state.broadcasting { state in
          if case .writing = state { state = isWritten ? .idle : .failed }
        }
      }
    }
  }

  deinit { state.broadcasting { $0 = .over } }

  /// Starts a write; the previous one must have finished.
  func write(_ bytes: [UInt8]) { state.broadcasting { $0 = .writing(bytes) } }

  /// Whether the write has finished; false if it failed, nil if it takes longer than `milliseconds`.
  func isDone(within milliseconds: Int) -> Bool? {
    state.waiting(for: .milliseconds(milliseconds)) { state in
      switch state {
      case .idle: true
      case .writing: nil
      case .failed, .over: false
      }
    }
  }
}
