import System

/// Who fetches next: what a page asks for at once, everything else when its turn comes, and none of it begins while a
/// page waits.
final class FetchGate: Sendable {
  /// Files fetched at a time from a server to which requests go over one connection: each waits for the round trip, and
  /// no connection for another.
  static let widest = 32

  private struct State {
    var pages = 0
    var running = 0
    var width: Int
  }

  private let state: Monitor<State>
  /// As many as may ever be at work.
  let threads: Int

  /// - Parameter width: files that updates and completions fetch at a time.
  init(width: Int) {
    state = Monitor(State(width: width))
    threads = max(width, Self.widest)
  }

  /// Runs `body` at once; whoever isn't at work yet waits for its end.
  func page(_ body: () throws(ClientError) -> Void) throws(ClientError) {
    state.withLock { $0.pages += 1 }
    defer { state.broadcasting { $0.pages -= 1 } }
    try body()
  }

  /// Runs `body` when its turn comes.
  func background<Value>(_ body: () throws(ClientError) -> Value) throws(ClientError) -> Value {
    state.waiting { state -> Void? in
      guard state.pages == 0, state.running < state.width else { return nil }
      state.running += 1
      return ()
    }
    defer { state.broadcasting { $0.running -= 1 } }
    return try body()
  }

  /// From now on more are fetched at a time: a server takes many over one connection.
  func widen() {
    if state.withLock({ $0.width < Self.widest }) {
      state.broadcasting { $0.width = max($0.width, Self.widest) }
    }
  }
}

/// The transport of files of which many are fetched.
struct SharedTransport: Transport {
  let inner: any Transport
  let gate: FetchGate

  func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    var request = request
    request.isOneOfMany = true
    let reply = try inner.get(request, receive: receive)
    if reply.isMultiplexed { gate.widen() }
    return reply
  }
}
