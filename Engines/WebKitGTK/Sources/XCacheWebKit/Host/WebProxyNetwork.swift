import DeviceLinux
import XCacheRuntime

/// What a host's proxy needs from the system: connections, and a certificate for each host that TLS is terminated for.
public protocol WebProxyNetwork: ProxyNetwork {
  /// Returns the PEM certificate that this device shows the engine for `host`; nil if it can't be made.
  func certificate(for host: String) -> String?
}

extension LinuxProxyNetwork: WebProxyNetwork {}
