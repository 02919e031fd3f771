import HTTP
import HTTPClient
import HTTPDNS
import System
import XCacheDevice
import XCacheRuntime

/// Sends page requests over libcurl: those to a server that speaks HTTP/2 share one connection, other servers get six.
///
/// A page that is slow to read an answer delays no other request. Over HTTP/1.1 the server waits for the page; over HTTP/2
/// the data goes to an unlinked file below `$TMPDIR` or /var/tmp, still encoded as received.
public final class CurlPageTransport: PageTransport {
  private let pool: HTTPPool
  let timeouts: HTTPTimeouts
  private let authorities: String?
  private let resolver: (any Resolver)?
  /// For servers whose answers browsers can read but libcurl can't: some lines of the head aren't headers.
  private let streams: StreamPageTransport
  private let streamServers = Locked<[String]>([])

  /// The most such servers that are remembered.
  private static let maxStreamServers = 32

  /// Creates a transport that waits `connectSeconds` for a connection and gives up after `stallSeconds` without bytes.
  /// `resolver` looks up hosts; without one the system does. `authorities` is a PEM file of the certificates to trust
  /// instead of the system's. A server that doesn't speak HTTP/2 gets at most `connections`.
  public convenience init(
    connectSeconds: Int = 10, stallSeconds: Int = 600, connections: Int = 6,
    resolver: (any Resolver)? = nil, authorities: String? = nil
  ) {
    self.init(
      connectSeconds, stallSeconds, connections: connections, authorities: authorities, resolver: resolver)
  }

  /// The same, with all settings. `authorities` is a PEM file of the certificates to trust; if nil, the system's.
  package init(
    _ connectSeconds: Int, _ stallSeconds: Int, connections: Int = 6, authorities: String?,
    resolver: (any Resolver)? = nil
  ) {
    pool = HTTPPool(connections: min(max(connections, 1), 64))
    var timeouts = HTTPTimeouts(
      connectMilliseconds: connectSeconds.seconds * 1000, stallSeconds: stallSeconds.seconds)
    // An event stream may send little for a long time, as long as it sends something.
    timeouts.bytesPerSecond = 1
    self.timeouts = timeouts
    self.authorities = authorities
    self.resolver = resolver
    streams = StreamPageTransport(
      LinuxProxyNetwork(
        authorities: authorities, dialer: AddressDialer(resolver, connectSeconds: connectSeconds)),
      stallSeconds: stallSeconds)
  }

  /// Sends a request over libcurl; gzip, deflate, br and zstd are decoded. Responses that libcurl can't read are fetched by
  /// our own HTTP/1.1, which parses them as engines do.
  public func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    let server = RequestAddress(request.url)?.server ?? ""
    if streamServers.withLock({ $0.contains(server) }) {
      return try streams.send(request, begin: begin, receive: receive)
    }
    let httpRequest = httpRequest(for: request)
    let host = httpRequest.host ?? request.url
    var hasBegun = false
    var decoder: ContentDecoder?
    func receiveHead(_ head: HTTPHead) throws {
      hasBegun = true
      let decoded = NetworkHead.decoded(head, to: request, host: host)
      decoder = decoded.decoder
      guard begin(decoded.head) else { throw Stopped() }
    }
    do {
      try withoutActuallyEscaping(receive) { receive throws(HTTPClientError) in
        try withoutActuallyEscaping(receiveHead) { receiveHead throws(HTTPClientError) in
          let deliver = { (bytes: RawSpan) throws in guard receive(bytes) else { throw Stopped() } }
          let sink = HTTPSink.page(
            begin: receiveHead,
            write: { bytes in
              guard let decoder else { return try deliver(bytes.bytes) }
              try decoder.decode(bytes.bytes, deliver)
            })
          try perform(httpRequest, sink, isUntouched: { !hasBegun })
        }
      }
    } catch {
      switch error {
      case .callback(is Stopped): throw TransportError(.stopped, "the caller ended it")
      case .callback(let error as TransportError): throw error
      // A request that may have been carried out isn't sent again; the next one to this server uses the other transport.
      case .notHTTP where !hasBegun:
        let isSafe = ["GET", "HEAD"].contains(request.method) && request.body.isEmpty
        if isSafe { try streams.send(request, begin: begin, receive: receive) }
        useStreams(for: server)
        if isSafe { return }
        throw TransportError(error)
      default: throw TransportError(error)
      }
    }
    try decoder?.finish()
  }

  /// Lets running requests go on, and makes later ones use new connections.
  public func networkChanged() {
    pool.forgetConnections()
    streams.networkChanged()
  }

  private func httpRequest(for request: NetworkRequest) -> HTTPRequest {
    var httpRequest = HTTPRequest(
      request.method, request.url, fields: Self.fields(of: request), body: Self.body(of: request),
      timeouts: timeouts, watch: { _ in !request.isCancelled() })
    // As in browsers.
    httpRequest.asksBeforeBody = false
    httpRequest.takesControls = true
    httpRequest.authorities = authorities
    httpRequest.multiplexed = request.multiplexed
    httpRequest.memoryLimit = request.memoryLimit
    return httpRequest
  }

  private func useStreams(for server: String) {
    streamServers.withLock { servers in
      if !servers.contains(server) { servers = servers.suffix(Self.maxStreamServers - 1) + [server] }
    }
  }

  private func perform(
    _ httpRequest: HTTPRequest, _ sink: HTTPSink, isUntouched: () -> Bool
  ) throws(HTTPClientError) {
    guard let resolver else {
      _ = try pool.send(httpRequest, into: sink)
      return
    }
    _ = try ResolvedRequest(resolver: resolver, request: httpRequest).send(isUntouched: isUntouched) {
      httpRequest throws(HTTPClientError) in try pool.send(httpRequest, into: sink)
    }
  }

  private struct Stopped: Error {}

  /// Leaves out the headers that libcurl writes itself, so that they aren't sent twice.
  private static func fields(of request: NetworkRequest) -> HTTPFields {
    let own: Set<String> = [
      "accept-encoding", "connection", "content-length", "expect", "host", "transfer-encoding",
    ]
    // A part of coded data can't be decoded.
    let isPart = request.headers.contains("range")
    return request.headers.without(own)
      + [("Accept-Encoding", isPart ? "identity" : "gzip, deflate, br, zstd")]
  }

  private static func body(of request: NetworkRequest) -> HTTPBody {
    switch request.body {
    case .none: request.method == "POST" ? .bytes([]) : .none
    case .bytes(let bytes): .bytes(bytes)
    case .stream(let length, let read): .stream(length: length, read: read)
    }
  }
}
