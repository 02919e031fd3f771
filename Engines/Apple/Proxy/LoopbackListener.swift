#if canImport(Network)
  import Foundation
  import Network
  import System

  /// Listens on 127.0.0.1 and hands on each connection as it comes, not started yet.
  ///
  /// Unchecked: an `NWListener` may be used from any thread; what changes is behind a monitor.
  final class LoopbackListener: @unchecked Sendable {  // see above
    private struct State {
      var isReady = false
      var isOver = false
    }

    private let listener: NWListener
    private let state = Monitor(State())

    /// Listens, on a port that the system chooses where `port` is nil. Blocks until it does, five seconds at most.
    ///
    /// - Throws: where it can't, as where somebody else has the port.
    init(
      _ tls: NWProtocolTLS.Options?, port: UInt16?, _ take: @escaping @Sendable (NWConnection) -> Void
    ) throws {
      let tcp = NWProtocolTCP.Options()
      tcp.noDelay = true
      let parameters = NWParameters(tls: tls, tcp: tcp)
      // Never on an address that another machine reaches.
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
        // Of waiting there is no end as long as another one has the port.
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

    /// Where it listens.
    var port: UInt16 { listener.port?.rawValue ?? 0 }

    /// Whether it listens, as far as the system has told.
    var isListening: Bool { state.withLock { $0.isReady && !$0.isOver } }

    /// Ends listening; what was handed on goes on.
    func stop() {
      state.withLock { $0.isOver = true }
      listener.cancel()
    }
  }
#endif
