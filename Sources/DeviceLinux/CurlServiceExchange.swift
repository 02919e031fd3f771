import HTTPClient
import HTTPDNS
import System

/// Carries questions to a name service over libcurl.
public final class CurlServiceExchange: ServiceExchange {
  private let client = Locked(HTTPClient())
  private let authorities: String?

  /// An exchange that trusts the system's certificates.
  public convenience init() { self.init(authorities: nil) }

  /// - Parameter authorities: a file of the certificates to trust; nil: the system's.
  package init(authorities: String?) { self.authorities = authorities }

  /// Fetches by libcurl, without redirects.
  public func get(_ request: ServiceRequest) throws(LookupError) -> [UInt8] {
    var ask = HTTPRequest(
      "GET", request.url, fields: [HTTPField("Accept", request.accept)],
      timeouts: HTTPTimeouts(connect: request.milliseconds, stall: 30, total: request.milliseconds))
    ask.authorities = authorities
    ask.addresses = request.address.map { [$0.authority] }
    do {
      let reply = try client.withLock { $0 }.send(ask, into: .memory(limit: request.limit))
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

  /// What is under way goes on; questions from now on take new connections.
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
  /// A resolver whose questions go out over libcurl.
  ///
  /// - Throws: `HTTPDNSError`.
  public convenience init(_ settings: HTTPDNSSettings) throws(HTTPDNSError) {
    try self.init(settings, exchange: CurlServiceExchange())
  }
}
