import System

/// Passes bytes on between two connections, both ways, unread.
package enum ProxyTunnel {
  private static let size = 65_536
  /// Milliseconds without a byte in either direction, after which it ends.
  private static let idle = 3_600_000
  /// Milliseconds without a byte for which one direction outlives the other: a server may keep its half for as long as it likes.
  private static let ending = 5_000
  /// Milliseconds between looks whether the engine is gone, which nobody reads of while a server takes nothing.
  private static let look = 10_000

  private struct State {
    /// Directions that have ended.
    var ended = 0
    /// When a byte was passed on last, or a direction ended, in monotonic nanoseconds.
    var moved = Clock.monotonicNanoseconds()

    var quietMilliseconds: Int { Int((Clock.monotonicNanoseconds() - moved) / 1_000_000) }
  }

  /// Comes back when both directions have ended.
  package static func join(_ engine: any ProxyStream, _ server: any ProxyStream) {
    let state = Monitor(State())
    let back = try? OSThread(name: "proxy tunnel") {
      pass(from: server, to: engine, state) { engine.isGone }
      ends(engine, server, state)
    }
    if back != nil {
      pass(from: engine, to: server, state) { false }
      ends(engine, server, state)
    }
    back?.join()
    engine.close()
    server.close()
  }

  /// A direction has ended: what goes the other way may still be coming, and then both connections are closed.
  private static func ends(_ engine: any ProxyStream, _ server: any ProxyStream, _ state: Monitor<State>) {
    var left: Int? = state.broadcasting { state in
      state.ended += 1
      state.moved = Clock.monotonicNanoseconds()
      return ending
    }
    while let time = left, time > 0 {
      left = state.waiting(for: .milliseconds(time)) { $0.ended == 2 ? .some(0) : nil }
      if left == nil { left = ending - state.withLock { $0.quietMilliseconds } }
    }
    engine.close()
    server.close()
  }

  /// - Parameter isOver: asked while nothing comes, whether the other side is gone.
  private static func pass(
    from source: any ProxyStream, to target: any ProxyStream, _ state: Monitor<State>, isOver: () -> Bool
  ) {
    var buffer = [UInt8](repeating: 0, count: size)
    while true {
      guard let count = buffer.withUnsafeMutableBytes({ source.read(into: $0, within: look) }) else {
        if isOver() || state.withLock({ $0.quietMilliseconds }) >= idle { break }
        continue
      }
      guard count > 0 else {
        // What lasts as long as its connection would look whole to an engine: TLS may end without a word.
        if source.isBroken { return target.reset() }
        break
      }
      let isSent = buffer.withUnsafeBytes {
        target.write(UnsafeRawBufferPointer(rebasing: $0[..<count]), within: idle)
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
