import System

/// Passes bytes on between two connections, both ways, unread.
package final class ProxyTunnel: Sendable {
  private static let size = 65_536
  /// Milliseconds without a byte in either direction, after which it ends.
  private static let idle = 3_600_000
  /// Milliseconds without a byte for which one direction outlives the other: a server may keep its half for as long as it likes.
  private static let ending = 5_000
  /// Milliseconds between looks whether the engine is gone, which nobody reads of while a server takes nothing.
  private static let look = 10_000

  /// Milliseconds without a byte behind the server's last one, after which nothing seems to be under way.
  static let pause = 5_000

  private struct State {
    /// Directions that have ended.
    var ended = 0
    /// Whether the engine sent the last byte: it may wait for an answer.
    var isAsked = true
    /// When a byte was passed on last, or a direction ended, in monotonic nanoseconds.
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

  /// Comes back when both directions have ended.
  package static func join(_ engine: any ProxyStream, _ server: any ProxyStream) {
    ProxyTunnel(engine, server).join()
  }

  func join() {
    let back = try? OSThread(name: "proxy tunnel") {
      self.pass(from: self.server, to: self.engine, isQuestion: false) { self.engine.isGone }
      self.ends()
    }
    if back != nil {
      pass(from: engine, to: server, isQuestion: true) { false }
      ends()
    }
    back?.join()
    close()
  }

  /// Ends it where nothing is under way on it, as far as that shows without reading it.
  func endIfIdle() {
    if state.withLock({ !$0.isAsked && $0.quietMilliseconds >= Self.pause }) { close() }
  }

  private func close() {
    engine.close()
    server.close()
  }

  /// A direction has ended: what goes the other way may still be coming, and then both connections are closed.
  private func ends() {
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

  /// - Parameters:
  ///   - isQuestion: whether it is the engine's.
  ///   - isOver: asked while nothing comes, whether the other side is gone.
  private func pass(
    from source: any ProxyStream, to target: any ProxyStream, isQuestion: Bool, isOver: () -> Bool
  ) {
    var buffer = [UInt8](repeating: 0, count: Self.size)
    while true {
      guard let count = buffer.withUnsafeMutableBytes({ source.read(into: $0, within: Self.look) }) else {
        if isOver() || state.withLock({ $0.quietMilliseconds }) >= Self.idle { break }
        continue
      }
      guard count > 0 else {
        // What lasts as long as its connection would look whole to an engine: TLS may end without a word.
        if source.isBroken { return target.reset() }
        break
      }
      // Before a question is sent: its answer may be there at once.
      state.withLock { ($0.isAsked, $0.moved) = (isQuestion, Clock.monotonicNanoseconds()) }
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
