import System

/// Copies bytes between two connections, both ways, without looking at them.
package final class ProxyTunnel: Sendable {
  private static let size = 65_536
  /// Milliseconds without a byte in either direction after which the tunnel ends.
  private static let idle = 3_600_000
  /// Milliseconds without a byte for which one direction outlives the other: a server may keep its half open for any length
  /// of time.
  private static let ending = 5_000
  /// Milliseconds between checks whether the engine is gone, which a blocked write to the server wouldn't show.
  private static let checkInterval = 10_000

  /// Milliseconds of silence after the server's last byte after which no exchange seems to be in progress.
  static let pause = 5_000

  private struct State {
    /// The number of directions that have ended.
    var ended = 0
    /// Whether the engine sent the last byte, and so may be waiting for an answer.
    var isAwaitingAnswer = true
    /// When a byte was last passed on, or a direction ended, in monotonic nanoseconds.
    var moved = Clock.monotonicNanoseconds()

    var quietMilliseconds: Int { Int((Clock.monotonicNanoseconds() - moved) / 1_000_000) }
  }

  private let engine: any ProxyStream
  private let server: any ProxyStream
  private let state = Monitor(State())

  init(_ engine: any ProxyStream, _ server: any ProxyStream) {
    self.engine = engine
    self.server = server
  }

  /// Returns when both directions have ended.
  package static func join(_ engine: any ProxyStream, _ server: any ProxyStream) {
    ProxyTunnel(engine, server).join()
  }

  func join() {
    let back = try? OSThread(name: "proxy tunnel") {
      self.pass(from: self.server, to: self.engine, isFromEngine: false) { self.engine.isGone }
      self.endDirection()
    }
    if back != nil {
      pass(from: engine, to: server, isFromEngine: true) { false }
      endDirection()
    }
    back?.join()
    close()
  }

  /// Ends the tunnel if no exchange is in progress, as far as that can be told without reading the data.
  func endIfIdle() {
    if state.withLock({ !$0.isAwaitingAnswer && $0.quietMilliseconds >= Self.pause }) { close() }
  }

  private func close() {
    engine.close()
    server.close()
  }

  /// Handles the end of one direction: the other may still carry data; then both connections are closed.
  private func endDirection() {
    var left: Int? = state.broadcasting { state in
      state.ended += 1
      state.moved = Clock.monotonicNanoseconds()
      return Self.ending
    }
    while let time = left, time > 0 {
      left = state.waiting(for: .milliseconds(time)) { $0.ended == 2 ? .some(0) : nil }
      if left == nil { left = Self.ending - state.withLock { $0.quietMilliseconds } }
    }
    close()
  }

  /// `isFromEngine` says whether the bytes come from the engine; `isOver` is called while nothing arrives, and returns
  /// whether the other side is gone.
  private func pass(
    from source: any ProxyStream, to target: any ProxyStream, isFromEngine: Bool, isOver: () -> Bool
  ) {
    var buffer = [UInt8](repeating: 0, count: Self.size)
    while true {
      guard let count = buffer.withUnsafeMutableBytes({ source.read(into: $0, within: Self.checkInterval) })
      else {
        if isOver() || state.withLock({ $0.quietMilliseconds }) >= Self.idle { break }
        continue
      }
      guard count > 0 else {
        // A body delimited by the end of its connection would look complete to the engine: TLS may end without an alert.
        if source.isBroken { return target.reset() }
        break
      }
      // Before sending a request, since its answer may arrive at once.
      state.withLock { ($0.isAwaitingAnswer, $0.moved) = (isFromEngine, Clock.monotonicNanoseconds()) }
      let isSent = buffer.withUnsafeBytes {
        target.write(UnsafeRawBufferPointer(rebasing: $0[..<count]), within: Self.idle)
      }
      if !isSent {
        source.close()
        break
      }
      state.withLock { $0.moved = Clock.monotonicNanoseconds() }
    }
    target.finishWriting()
  }
}
