import System

/// Writes on a thread of its own, so that whoever sends sees to the answer while the other side takes nothing.
///
/// A write that is under way ends at the latest when the stream is closed.
final class StreamWriter: Sendable {
  private enum State {
    case idle
    case writing([UInt8])
    /// The other side is gone, or took nothing for too long.
    case failed
    case over
  }

  private let state: Monitor<State>

  /// - Parameter milliseconds: for which the other side may take nothing.
  /// - Throws: where the system has no thread left.
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

  /// Begins to write; the bytes before must be written.
  func write(_ bytes: [UInt8]) { state.broadcasting { $0 = .writing(bytes) } }

  /// Whether what was begun is written, false where it can't be; nil: not within so many milliseconds.
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
