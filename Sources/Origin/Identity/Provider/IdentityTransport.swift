import HTTP
import HTTPClient
import Values

/// How providers are asked: over HTTP, or by a test's closure.
package struct IdentityTransport: Sendable {
  /// Sends a request and returns the answer, whatever its status, of at most `limit` bytes.
  package let send: @Sendable (_ request: HTTPRequest, _ limit: Int) throws(HTTPClientError) -> HTTPReply

  package init(_ send: @escaping @Sendable (HTTPRequest, Int) throws(HTTPClientError) -> HTTPReply) {
    self.send = send
  }

  /// Over HTTP, with TLS where the URL says so. What names lead to link-local addresses, where clouds keep their machines'
  /// credentials, or to other special ones, isn't asked; nor is anything but this machine by plain http.
  ///
  /// - Parameters:
  ///   - authorities: a PEM file of the certificates to trust; nil: the system's.
  ///   - isStopping: whether the process ends, so that a call is broken off.
  package static func http(
    authorities: String? = nil, isStopping: @escaping @Sendable () -> Bool = { false }
  ) -> IdentityTransport {
    let client = HTTPClient(authorities: authorities)
    return IdentityTransport { (request, limit) throws(HTTPClientError) in
      var request = request
      let isPlain = request.url.hasPrefix("http:")
      request.admits = { address in
        if isPlain { return IPAddress(bytes: address)?.isLoopback ?? false }
        return AddressScope(address) != .special
      }
      // What a proxy connects to isn't seen here, and it would read what isn't encrypted.
      if isPlain { request.usesProxy = false }
      request.watch = { _ in !isStopping() }
      return try client.send(request, into: .memory(limit: limit))
    }
  }
}
