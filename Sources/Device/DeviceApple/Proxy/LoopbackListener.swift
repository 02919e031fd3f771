#if canImport(Network)
  import Foundation
  import Network
  import System

  /// Listens on 127.0.0.1 and hands over each connection before it is started.
  ///
  /// Unchecked: an `NWListener` may be used from any thread; the mutable state is behind a monitor.
  final class LoopbackListener: @unchecked Sendable {  // see above
    private struct State {
      var isReady = false
      var isOver = false
    }

    private let listener: NWListener
    private let state = Monitor(State())

    /// Starts listening, on a port that the system chooses if `port` is nil. Blocks for up to five seconds until it
    /// listens.
    ///
    /// - Throws: `NWError` if it can't listen, for example because the port is in use.
    init(
      _ tls: NWProtocolTLS.Options?, port: UInt16?, _ take: @escaping @Sendable (NWConnection) -> Void
    ) throws {
      let tcp = NWProtocolTCP.Options()
      tcp.noDelay = true
      let parameters = NWParameters(tls: tls, tcp: tcp)
      // Never on an address that another machine can reach.
      let wanted = port.flatMap { NWEndpoint.Port(rawValue: $0) } ?? .any
      parameters.requiredLocalEndpoint = .hostPort(host: .ipv4(.loopback), port: wanted)
      parameters.allowLocalEndpointReuse = true
      parameters.acceptLocalOnly = true
      listener = try NWListener(using: parameters)
      let state = state
      listener.newConnectionHandler = take
      listener.stateUpdateHandler = { now in
        switch now {
        case .ready: state.broadcasting { $0.isReady = true }
        // It would wait for as long as another process has the port.
        case .failed, .cancelled, .waiting: state.broadcasting { $0.isOver = true }
        default: break
        }
      }
      listener.start(queue: NetworkStream.queue)
      let isReady = state.waiting(for: .seconds(5)) { $0.isOver ? false : $0.isReady ? true : nil }
      guard isReady == true else {
        listener.cancel()
        throw NWError.posix(.EADDRINUSE)
      }
    }

    deinit { listener.cancel() }

    /// The port it listens on.
    var port: UInt16 { listener.port?.rawValue ?? 0 }

    /// Whether it listens, as far as the system has reported.
    var isListening: Bool { state.withLock { $0.isReady && !$0.isOver } }

    /// Stops listening; connections that were handed over stay open.
    func stop() {
      state.withLock { $0.isOver = true }
      listener.cancel()
    }
  }
#endif
