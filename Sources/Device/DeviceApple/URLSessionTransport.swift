import Foundation
import System
import XCacheDevice

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// The transport for Apple's systems: URLSession, without cookies, caches or stored credentials.
///
/// It also runs on Foundation for Linux, where its tests do; apps on Linux use `CurlTransport`.
public final class URLSessionTransport: Transport {
  private let sessions: SessionPool

  /// Creates a transport that gives up if nothing of an answer arrives for `stallSeconds`, with at most `connections` to a
  /// server that doesn't speak HTTP/2.
  public init(stallSeconds: Int = 30, connections: Int = 6) {
    sessions = SessionPool(redirects: 5) { Self.configuration(stallSeconds, connections) }
  }

  /// Returns the configuration of a session that stores nothing.
  static func configuration(_ stallSeconds: Int, _ connections: Int) -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = TimeInterval(stallSeconds)
    configuration.httpMaximumConnectionsPerHost = connections
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.urlCredentialStorage = nil
    return configuration
  }

  /// Lets running requests go on, and makes later ones use new connections.
  public func networkChanged() { sessions.networkChanged() }

  /// Fetches over URLSession: follows up to five redirects, decodes the system's content codings, and has no time limit as
  /// long as bytes arrive.
  public func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    try get(request, begin: { _ in true }, receive: receive)
  }

  /// The same, with `Range` and `If-Range`; fails if the server sends other bytes than were asked for.
  public func get(
    _ request: TransportRequest, begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    var ask = try Self.ask(request.url)
    if let seconds = request.stallSeconds { ask.timeoutInterval = TimeInterval(seconds) }
    for header in request.headers { ask.setValue(header.value, forHTTPHeaderField: header.name) }
    let (task, exchange) = sessions.begin(ask)
    // Ends it if the caller stops early; does nothing after its end.
    defer { task.cancel() }
    return try Self.read(exchange, of: task, request, begin: begin, receive: receive)
  }

  /// Posts over URLSession, waiting at most five seconds.
  public func tell(_ document: [UInt8], to url: String) {
    guard var ask = try? Self.ask(url) else { return }
    ask.httpMethod = "POST"
    ask.httpBody = Data(document)
    ask.setValue("application/json", forHTTPHeaderField: "Content-Type")
    let (task, exchange) = sessions.begin(ask)
    defer { task.cancel() }
    let end = ContinuousClock.now.advanced(by: .seconds(5))
    while let step = exchange.next(within: ContinuousClock.now.duration(to: end), of: task) {
      if case .end = step { return }
    }
  }

  static func ask(_ url: String) throws(TransportError) -> URLRequest {
    guard let url = URL(string: url), url.host != nil, let scheme = url.scheme?.lowercased(),
      scheme == "http" || scheme == "https"
    else { throw TransportError(.other, "not an http or https address: \(url)") }
    return URLRequest(url: url)
  }

  private static func read(
    _ exchange: SessionExchange, of task: URLSessionDataTask, _ request: TransportRequest,
    begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    var status = 0
    var count: Int64 = 0
    var failure: [UInt8] = []
    while true {
      guard let step = exchange.next(within: .milliseconds(500), of: task) else {
        if request.isCancelled() { throw TransportError(.stopped, "the caller ended it") }
        continue
      }
      switch step {
      case .head(let response):
        status = response.statusCode
        guard (200..<300).contains(status) else { continue }
        let head = TransportHead(status: status, asked: request.start) {
          response.value(forHTTPHeaderField: $0)
        }
        guard let head else {
          throw TransportError(.other, "the server sent another part of the file than was asked for")
        }
        guard begin(head) else { throw TransportError(.stopped, "the caller ended it") }
      case .bytes(let bytes):
        guard (200..<300).contains(status) else {
          failure += bytes.prefix(failureLimit - failure.count)
          continue
        }
        count += Int64(bytes.count)
        guard count <= request.limit else {
          throw TransportError(.tooLong, "the answer is longer than \(request.limit) bytes")
        }
        let shouldContinue = bytes.withUnsafeBytes { receive($0.bytes) }
        guard shouldContinue else { throw TransportError(.stopped, "the caller ended it") }
      case .end(let error?): throw TransportError(error, host: task.originalRequest?.url?.host ?? "")
      case .end(nil):
        let received = task.countOfBytesReceived
        var reply = TransportReply(
          status: status, received: received > 0 ? received : count, failure: failure)
        reply.isMultiplexed = exchange.isMultiplexed
        return reply
      }
    }
  }

  /// The most bytes to keep of an answer other than 2xx.
  private static let failureLimit = 1 << 16
}

extension TransportError {
  init(_ error: any Error, host: String) {
    let code = (error as? URLError)?.code
    let kind: Kind =
      switch code {
      case .timedOut?: .timedOut
      case .networkConnectionLost?: .broken
      case .cancelled?: .stopped
      case .cannotFindHost?, .cannotConnectToHost?, .dnsLookupFailed?, .notConnectedToInternet?,
        .secureConnectionFailed?, .serverCertificateUntrusted?, .serverCertificateHasBadDate?,
        .serverCertificateHasUnknownRoot?, .serverCertificateNotYetValid?, .internationalRoamingOff?,
        .dataNotAllowed?:
        .unreachable
      default: .other
      }
    self.init(kind, "\(host): \(error.localizedDescription)")
  }
}

extension Device {
  /// Opens the device's folder, creates it if it is missing, and completes what a crash left unfinished. Fetches over
  /// URLSession.
  ///
  /// - Throws: `badSetting`, `inUse`, `otherContents`, `file`.
  public convenience init(_ settings: DeviceSettings) throws(DeviceError) {
    try self.init(settings, transport: URLSessionTransport())
  }
}
