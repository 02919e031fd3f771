import CCurl
import System

/// Makes requests of many threads over few connections: one to a server that speaks HTTP/2, which all requests share, and
/// several to any other.
///
/// A call blocks its thread until the response is complete. A sink is called on the pool's thread, which also serves the
/// other requests, so it must return soon. A page sink is called on the requesting thread, which also reads a streamed
/// body, and may block.
package final class HTTPPool: Sendable {
  private let connections: Int
  private let state: Locked<State>
  private let use = ConnectionUse()

  private struct State {
    var driver: PoolDriver?
    var idle: [Idle] = []
    var sleep: SleepWatch
  }

  /// - Parameter connections: the most connections to a server that doesn't speak HTTP/2.
  package convenience init(connections: Int = 6) {
    self.init(connections: connections, slept: Clock.sleptMilliseconds)
  }

  init(connections: Int = 6, slept: @escaping @Sendable () -> Int64) {
    self.connections = connections
    state = Locked(State(sleep: SleepWatch(slept)))
  }

  deinit { state.withLock { $0.driver?.stop() } }

  /// Makes later requests use new connections; running ones go on.
  package func forgetConnections() {
    state.withLock { state in
      state.driver?.stop()
      state.driver = nil
    }
  }

  /// Sends `request` and returns the response, like `HTTPClient.send`.
  package func send(
    _ request: HTTPRequest, into sink: HTTPSink = .memory(limit: 16 << 20)
  ) throws(HTTPClientError) -> HTTPReply {
    let idle = try take()
    defer { state.withLock { $0.idle.append(idle) } }
    return try idle.handle.repeating(request) { request throws(HTTPClientError) in
      try send(request, on: idle.handle, into: sink)
    }
  }

  private func send(
    _ request: HTTPRequest, on handle: EasyHandle, into sink: HTTPSink
  ) throws(HTTPClientError) -> HTTPReply {
    guard case .page(let begin, let write) = sink else {
      var request = request
      request.waitsForConnection = true
      return try handle.perform(request, into: sink) { handle throws(HTTPClientError) in
        try drive { driver throws(HTTPClientError) in driver.run(handle) }
      }
    }
    let number = use.begin()
    defer { use.end(number) }
    let (use, onShared) = (use, request.multiplexed ?? { _ in })
    let handOver = HandOver { use.sent(number, on: $0, onShared) }
    return try handle.perform(request, into: sink, by: handOver) { handle throws(HTTPClientError) in
      try drive { driver throws(HTTPClientError) in try driver.run(handle, handOver, request, begin, write) }
    }
  }

  /// Calls `run`, and again with the next driver if the driver was stopped before the request reached it.
  private func drive(
    _ run: (PoolDriver) throws(HTTPClientError) -> CURLcode?
  ) throws(HTTPClientError) -> CURLcode {
    while true {
      if let code = try run(driver()) { return code }
    }
  }

  private func driver() throws(HTTPClientError) -> PoolDriver {
    let connections = connections
    return try state.withLock { state throws(HTTPClientError) in
      if state.sleep.hasSlept() {
        state.driver?.stop()
        state.driver = nil
      }
      if let driver = state.driver { return driver }
      let driver = try PoolDriver.start(connections)
      state.driver = driver
      return driver
    }
  }

  private func take() throws(HTTPClientError) -> Idle {
    if let warm = state.withLock({ $0.idle.popLast() }) { return warm }
    return Idle(try EasyHandle())
  }

  private struct Idle: @unchecked Sendable {
    // Only the thread that took it out uses the handle, and the driver while that thread waits.
    let handle: EasyHandle
    init(_ handle: EasyHandle) { self.handle = handle }
  }
}
