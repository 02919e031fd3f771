/// Resolves host names to addresses.
///
/// A transport calls it before it connects, and reports how the connection went. The connection goes to an address, while
/// TLS, its certificate, `Host` and cookies keep using the host's name.
public protocol Resolver: Sendable {
  /// Returns the addresses of `host`; nil if the system should connect as usual. The call blocks, for some seconds at most.
  func resolve(_ host: String) -> Resolution?

  /// The same, for callers that may stop waiting.
  ///
  /// - Parameters:
  ///   - host: the name of the host.
  ///   - isCancelled: called about five times a second, on the calling thread; true ends the call, which then returns nil.
  func resolve(_ host: String, isCancelled: () -> Bool) -> Resolution?

  /// Records that a connection to an address was established after `milliseconds`.
  func connected(to address: IPAddress, of host: String, after milliseconds: Int)

  /// Records that no connection to an address could be made, or that the server there isn't the host.
  func failed(_ address: IPAddress, of host: String)

  /// Whether the device is still on the network that a resolution was made on; connections on another one say nothing.
  func isCurrent(_ resolution: Resolution) -> Bool
}

extension Resolver {
  /// For resolvers that don't wait or can't be interrupted.
  public func resolve(_ host: String, isCancelled: () -> Bool) -> Resolution? {
    isCancelled() ? nil : resolve(host)
  }

  /// Returns true, for resolvers that ask no one.
  public func isCurrent(_ resolution: Resolution) -> Bool { true }
}

/// The addresses of a host.
public struct Resolution: Hashable, Sendable {
  /// Where a resolution came from.
  public enum Source: String, Hashable, Sendable {
    /// A cached answer that was fresh.
    case cache
    /// The service over HTTP.
    case service
    /// The system's name resolution.
    case system
    /// A cached answer that had expired, since no source had a better one.
    case stale
  }

  /// The addresses, best first, at least one.
  public let addresses: [IPAddress]
  /// Where the resolution came from.
  public let source: Source
  /// The number of the network it was made on.
  var network = 0

  /// Creates a resolution.
  public init(_ addresses: [IPAddress], from source: Source) {
    self.addresses = addresses
    self.source = source
  }
}
