import Synchronization
import System

/// A file of access lines, written by a thread of its own.
///
/// Loops hand over whole buffers; where the disk is slower than the clients, lines are dropped and counted.
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
    var ended = false
  }

  private enum Work {
    case lines([UInt8])
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

  /// Starts a writer that appends to `file`; `failed` is told when a write fails, once for each file.
  package init(
    _ file: consuming Descriptor, format: Format, failed: @escaping @Sendable (SystemError) -> Void
  ) throws(SystemError) {
    self.format = format
    let state = self.state
    let raw = file.release()
    thread = try OSThread(name: "access-log") {
      var file = Descriptor(owning: raw)
      var reported = false
      while let work = AccessLog.next(state) {
        for item in work {
          switch item {
          case .lines(let lines):
            do throws(SystemError) {
              try Kernel.write(lines.span.bytes, to: file)
            } catch {
              if !reported { failed(error) }
              reported = true
            }
          case .file(let next):
            file = Descriptor(owning: next)
            reported = false
          }
        }
      }
    }
  }

  /// Lines that the disk was too slow for.
  package var dropped: UInt64 { droppedLines.load(ordering: .relaxed) }

  /// Takes `count` lines of one loop.
  func write(_ lines: [UInt8], count: Int) {
    state.signalling { state in
      guard state.bytes + lines.count <= AccessLog.limit else {
        droppedLines.wrappingAdd(UInt64(count), ordering: .relaxed)
        return
      }
      state.work.append(.lines(lines))
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

  /// Writes what waits, then closes the file; called after the server has stopped.
  package func close() {
    let isFirst = state.broadcasting { state in
      defer { state.ended = true }
      return !state.ended
    }
    if isFirst { thread.join() }
  }

  /// Waits for work; nil once all is done.
  private static func next(_ state: Monitor<State>) -> [Work]? {
    let work: [Work] = state.waiting { state in
      guard !state.work.isEmpty || state.ended else { return nil }
      defer {
        state.work = []
        state.bytes = 0
      }
      return state.work
    }
    return work.isEmpty ? nil : work
  }
}
