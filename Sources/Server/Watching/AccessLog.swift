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
    var buffers: [[UInt8]] = []
    var bytes = 0
    var ended = false
  }

  /// Bytes that may wait for the disk.
  private static let limit = 16 << 20

  /// How its lines are written.
  package let format: Format
  private let state = Monitor(State())
  private let droppedLines = Atomic<UInt64>(0)
  private let thread: OSThread

  /// Starts a writer that appends to `file`; `failed` is told once, when a write fails.
  package init(
    _ file: consuming Descriptor, format: Format, failed: @escaping @Sendable (SystemError) -> Void
  ) throws(SystemError) {
    self.format = format
    let state = self.state
    let raw = file.release()
    thread = try OSThread(name: "access-log") {
      let file = Descriptor(owning: raw)
      var reported = false
      while let buffers = AccessLog.next(state) {
        for buffer in buffers {
          do throws(SystemError) {
            try Kernel.write(buffer.span.bytes, to: file)
          } catch {
            if !reported { failed(error) }
            reported = true
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
      state.buffers.append(lines)
      state.bytes += lines.count
    }
  }

  /// Writes what waits, then closes the file; called after the server has stopped.
  package func close() {
    let isFirst = state.broadcasting { state in
      defer { state.ended = true }
      return !state.ended
    }
    if isFirst { thread.join() }
  }

  private static func next(_ state: Monitor<State>) -> [[UInt8]]? {
    let taken: (buffers: [[UInt8]], ended: Bool) = state.waiting { state in
      guard !state.buffers.isEmpty || state.ended else { return nil }
      defer {
        state.buffers = []
        state.bytes = 0
      }
      return (state.buffers, state.ended)
    }
    return taken.buffers.isEmpty && taken.ended ? nil : taken.buffers
  }
}
