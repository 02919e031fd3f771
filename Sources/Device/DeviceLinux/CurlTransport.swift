import HTTPClient
import HTTPDNS
import System
import XCacheDevice

/// The transport for Linux: libcurl, with connections that are kept between calls.
public final class CurlTransport: Transport {
  private let client = Locked(HTTPClient())
  private let pool: HTTPPool
  private let timeouts: HTTPTimeouts
  private let authorities: String?
  private let resolver: (any Resolver)?

  /// Creates a transport that waits `connectSeconds` for a connection and gives up after `stallSeconds` without bytes.
  ///
  /// Files that a device fetches at the same time share one connection to a server that speaks HTTP/2; other servers get
  /// `connections`. `resolver` looks up hosts; without one the system does.
  public convenience init(
    connectSeconds: Int = 10, stallSeconds: Int = 30, connections: Int = 6, resolver: (any Resolver)? = nil
  ) {
    self.init(connectSeconds, stallSeconds, connections, authorities: nil, resolver: resolver)
  }

  /// The same, with all settings. `authorities` is a PEM file of the certificates to trust; if nil, the system's.
  package init(
    _ connectSeconds: Int, _ stallSeconds: Int, _ connections: Int, authorities: String?,
    resolver: (any Resolver)? = nil
  ) {
    pool = HTTPPool(connections: connections)
    timeouts = HTTPTimeouts(
      connectMilliseconds: connectSeconds.seconds * 1000, stallSeconds: stallSeconds.seconds)
    self.authorities = authorities
    self.resolver = resolver
  }

  /// Fetches over libcurl: follows up to five redirects, decodes gzip and zstd, and has no time limit as long as bytes
  /// arrive.
  public func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    try get(request, begin: { _ in true }, receive: receive)
  }

  /// The same, with `Range` and `If-Range`; fails if the server sends other bytes than were asked for.
  public func get(
    _ request: TransportRequest, begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    var count: Int64 = 0
    var hasBegun = false
    var httpRequest = HTTPRequest(
      "GET", request.url, fields: request.headers,
      timeouts: timeouts(of: request), redirects: 5, decodes: !request.isUncoded,
      watch: { _ in !request.isCancelled() })
    httpRequest.authorities = authorities
    do {
      return try withoutActuallyEscaping(begin) { begin throws(HTTPClientError) in
        try withoutActuallyEscaping(receive) { receive throws(HTTPClientError) in
          let sink = HTTPSink.stream(
            limit: request.limit,
            write: { bytes in
              count += Int64(bytes.count)
              guard receive(bytes.bytes) else { throw Stopped() }
            },
            begin: { received in
              let head = TransportHead(status: received.status, asked: request.start) { received.fields[$0] }
              hasBegun = true
              guard let head else { throw RangeMismatch() }
              guard begin(head) else { throw Stopped() }
            })
          let reply = try send(httpRequest, isUntouched: { !hasBegun }) {
            httpRequest throws(HTTPClientError) in
            try request.isOneOfMany
              ? pool.send(httpRequest, into: sink) : client.withLock { $0 }.send(httpRequest, into: sink)
          }
          var result = TransportReply(
            status: reply.status, received: Self.wireBytes(of: reply) ?? count, failure: reply.body)
          result.isMultiplexed = reply.isMultiplexed
          return result
        }
      }
    } catch {
      throw TransportError(error)
    }
  }

  private func timeouts(of request: TransportRequest) -> HTTPTimeouts {
    guard let seconds = request.stallSeconds?.seconds else { return timeouts }
    var timeouts = timeouts
    timeouts.stallSeconds = min(timeouts.stallSeconds, seconds)
    timeouts.connectMilliseconds = min(timeouts.connectMilliseconds, seconds * 1000)
    return timeouts
  }

  /// Posts over libcurl, waiting at most five seconds.
  public func tell(_ document: [UInt8], to url: String) {
    var httpRequest = HTTPRequest(
      "POST", url, fields: [("Content-Type", "application/json")], body: .bytes(document),
      timeouts: HTTPTimeouts(connectMilliseconds: 3_000, stallSeconds: 5, totalMilliseconds: 5_000))
    // The body is smaller than the question would be, which costs a round trip, and a second where nobody answers it.
    httpRequest.asksBeforeBody = false
    _ = try? send(httpRequest, isUntouched: { false }) { httpRequest throws(HTTPClientError) in
      try client.withLock { $0 }.send(httpRequest, into: .memory(limit: 1 << 16))
    }
  }

  /// Lets running requests go on, and makes later ones use new connections.
  public func networkChanged() {
    pool.forgetConnections()
    client.withLock { $0 = HTTPClient() }
  }

  private func send(
    _ request: HTTPRequest, isUntouched: () -> Bool,
    by perform: (HTTPRequest) throws(HTTPClientError) -> HTTPReply
  ) throws(HTTPClientError) -> HTTPReply {
    guard let resolver else { return try perform(request) }
    return try ResolvedRequest(resolver: resolver, request: request)
      .send(isUntouched: isUntouched, by: perform)
  }

  /// Returns the size of the encoded body, if the server announced it.
  private static func wireBytes(of reply: HTTPReply) -> Int64? {
    reply.fields["content-length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }

  private struct Stopped: Error {}
  /// The server sent other bytes than were asked for.
  struct RangeMismatch: Error {}
}

extension Int {
  /// Clamped to the range of seconds that a request may wait.
  var seconds: Int { Swift.min(Swift.max(self, 1), 3600) }
}

extension TransportError {
  init(_ error: HTTPClientError) {
    let kind: Kind =
      switch error {
      case .couldNotResolve, .couldNotConnect, .refusedAddress, .tls: .unreachable
      case .timedOut: .timedOut
      case .reset, .cutOff: .broken
      case .answerTooLong: .tooLong
      case .callback(is CurlTransport.RangeMismatch): .other
      case .callback, .cancelled: .stopped
      case .badURL, .badField, .notHTTP, .redirect, .bodyEnded, .failed: .other
      }
    if case .callback(is CurlTransport.RangeMismatch) = error {
      self.init(.other, "the server sent another part of the file than was asked for")
    } else {
      self.init(kind, "\(error)")
    }
  }
}

extension Device {
  /// Opens the device's folder, creates it if it is missing, and completes what a crash left unfinished. Fetches over
  /// libcurl.
  ///
  /// - Throws: `badSetting`, `inUse`, `otherContents`, `file`.
  public convenience init(_ settings: DeviceSettings) throws(DeviceError) {
    try self.init(settings, transport: CurlTransport())
  }
}
