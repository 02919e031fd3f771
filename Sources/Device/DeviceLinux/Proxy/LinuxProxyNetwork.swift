import HTTPDNS
import Linux
import System
import TLS
import XCacheDevice
import XCacheRuntime

/// TLS and connections, for the proxy inside an app.
///
/// Each host has its own key and certificate, made when it is first asked for and never written to the disk. No certificate
/// can sign another.
public final class LinuxProxyNetwork: ProxyNetwork {
  private let own = Locked<[String: SelfSignedCertificate]>([:])
  private let authorities: String?
  private let dialer: AddressDialer
  /// What connections to servers share; made when it is first needed.
  private let client = Locked<TLSContext?>(nil)

  /// The most hosts that get a certificate.
  private static let maxHosts = 256

  /// - Parameters:
  ///   - authorities: a PEM file of the certificates to trust in servers; if nil, the system's.
  ///   - resolver: looks up hosts; if nil, the system does.
  public convenience init(authorities: String? = nil, resolver: (any Resolver)? = nil) {
    self.init(authorities: authorities, dialer: AddressDialer(resolver))
  }

  package init(authorities: String?, dialer: AddressDialer) {
    self.authorities = authorities
    self.dialer = dialer
  }

  /// Returns the PEM certificate that this device shows an engine for `host`; an adapter makes the engine accept it for
  /// that host only. Nil if it can't be made.
  public func certificate(for host: String) -> String? { own(for: host)?.pem }

  private func own(for host: String) -> SelfSignedCertificate? {
    own.withLock { own in
      if let found = own[host] { return found }
      guard own.count < Self.maxHosts, !host.contains(where: { $0 == "," || $0 == "\0" }) else { return nil }
      let address = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
      let name = (IPAddress(address) == nil ? "DNS:" : "IP:") + address
      own[host] = SelfSignedCertificate(for: name)
      return own[host]
    }
  }

  /// Performs TLS with an engine that takes the other side of `stream` for `host`; nil if the handshake fails.
  public func secure(
    _ stream: any ProxyStream, after early: [UInt8], as host: String
  ) -> (any ProxyStream)? {
    guard let socket = stream as? SocketStream, let own = own(for: host) else { return nil }
    return TLSStream(socket, own.context.session(on: socket.raw, after: early))
  }

  /// Connects to a server, using the resolver's addresses if it has any; the addresses of a host are raced (RFC 8305).
  public func connect(
    to host: String, port: Int, isSecure: Bool, isCancelled: () -> Bool
  ) throws(TransportError) -> any ProxyStream {
    let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    return try dialer.dial(bare, system: { Self.addresses(of: bare) }, isCancelled: isCancelled) {
      address, attempt throws(TransportError) -> any ProxyStream in
      let socket = try Self.connection(to: bare, at: address, port, attempt)
      guard isSecure else { return socket }
      let stream = self.clientContext().flatMap {
        TLSStream(socket, $0.session(on: socket.raw, to: host), within: attempt.milliseconds)
      }
      guard let stream else {
        throw TransportError(.unreachable, "\(host): no TLS with a certificate that is trusted")
      }
      return stream
    }
  }

  private func clientContext() -> TLSContext? {
    client.withLock { client in
      if client == nil { client = TLSContext(trusting: authorities) }
      return client
    }
  }

  /// In the system's order (RFC 6724), but with the families alternating (RFC 8305 §4).
  private static func addresses(of host: String) -> [IPAddress] {
    let found = HostAddresses.of(host).compactMap { IPAddress(bytes: $0) }
    return IPAddress.inTurns(found, beginningWithV6: found.first?.isV6 ?? false)
  }

  private static func connection(
    to host: String, at address: IPAddress?, _ port: Int, _ attempt: ConnectionAttempt
  ) throws(TransportError) -> SocketStream {
    guard let address, let socketAddress = UInt16(exactly: port).map({ SocketAddress(address, port: $0) })
    else {
      throw TransportError(.unreachable, "\(host): there is no such address")
    }
    do throws(SystemError) {
      let stream = SocketStream(try Kernel.beginConnecting(to: socketAddress))
      attempt.onEnd { stream.close() }
      try Kernel.finishConnecting(stream.raw, to: socketAddress, milliseconds: attempt.milliseconds)
      return stream
    } catch {
      throw TransportError(.unreachable, "\(host): \(error)")
    }
  }
}
