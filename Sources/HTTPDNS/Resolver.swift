/// Says at which addresses a host is.
///
/// A transport asks it before it connects, and tells it how that went. The connection goes to an address, while the name of
/// the host stays what it was for TLS, its certificate, `Host` and cookies.
public protocol Resolver: Sendable {
  /// Where `host` is; nil: the system is to connect as it always does. The call blocks, for some seconds at most.
  func resolve(_ host: String) -> Resolution?

  /// The same for somebody who may have enough of waiting.
  ///
  /// - Parameters:
  ///   - host: a name.
  ///   - isCancelled: asked about five times a second, on the calling thread; true ends the call, which then gives nil.
  func resolve(_ host: String, isCancelled: () -> Bool) -> Resolution?

  /// A connection to an address stood after so many milliseconds.
  func connected(to address: IPAddress, of host: String, after milliseconds: Int)

  /// No connection could be made to an address, or what answered there isn't the host.
  func failed(_ address: IPAddress, of host: String)

  /// Whether the device has the network still that an answer was given on; how a connection went on another one says nothing.
  func isCurrent(_ resolution: Resolution) -> Bool
}

extension Resolver {
  /// Of a resolver that doesn't wait, or can't be interrupted.
  public func resolve(_ host: String, isCancelled: () -> Bool) -> Resolution? {
    isCancelled() ? nil : resolve(host)
  }

  /// As far as a resolver knows that asks nobody.
  public func isCurrent(_ resolution: Resolution) -> Bool { true }
}

/// Where a host is.
public struct Resolution: Hashable, Sendable {
  /// Who said so.
  public enum Source: String, Hashable, Sendable {
    /// It was held and fresh.
    case cache
    /// The service over HTTP.
    case service
    /// The system's own resolution.
    case system
    /// It was held and had run out, and nobody else had an answer.
    case stale
  }

  /// Best first, at least one.
  public let addresses: [IPAddress]
  /// Who said so.
  public let source: Source
  /// Counts the networks that the device had.
  var network = 0

  /// An answer of `source`.
  public init(_ addresses: [IPAddress], from source: Source) {
    self.addresses = addresses
    self.source = source
  }
}
