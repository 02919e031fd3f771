import DeviceLinux
import XCacheRuntime

/// What a host's proxy needs of the system: connections, and a certificate for each host that TLS is ended for.
public protocol WebProxyNetwork: ProxyNetwork {
  /// The certificate, PEM, that this device shows the engine for `host`; nil where it can't be made.
  func certificate(for host: String) -> String?
}

extension LinuxProxyNetwork: WebProxyNetwork {}
