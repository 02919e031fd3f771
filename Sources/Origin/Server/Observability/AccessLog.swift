import Synchronization
import System

/// An access log, written to a file by a thread of its own.
///
/// Loops hand over whole buffers. If the destination is slower than the clients, such as a slow disk or a stopped program
/// that reads standard output, lines are dropped and counted: nothing else ever waits for it.
package final class AccessLog: Sendable {
  /// The format of a line.
  package enum Format: Sendable {
    /// The Common Log Format.
    case common
    /// One JSON object per line.
    case json
  }

  private struct State {
    /// The writer's next tasks, in order.
    var work: [Work] = []
    var bytes = 0
    /// The number of lines that the writer is writing.
    var writing = 0
    var ended = false
    /// Whether the writer has finished.
    var isClosed = false

    /// The number of lines not written yet.
    var left: Int {
      work.reduce(writing) { count, item in
        if case .lines(_, let lines) = item { count + lines } else { count }
      }
    }
  }

  private enum Work {
    case lines([UInt8], Int)
    /// Continue in this file and close the previous one.
    case file(Int32)
  }

  /// The maximum number of bytes waiting to be written.
  private static let limit = 16 << 20

  /// The format of its lines.
  package let format: Format
  private let state = Monitor(State())
  private let droppedLines = Atomic<UInt64>(0)
  private let thread: OSThread
  /// How long `close` waits for the remaining lines to be written.
  private let closeTimeout: Duration

  /// Starts a writer that appends to `file`; `failed` is called when a write fails, once per file.
  package init(
    _ file: consuming Descriptor, format: Format, closeTimeout: Duration = .seconds(5),
    failed: @escaping @Sendable (SystemError) -> Void
  ) throws(SystemError) {
    self.format = format
    self.closeTimeout = closeTimeout
    let state = self.state
    let raw = file.release()
    thread = try OSThread(name: "access-log") {
      var file = Descriptor(owning: raw)
      var reported = false
      while let work = AccessLog.next(state) {
        for item in work {
          switch item {
          case .lines(let lines, let count):
            do throws(SystemError) {
              try Kernel.write(lines.span.bytes, to: file)
            } catch {
              if !reported { failed(error) }
              reported = true
            }
            state.withLock { $0.writing -= count }
          case .file(let next):
            file = Descriptor(owning: next)
            reported = false
          }
        }
      }
      state.broadcasting { $0.isClosed = true }
    }
  }

  /// The number of lines dropped because the destination was too slow.
  package var dropped: UInt64 { droppedLines.load(ordering: .relaxed) }

  /// Takes `count` lines of one loop.
  func write(_ lines: [UInt8], count: Int) {
    state.signalling { state in
      guard state.bytes + lines.count <= AccessLog.limit else {
        droppedLines.wrappingAdd(UInt64(count), ordering: .relaxed)
        return
      }
      state.work.append(.lines(lines, count))
      state.bytes += lines.count
    }
  }

  /// Continues in another file, such as a new one of the same name after logrotate moved the old one away. Lines handed
  /// over before still go to the old one, which is then closed. `Server.reopenAccessLog` also covers lines not handed
  /// over yet.
  package func reopen(in file: consuming Descriptor) {
    let raw = file.release()
    state.signalling { $0.work.append(.file(raw)) }
  }

  /// Writes the remaining lines, then closes the file; called after the server has stopped. If the destination is stuck,
  /// the writer is abandoned until the process ends.
  /// - Returns: how many lines were left.
  @discardableResult
  package func close() -> Int {
    let isFirst = state.broadcasting { state in
      defer { state.ended = true }
      return !state.ended
    }
    guard isFirst else { return 0 }
    let isClosed = state.waiting(for: closeTimeout) { $0.isClosed ? true : nil } ?? false
    if isClosed {
      thread.join()
      return 0
    }
    let left = state.withLock { $0.left }
    droppedLines.wrappingAdd(UInt64(left), ordering: .relaxed)
    return left
  }

  /// Waits for work; nil at the end.
  private static func next(_ state: Monitor<State>) -> [Work]? {
    let work: [Work] = state.waiting { state in
      guard !state.work.isEmpty || state.ended else { return nil }
      defer {
        state.writing = state.left
        state.work = []
        state.bytes = 0
      }
      return state.work
    }
    return work.isEmpty ? nil : work
  }
}
