import HTTPDNS
import System
import XCacheClient

/// Connects to the addresses that a resolver gives, one after another, and at last to wherever the system says; tells the resolver
/// how that went.
package struct AddressDialer: Sendable {
  private let resolver: (any Resolver)?

  /// - Parameter resolver: nil: the system says where hosts are.
  package init(_ resolver: (any Resolver)?) { self.resolver = resolver }

  /// Times that the resolver is asked: its first addresses may be stale or wrong.
  private static let attempts = 2

  /// - Parameters:
  ///   - host: without brackets.
  ///   - connect: makes a connection to an address, or to where the system says that the host is, TLS included.
  /// - Throws: what the last `connect` threw.
  package func dial<Connection>(
    _ host: String, by connect: (IPAddress?) throws(TransportError) -> Connection
  ) throws(TransportError) -> Connection {
    if let resolver {
      for _ in 0..<Self.attempts {
        guard let resolution = resolver.resolve(host) else { break }
        for (place, address) in resolution.addresses.enumerated() {
          let start = Clock.monotonicNanoseconds()
          do throws(TransportError) {
            let connection = try connect(address)
            let time = Int((Clock.monotonicNanoseconds() - start) / 1_000_000)
            if place == 0, resolver.isCurrent(resolution) {
              resolver.connected(to: address, of: host, after: time)
            }
            return connection
          } catch {
            guard error.kind != .stopped else { throw error }
            if resolver.isCurrent(resolution) { resolver.failed(address, of: host) }
          }
        }
      }
    }
    return try connect(nil)
  }
}
