import Synchronization
import System

/// A file of access lines, written by a thread of its own.
///
/// Loops hand over whole buffers; where whoever takes them is slower than the clients, lines are dropped and counted. That may
/// be a disk, or a program that reads standard output and has stopped: nothing else ever waits for it.
package final class AccessLog: Sendable {
  /// How a line is written.
  package enum Format: Sendable {
    /// The Common Log Format.
    case common
    /// One JSON object per line.
    case json
  }

  private struct State {
    /// What the writer does next, in the order in which it was asked for.
    var work: [Work] = []
    var bytes = 0
    /// Lines that the writer has in hand.
    var writing = 0
    var ended = false
    /// The writer is through.
    var isClosed = false

    /// Lines that aren't written yet.
    var left: Int {
      work.reduce(writing) { count, item in
        if case .lines(_, let lines) = item { count + lines } else { count }
      }
    }
  }

  private enum Work {
    case lines([UInt8], Int)
    /// What follows goes to this file; the one before is closed.
    case file(Int32)
  }

  /// Bytes that may wait for the disk.
  private static let limit = 16 << 20

  /// How its lines are written.
  package let format: Format
  private let state = Monitor(State())
  private let droppedLines = Atomic<UInt64>(0)
  private let thread: OSThread
  /// How long `close` waits for what is left to be written.
  private let patience: Duration

  /// Starts a writer that appends to `file`; `failed` is told when a write fails, once for each file.
  package init(
    _ file: consuming Descriptor, format: Format, patience: Duration = .seconds(5),
    failed: @escaping @Sendable (SystemError) -> Void
  ) throws(SystemError) {
    self.format = format
    self.patience = patience
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

  /// Lines that whoever takes them was too slow for.
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

  /// Goes on with another file, such as a new one of the same name after logrotate moved the old one away. Lines that were
  /// handed over before still go to the old one, which is closed behind them. `Server.continueAccessLog` sees to those that
  /// weren't, yet.
  package func `continue`(in file: consuming Descriptor) {
    let raw = file.release()
    state.signalling { $0.work.append(.file(raw)) }
  }

  /// Writes what waits, then closes the file; called after the server has stopped. Where nobody takes it, the writer is left
  /// behind, for the end of the process.
  /// - Returns: how many lines were left.
  @discardableResult
  package func close() -> Int {
    let isFirst = state.broadcasting { state in
      defer { state.ended = true }
      return !state.ended
    }
    guard isFirst else { return 0 }
    let isClosed = state.waiting(for: patience) { $0.isClosed ? true : nil } ?? false
    if isClosed {
      thread.join()
      return 0
    }
    let left = state.withLock { $0.left }
    droppedLines.wrappingAdd(UInt64(left), ordering: .relaxed)
    return left
  }

  /// Waits for work; nil once all is done.
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
