#if canImport(Network)
  import Foundation
  import HTTPDNS
  import Network
  import Security
  import System
  import XCacheDevice
  import XCacheRuntime

  /// A connection of Network.framework, for threads that may block.
  ///
  /// Unchecked: an `NWConnection` may be used from any thread (its documentation, "Overview"); received data is behind a
  /// monitor.
  final class NetworkStream: ProxyStream, @unchecked Sendable {  // see above
    private struct State {
      var isReady = false
      var failure: String?
      var received: [UInt8] = []
      /// Whether a receive is pending.
      var isReceiving = false
      var isOver = false
      var isBroken = false
      /// Bytes handed to the system that haven't left yet.
      var sending = 0
    }

    private let connection: NWConnection
    private let state = Monitor(State())

    /// The most bytes to receive at a time, and the most unsent bytes that the system may hold for us.
    private static let piece = 64 << 10
    private static let maxSending = 256 << 10

    /// Connects to `endpoint`; if `isSecure`, with TLS that checks name and certificate against `host`. Nil if that fails
    /// or takes too long, or the attempt is ended.
    convenience init?(
      _ endpoint: NWEndpoint, _ host: String, isSecure: Bool, _ attempt: ConnectionAttempt
    ) {
      let connection = NWConnection(to: endpoint, using: Self.parameters(host, isSecure: isSecure))
      attempt.onEnd { connection.cancel() }
      self.init(starting: connection, within: attempt.milliseconds)
    }

    /// Starts a connection, such as one that a listener accepted, and waits until it is ready; nil if that fails or takes
    /// too long.
    init?(starting connection: NWConnection, within milliseconds: Int) {
      self.connection = connection
      let state = state
      connection.stateUpdateHandler = { now in
        switch now {
        case .ready: state.broadcasting { $0.isReady = true }
        case .failed(let error):
          state.broadcasting { ($0.failure, $0.isBroken) = ("\(error)", $0.isBroken || !$0.isOver) }
        // Without a route, it would wait for another network.
        case .waiting(let error): state.broadcasting { $0.failure = "\(error)" }
        case .cancelled: state.broadcasting { ($0.failure, $0.isOver) = ("closed", true) }
        default: break
        }
      }
      connection.start(queue: Self.queue)
      let isReady = state.waiting(for: .milliseconds(milliseconds)) { state -> Bool? in
        if state.failure != nil { return false }
        return state.isReady ? true : nil
      }
      guard isReady == true else {
        connection.cancel()
        return nil
      }
    }

    /// The local port, once connected.
    var localPort: UInt16? { connection.currentPath?.localEndpoint?.port }

    deinit { connection.cancel() }

    static let queue = DispatchQueue(label: "xcache connections", attributes: .concurrent)

    private static func parameters(_ host: String, isSecure: Bool) -> NWParameters {
      let tcp = NWProtocolTCP.Options()
      tcp.noDelay = true
      tcp.enableKeepalive = true
      guard isSecure else { return NWParameters(tls: nil, tcp: tcp) }
      let tls = NWProtocolTLS.Options()
      let options = tls.securityProtocolOptions
      sec_protocol_options_set_tls_server_name(options, host)
      sec_protocol_options_add_tls_application_protocol(options, "http/1.1")
      // The endpoint may be an address, but the certificate has to match the name.
      sec_protocol_options_set_verify_block(
        options,
        { _, trust, complete in
          let trust = sec_trust_copy_ref(trust).takeRetainedValue()
          let name = CFStringCreateWithCString(nil, host, CFStringBuiltInEncodings.UTF8.rawValue)
          SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, name))
          complete(SecTrustEvaluateWithError(trust, nil))
        }, queue)
      return NWParameters(tls: tls, tcp: tcp)
    }

    // MARK: - For whoever waits

    func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int? {
      receive()
      return state.waiting(for: .milliseconds(milliseconds)) { state -> Int? in
        if state.received.isEmpty { return state.isOver || state.failure != nil ? 0 : nil }
        let count = min(buffer.count, state.received.count)
        state.received.prefix(count).withUnsafeBytes { buffer.copyMemory(from: $0) }
        state.received.removeFirst(count)
        return count
      }
    }

    /// Requests more data, unless a receive is pending or data waits to be read.
    private func receive() {
      let isBusy = state.withLock { state -> Bool in
        if state.isReceiving || state.isOver || !state.received.isEmpty { return true }
        state.isReceiving = true
        return false
      }
      if isBusy { return }
      connection.receive(minimumIncompleteLength: 1, maximumLength: Self.piece) {
        [state] data, _, isComplete, error in
        state.broadcasting { state in
          state.isReceiving = false
          if let data { state.received += Array(data) }
          if let error, !Self.isEnd(error) { state.isBroken = state.isBroken || !state.isOver }
          if isComplete || error != nil { state.isOver = true }
        }
      }
    }

    /// Whether TLS ended without its closing alert.
    private static func isEnd(_ error: NWError) -> Bool {
      if case .tls(errSSLClosedNoNotify) = error { true } else { false }
    }

    var isBroken: Bool { state.withLock { $0.isBroken } }

    func write(_ bytes: UnsafeRawBufferPointer, within milliseconds: Int) -> Bool {
      var rest = bytes
      while !rest.isEmpty {
        let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.piece))
        let count = piece.count
        let isFree = state.waiting(for: .milliseconds(milliseconds)) { state -> Bool? in
          if state.failure != nil { return false }
          guard state.sending < Self.maxSending else { return nil }
          state.sending += count
          return true
        }
        guard isFree == true else { return false }
        connection.send(
          content: Data(Array(piece)), contentContext: .defaultMessage, isComplete: false,
          completion: .contentProcessed { [state] error in
            state.broadcasting { state in
              state.sending -= count
              if let error { state.failure = "\(error)" }
            }
          })
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      }
      return true
    }

    /// An idle connection has nothing to receive: anything that arrives, above all its end, makes it useless.
    var isGone: Bool {
      receive()
      return state.withLock { $0.isOver || $0.failure != nil }
    }

    func finishWriting() {
      connection.send(content: nil, contentContext: .finalMessage, isComplete: true, completion: .idempotent)
    }

    func close() { connection.cancel() }
    /// `forceCancel` may drop what was written.
    func reset() { close() }
  }

  extension NWEndpoint {
    /// The port of a host-and-port endpoint.
    var port: UInt16? {
      guard case .hostPort(_, let port) = self else { return nil }
      return port.rawValue
    }
  }

  /// Makes connections with Network.framework to the addresses that a resolver returns.
  final class AppleNetwork: StreamNetwork {
    private let dialer: AddressDialer

    init(_ resolver: (any Resolver)?, connectSeconds: Int) {
      dialer = AddressDialer(resolver, connectSeconds: connectSeconds)
    }

    func connect(
      to host: String, port: Int, isSecure: Bool, isCancelled: () -> Bool
    ) throws(TransportError) -> any ProxyStream {
      let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
      guard let number = UInt16(exactly: port), let port = NWEndpoint.Port(rawValue: number) else {
        throw TransportError(.other, "\(host): \(port) is not a port")
      }
      // Given a name, Network.framework looks up the addresses itself and races them.
      return try dialer.dial(bare, system: { [nil] }, isCancelled: isCancelled) {
        address, attempt throws(TransportError) -> any ProxyStream in
        let stream = NetworkStream(
          .hostPort(host: Self.endpointHost(of: address, or: bare), port: port), bare, isSecure: isSecure,
          attempt)
        guard let stream else { throw TransportError(.unreachable, "\(host): no connection") }
        return stream
      }
    }

    private static func endpointHost(of address: IPAddress?, or host: String) -> NWEndpoint.Host {
      guard let address else { return .name(host, nil) }
      if address.isV6 {
        return IPv6Address(Data(address.bytes), nil).map { NWEndpoint.Host.ipv6($0) } ?? .name(host, nil)
      }
      return IPv4Address(Data(address.bytes), nil).map { NWEndpoint.Host.ipv4($0) } ?? .name(host, nil)
    }
  }

  /// Sends page requests by HTTP/1.1 over Network.framework to the addresses of a resolver, while server name, certificate,
  /// `Host` and cookies stay those of the host. Without a resolver, `URLSessionPageTransport` does more: HTTP/2, HTTP/3 and
  /// proxies.
  public final class NetworkPageTransport: PageTransport {
    private let inner: StreamPageTransport

    /// Creates a transport that waits `connectSeconds` for a connection and gives up after `stallSeconds` without bytes;
    /// `resolver` looks up hosts.
    public init(resolver: any Resolver, connectSeconds: Int = 10, stallSeconds: Int = 600) {
      inner = StreamPageTransport(
        AppleNetwork(resolver, connectSeconds: connectSeconds), stallSeconds: stallSeconds)
    }

    /// Sends a request by HTTP/1.1; gzip is decoded.
    public func send(
      _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
    ) throws(TransportError) {
      try inner.send(request, begin: begin, receive: receive)
    }

    /// Makes later requests use new connections.
    public func networkChanged() { inner.networkChanged() }
  }
#endif
