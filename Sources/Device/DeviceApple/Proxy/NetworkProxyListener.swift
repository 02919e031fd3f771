#if canImport(Network)
  import Foundation
  import Network
  import System
  import XCacheRuntime

  /// Listens on loopback for this app's engine, and serves each connection on a thread of its own.
  final class NetworkProxyListener: Sendable {
    private struct State {
      var listener: LoopbackListener?
      var connections: [Int: NetworkStream] = [:]
      var next = 0
    }

    private let proxy: PageProxy
    private let state = Locked(State())

    /// The most connections at a time; more are refused.
    private static let maxConnections = 256

    /// Creates a listener that doesn't listen yet.
    init(_ proxy: PageProxy) { self.proxy = proxy }

    deinit { stop() }

    /// The port it listens on; nil if it doesn't.
    var port: UInt16? { state.withLock { $0.listener?.port } }

    /// Starts listening on the previous port, which the engine knows, if that is free, otherwise on another one. Blocks.
    ///
    /// - Throws: an error if it can listen on no port.
    func start() throws {
      let former = port
      stop()
      let take: @Sendable (NWConnection) -> Void = { [weak self] connection in
        guard let self else { return connection.cancel() }
        // On a separate thread, since becoming ready takes time, in which the next connection has to be accepted.
        let isServed = try? OSThread(name: "proxied") { self.serve(connection) }
        if isServed == nil { connection.cancel() }
      }
      let again = former.flatMap { Self.again($0, take) }
      let listener = try again ?? LoopbackListener(nil, port: nil, take)
      state.withLock { $0.listener = listener }
    }

    /// Retries, since the system takes a moment to release a port.
    private static func again(
      _ port: UInt16, _ take: @escaping @Sendable (NWConnection) -> Void
    ) -> LoopbackListener? {
      for attempt in 0..<3 {
        if attempt > 0 { Clock.sleep(for: .milliseconds(100)) }
        if let listener = try? LoopbackListener(nil, port: port, take) { return listener }
      }
      return nil
    }

    /// Whether a client that connects is answered. A listener whose socket the system took while the app was suspended may
    /// not know that. Blocks for at most half a second.
    func answers() -> Bool {
      guard let listener = state.withLock({ $0.listener }), listener.isListening,
        let port = NWEndpoint.Port(rawValue: listener.port)
      else { return false }
      let probe = NWConnection(
        to: .hostPort(host: .ipv4(.loopback), port: port), using: NWParameters(tls: nil))
      guard let stream = NetworkStream(starting: probe, within: 500) else { return false }
      stream.close()
      return true
    }

    /// Stops listening and closes every connection.
    func stop() {
      let (listener, streams) = state.withLock { state in
        defer { state.listener = nil }
        return (state.listener, Array(state.connections.values))
      }
      listener?.stop()
      for stream in streams { stream.close() }
    }

    private func serve(_ connection: NWConnection) {
      guard let stream = NetworkStream(starting: connection, within: 5000) else { return }
      let id = state.withLock { state -> Int? in
        guard state.listener != nil, state.connections.count < Self.maxConnections else { return nil }
        state.next += 1
        state.connections[state.next] = stream
        return state.next
      }
      guard let id else { return stream.close() }
      proxy.serve(stream)
      state.withLock { $0.connections[id] = nil }
    }
  }
#endif
