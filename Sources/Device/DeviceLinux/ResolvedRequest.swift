import HTTPClient
import HTTPDNS
import System
import XCacheRuntime

/// Sends a request to the addresses that a resolver returns, to further ones if these fail, and finally to those of the
/// system.
struct ResolvedRequest {
  let resolver: any Resolver
  let request: HTTPRequest

  /// - Parameters:
  ///   - isUntouched: whether nothing of an answer has been delivered yet.
  ///   - perform: sends the request once.
  func send(
    isUntouched: () -> Bool, by perform: (HTTPRequest) throws(HTTPClientError) -> HTTPReply
  ) throws(HTTPClientError) -> HTTPReply {
    guard let host = request.host else { return try perform(request) }
    var request = request
    for _ in 0..<AddressDialer.attempts {
      let found = resolver.resolve(host) { request.isCancelled }
      if request.isCancelled { throw .cancelled }
      guard let resolution = found else { break }
      let outcome = attempt(request, resolution, host, perform)
      request.isRepeat = outcome.isRepeat
      switch outcome.result {
      case .success(let reply): return reply
      case .failure(let error):
        guard outcome.failed, isUntouched() else { throw error }
      }
    }
    var plain = request
    plain.addresses = []
    return try perform(plain)
  }

  /// The result, whether the addresses failed, and whether the request was sent once already.
  private typealias Outcome = (result: Result<HTTPReply, HTTPClientError>, failed: Bool, isRepeat: Bool)

  private func attempt(
    _ request: HTTPRequest, _ resolution: Resolution, _ host: String,
    _ perform: (HTTPRequest) throws(HTTPClientError) -> HTTPReply
  ) -> Outcome {
    var httpRequest = request
    httpRequest.addresses = resolution.addresses.map(\.authority)
    httpRequest.timeouts.connectMilliseconds = min(
      request.timeouts.connectMilliseconds, AddressDialer.timeout)
    let taken = Locked<HTTPRoute?>(nil)
    httpRequest.routed = { route in taken.withLock { $0 = route } }
    let result = Result { () throws(HTTPClientError) in try perform(httpRequest) }
    let route = taken.withLock { $0 }
    let isRepeat = request.isRepeat || route?.isRepeat == true
    guard let route, route.isNew || route.address == nil else { return (result, false, isRepeat) }
    let failed = Self.failed(result, route, resolution.addresses)
    // After a change of networks it is tried again, and nothing is recorded.
    guard resolver.isCurrent(resolution) else {
      return (result, !route.isReady && !failed.isEmpty, isRepeat)
    }
    for address in failed { resolver.failed(address, of: host) }
    if failed.isEmpty || route.isReady, let address = route.address.flatMap({ IPAddress($0) }) {
      // For a later address, the time would include that of the failed ones before it.
      if address == resolution.addresses.first {
        resolver.connected(to: address, of: host, after: route.connectMilliseconds)
      }
    }
    return (result, !route.isReady && !failed.isEmpty, isRepeat)
  }

  /// Returns the addresses that turned out to be unusable.
  private static func failed(
    _ result: Result<HTTPReply, HTTPClientError>, _ route: HTTPRoute, _ addresses: [IPAddress]
  ) -> [IPAddress] {
    let reached = route.address.flatMap { IPAddress($0) }
    if case .failure(let error) = result, !route.isReady {
      switch error {
      // A connection was established, but the server isn't the host, or says nothing.
      case .tls, .timedOut, .reset, .cutOff: return reached.map { [$0] } ?? addresses
      case .couldNotConnect, .couldNotResolve: return addresses
      default: return []
      }
    }
    // libcurl tries the addresses of one family one after another, and those of the other family a moment later.
    guard let reached, let index = addresses.firstIndex(of: reached) else { return [] }
    let other = addresses[..<index].first { $0.isV6 != reached.isV6 }
    return addresses[..<index].filter { $0.isV6 == reached.isV6 } + (other.map { [$0] } ?? [])
  }
}
