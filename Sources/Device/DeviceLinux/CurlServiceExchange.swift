import HTTPClient
import HTTPDNS
import System

/// Sends queries to a name service over libcurl.
public final class CurlServiceExchange: ServiceExchange {
  private let client = Locked(HTTPClient())
  private let authorities: String?

  /// Creates an exchange that trusts the system's certificates.
  public convenience init() { self.init(authorities: nil) }

  /// - Parameter authorities: a PEM file of the certificates to trust; if nil, the system's.
  package init(authorities: String?) { self.authorities = authorities }

  /// Fetches over libcurl, without following redirects.
  public func get(_ request: ServiceRequest) throws(LookupError) -> [UInt8] {
    var httpRequest = HTTPRequest(
      "GET", request.url, fields: [("Accept", request.accept)],
      timeouts: HTTPTimeouts(
        connectMilliseconds: request.milliseconds, stallSeconds: 30, totalMilliseconds: request.milliseconds))
    httpRequest.authorities = authorities
    httpRequest.addresses = request.address.map { [$0.authority] }
    do {
      let reply = try client.withLock { $0 }.send(httpRequest, into: .memory(limit: request.limit))
      guard reply.status == 200 else { throw LookupError.refused(reply.status) }
      return reply.body
    } catch let error as HTTPClientError {
      throw LookupError(error)
    } catch let error as LookupError {
      throw error
    } catch {
      throw .unreachable("\(error)")
    }
  }

  /// Lets running queries go on, and makes later ones use new connections.
  public func networkChanged() { client.withLock { $0 = HTTPClient() } }
}

extension LookupError {
  init(_ error: HTTPClientError) {
    self =
      switch error {
      case .timedOut: .timedOut
      case .answerTooLong, .notHTTP: .badAnswer
      default: .unreachable("\(error)")
      }
  }
}

extension HTTPDNSResolver {
  /// Creates a resolver that sends its queries over libcurl.
  ///
  /// - Throws: `HTTPDNSError`.
  public convenience init(_ settings: HTTPDNSSettings) throws(HTTPDNSError) {
    try self.init(settings, exchange: CurlServiceExchange())
  }
}
