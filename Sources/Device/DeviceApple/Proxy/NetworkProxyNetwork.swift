#if canImport(Network)
  import Foundation
  import HTTPDNS
  import Network
  import Security
  import System
  import XCacheDevice
  import XCacheRuntime

  /// Network.framework's TLS and connections, for the proxy inside an app.
  ///
  /// The framework can't start TLS on a connection on which data was exchanged before, as after a CONNECT. So each host has
  /// a second listener that serves TLS from the first byte on, and the engine's connection is spliced to a connection to
  /// it.
  public final class NetworkProxyNetwork: ProxyNetwork {
    private struct Inner: Sendable {
      let listener: LoopbackListener
      let arrivals: Monitor<Arrivals<NWConnection>>
    }

    private let network: AppleNetwork
    private let identities = OwnIdentities()
    private let inners = Locked<[String: Inner]>([:])

    /// - Parameters:
    ///   - resolver: looks up hosts; if nil, the system does.
    ///   - connectSeconds: how long to wait for a connection.
    public init(resolver: (any Resolver)? = nil, connectSeconds: Int = 10) {
      network = AppleNetwork(resolver, connectSeconds: connectSeconds)
    }

    deinit { stop() }

    /// Returns the DER certificate that this device shows an engine for `host`; a navigation delegate accepts it for that
    /// host only. Nil if it can't be made.
    public func certificate(for host: String) -> [UInt8]? { identities.own(for: host)?.certificate }

    /// Stops the listeners; the next connection starts new ones, as after the system took the sockets of a suspended app.
    func stop() {
      let all = inners.withLock { inners in
        defer { inners = [:] }
        return Array(inners.values)
      }
      for inner in all { inner.listener.stop() }
    }

    /// Connects to a server.
    public func connect(
      to host: String, port: Int, isSecure: Bool, isCancelled: () -> Bool
    ) throws(TransportError) -> any ProxyStream {
      try network.connect(to: host, port: port, isSecure: isSecure, isCancelled: isCancelled)
    }

    /// Performs TLS with an engine that takes the other side of `stream` for `host`; nil if the handshake fails.
    public func secure(
      _ stream: any ProxyStream, after early: [UInt8], as host: String
    ) -> (any ProxyStream)? {
      guard let (inner, outer) = connectInner(host), let port = outer.localPort else { return nil }
      inner.arrivals.withLock { $0.expect(port) }
      _ = early.withUnsafeBytes { outer.write($0, within: 5_000) }
      let isSpliced = try? OSThread(name: "proxy splice") { ProxyTunnel.join(stream, outer) }
      let arrived = isSpliced.flatMap { _ in inner.arrivals.waiting(for: .seconds(5)) { $0.take(port) } }
      guard let arrived, let secured = NetworkStream(starting: arrived, within: 10_000) else {
        inner.arrivals.withLock { $0.forget(port) }?.cancel()
        outer.close()
        return nil
      }
      return secured
    }

    /// Connects to the listener that serves TLS for a host; replaces the listener if it no longer answers.
    private func connectInner(_ host: String) -> (Inner, NetworkStream)? {
      for _ in 0..<2 {
        guard let inner = inner(for: host) else { return nil }
        if let outer = Self.connection(to: inner.listener.port) { return (inner, outer) }
        inner.listener.stop()
      }
      return nil
    }

    private static func connection(to port: UInt16) -> NetworkStream? {
      guard let port = NWEndpoint.Port(rawValue: port) else { return nil }
      let connection = NWConnection(
        to: .hostPort(host: .ipv4(.loopback), port: port), using: NWParameters(tls: nil))
      return NetworkStream(starting: connection, within: 2000)
    }

    private func inner(for host: String) -> Inner? {
      inners.withLock { inners in
        if let found = inners[host], found.listener.isListening { return found }
        guard let own = identities.own(for: host) else { return nil }
        let tls = NWProtocolTLS.Options()
        let options = tls.securityProtocolOptions
        sec_protocol_options_set_local_identity(options, own.identity)
        sec_protocol_options_set_min_tls_protocol_version(options, .TLSv12)
        sec_protocol_options_add_tls_application_protocol(options, "http/1.1")
        let arrivals = Monitor(Arrivals<NWConnection>())
        let listener = try? LoopbackListener(tls, port: nil) { connection in
          let now = Clock.continuousNanoseconds()
          let ended = arrivals.broadcasting { arrivals -> [NWConnection] in
            guard let port = connection.endpoint.port else { return [connection] }
            return arrivals.add(connection, from: port, at: now)
          }
          for connection in ended { connection.cancel() }
        }
        guard let listener else { return nil }
        let inner = Inner(listener: listener, arrivals: arrivals)
        inners[host] = inner
        return inner
      }
    }
  }
#endif
