import HTTPClient
import HTTPDNS
import System
import XCacheClient
import XCacheRuntime

/// Requests of pages over libcurl: those to a server that speaks HTTP/2 share one connection, to another there are six.
///
/// A page that takes its time with an answer holds up no other. Over HTTP/1.1 the server waits for it; over HTTP/2 what comes
/// meanwhile goes to a file without a name below `$TMPDIR` or /var/tmp, in the coding that it came in.
public final class CurlPageTransport: PageTransport {
  private let pool: HTTPPool
  let timeouts: HTTPTimeouts
  private let authorities: String?
  private let resolver: (any Resolver)?
  /// For servers whose answers libcurl doesn't read, which browsers do: with lines in their heads that are no headers.
  private let streams: StreamPageTransport
  private let odd = Locked<[String]>([])

  /// Servers of that kind that are remembered.
  private static let mostOdd = 32

  /// A transport that waits `connectSeconds` for a connection and `stallSeconds` for bytes that don't come. `resolver` says
  /// where hosts are; without one the system does. `authorities` is a file of the certificates to trust, PEM, in place of the
  /// system's. To a server that doesn't speak HTTP/2 there are `connections` at most.
  public convenience init(
    connectSeconds: Int = 10, stallSeconds: Int = 600, connections: Int = 6,
    resolver: (any Resolver)? = nil, authorities: String? = nil
  ) {
    self.init(
      connectSeconds, stallSeconds, connections: connections, authorities: authorities, resolver: resolver)
  }

  /// - Parameter authorities: a file of the certificates to trust; nil: the system's.
  package init(
    _ connectSeconds: Int, _ stallSeconds: Int, connections: Int = 6, authorities: String?,
    resolver: (any Resolver)? = nil
  ) {
    pool = HTTPPool(connections: min(max(connections, 1), 64))
    var timeouts = HTTPTimeouts(connect: connectSeconds.seconds * 1000, stall: stallSeconds.seconds)
    // A stream of events may say little for long, as long as it says something.
    timeouts.bytesPerSecond = 1
    self.timeouts = timeouts
    self.authorities = authorities
    self.resolver = resolver
    streams = StreamPageTransport(
      LinuxProxyNetwork(
        authorities: authorities, dialer: AddressDialer(resolver, connectSeconds: connectSeconds)),
      stallSeconds: stallSeconds)
  }

  /// Sends by libcurl; gzip, deflate, br and zstd are undone. What libcurl can't read goes by our own HTTP/1.1, which reads as engines do.
  public func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    let server = RequestAddress(request.url)?.server ?? ""
    if odd.withLock({ $0.contains(server) }) {
      return try streams.send(request, begin: begin, receive: receive)
    }
    var ask = HTTPRequest(
      request.method, request.url, fields: Self.fields(of: request), body: Self.body(of: request),
      timeouts: timeouts, watch: { _ in !request.isCancelled() })
    // As browsers do.
    ask.asksBeforeBody = false
    ask.takesControls = true
    ask.authorities = authorities
    ask.multiplexed = request.multiplexed
    ask.memoryLimit = request.memoryLimit
    let host = ask.host ?? request.url
    var hasBegun = false
    var decoder: ContentDecoder?
    func told(_ reply: HTTPReply) throws {
      hasBegun = true
      let decoded = NetworkHead.decoded(
        reply.status, reason: reply.reason, reply.fields.map { ($0.name, $0.value) }, to: request, host: host)
      decoder = decoded.decoder
      guard begin(decoded.head) else { throw Stopped() }
    }
    do {
      try withoutActuallyEscaping(receive) { receive throws(HTTPClientError) in
        try withoutActuallyEscaping(told) { told throws(HTTPClientError) in
          let hand = { (bytes: RawSpan) throws in guard receive(bytes) else { throw Stopped() } }
          let sink = HTTPSink.page(
            begin: told,
            write: { bytes in
              guard let decoder else { return try hand(bytes.bytes) }
              try decoder.decode(bytes.bytes, hand)
            })
          try perform(ask, sink, isUntouched: { !hasBegun })
        }
      }
    } catch {
      switch error {
      case .callback(is Stopped): throw TransportError(.stopped, "the caller ended it")
      case .callback(let error as TransportError): throw error
      // What may have been carried out isn't sent again; what comes next goes the other way.
      case .notHTTP where !hasBegun:
        let isSafe = ["GET", "HEAD"].contains(request.method) && request.body.isEmpty
        if isSafe { try streams.send(request, begin: begin, receive: receive) }
        odd.withLock { odd in
          if !odd.contains(server) { odd = odd.suffix(Self.mostOdd - 1) + [server] }
        }
        if isSafe { return }
        throw TransportError(error)
      default: throw TransportError(error)
      }
    }
    try decoder?.finish()
  }

  /// What is under way goes on; requests from now on take new connections.
  public func networkChanged() {
    pool.forgetConnections()
    streams.networkChanged()
  }

  private func perform(
    _ ask: HTTPRequest, _ sink: HTTPSink, isUntouched: () -> Bool
  ) throws(HTTPClientError) {
    guard let resolver else {
      _ = try pool.send(ask, into: sink)
      return
    }
    _ = try ResolvedRequest(resolver: resolver, request: ask).send(isUntouched: isUntouched) {
      ask throws(HTTPClientError) in try pool.send(ask, into: sink)
    }
  }

  private struct Stopped: Error {}

  /// What libcurl writes itself is left out, so that it isn't there twice.
  private static func fields(of request: NetworkRequest) -> [HTTPField] {
    let own: Set<String> = [
      "accept-encoding", "connection", "content-length", "expect", "host", "transfer-encoding",
    ]
    // A part of something coded can't be decoded.
    let isPart = request.headers.contains { $0.name.lowercased() == "range" }
    return request.headers.filter { !own.contains($0.name.lowercased()) }.map { HTTPField($0.name, $0.value) }
      + [HTTPField("Accept-Encoding", isPart ? "identity" : "gzip, deflate, br, zstd")]
  }

  private static func body(of request: NetworkRequest) -> HTTPBody {
    switch request.body {
    case .none: request.method == "POST" ? .bytes([]) : .none
    case .bytes(let bytes): .bytes(bytes)
    case .stream(let length, let read): .stream(length: length, read: read)
    }
  }
}
