import HTTP
import XCacheDevice
// Requests and answers show them.
@_exported import struct HTTP.HTTPField
@_exported import struct HTTP.HTTPFields

/// Sends requests on behalf of pages: one request, one answer, with redirects returned to the caller.
///
/// `DeviceLinux` has an implementation over libcurl.
public protocol PageTransport: Sendable {
  /// Sends `request` and delivers the answer: first its head, then its body, decoded, piece by piece.
  ///
  /// The call blocks until the answer is complete. While `receive` is busy nothing more is read, so a body of any length
  /// takes little memory. `begin` and `receive` return false to end the exchange, which then throws `.stopped`.
  /// - Throws: `TransportError` if there is no complete answer.
  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError)

  /// Tells the transport that the device changed networks: later requests use new connections.
  func networkChanged()
}

extension PageTransport {
  /// Does nothing, for transports that keep no connections themselves.
  public func networkChanged() {}
}

/// A request on behalf of a page.
public struct NetworkRequest: Sendable {
  /// The body of a request.
  public enum Body: Sendable {
    case none
    case bytes([UInt8])
    /// `read` fills the buffer from `offset` on and returns how many bytes it wrote. It may be called again for the same
    /// bytes.
    case stream(
      length: Int64,
      read: @Sendable (_ offset: Int64, _ into: UnsafeMutableRawBufferPointer) throws -> Int)

    /// Whether there is no body.
    package var isEmpty: Bool { if case .none = self { true } else { false } }
  }

  /// `GET`, `POST`, …
  public var method: String
  /// Absolute, http or https.
  public var url: String
  /// In the order in which they are sent; names are in any case.
  public var headers: HTTPFields
  /// The body of the request.
  public var body: Body
  /// Called about once a second; true ends the exchange, which then throws `.stopped`.
  public var isCancelled: @Sendable () -> Bool
  /// The most bytes of the answer that may wait to be received, all in memory; if there are more the exchange throws
  /// `.tooLong`. If nil, a transport may write waiting bytes to a file.
  public var memoryLimit: Int?
  /// Called by the transport, if it knows, with whether the server takes several requests on one connection, as with
  /// HTTP/2: as soon as that is clear, before or with the answer's head.
  public var multiplexed: @Sendable (Bool) -> Void = { _ in }

  /// Called by `PageFetcher` for each request of a call, of which redirects make several.
  package var observe: @Sendable (FetchStep) -> Void = { _ in }

  /// Whether the caller follows redirects itself, so that nobody reads their bodies and they needn't be decoded.
  package var followsRedirects = false

  /// Creates a request.
  public init(
    _ url: String, method: String = "GET", headers: HTTPFields = [], body: Body = .none,
    isCancelled: @escaping @Sendable () -> Bool = { false }
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.isCancelled = isCancelled
  }
}

/// What happens on the way to an answer.
package enum FetchStep: Sendable {
  /// A request is about to be sent to `url`, with this `Cookie`.
  case sent(cookies: String?, to: String)
  /// The head of the answer from `url` is here; the cookies that it sets aren't in the engine's store yet.
  case answered(NetworkHead, from: String)
}

/// The part of an answer that precedes its body.
public struct NetworkHead: Sendable {
  /// Status, reason and fields.
  package var head: HTTPHead
  /// The URL that it came from, after redirects.
  public var url: String

  /// Creates a head.
  public init(status: Int, headers: HTTPFields, url: String) {
    self.init(HTTPHead(status, headers), url: url)
  }

  /// Creates the head of an answer from `url`.
  package init(_ head: HTTPHead, url: String) {
    self.head = head
    self.url = url
  }

  /// The HTTP status.
  public var status: Int { head.status }
  /// In the order received. If the body was decoded, its coding and length are left out.
  public var headers: HTTPFields { head.fields }
  /// The server's own reason phrase, if it sent one.
  public var reason: String? {
    get { head.reason }
    set { head.reason = newValue }
  }

  /// Returns the headers to pass on: a `Content-Length` that isn't the body's is left out. "If a message is received with
  /// both a Transfer-Encoding and a Content-Length header field, the Transfer-Encoding overrides the Content-Length" (RFC
  /// 9112 §6.3). A length that appears twice is kept once.
  package static func forwardable(_ headers: HTTPFields) -> HTTPFields {
    let lengths = headers.filter { $0.isNamed("content-length") }
    guard let first = lengths.first else { return headers }
    let announced = Set(headers.members("content-length"))
    let isReadable =
      announced.count == 1
      && announced.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } && Int64($0) != nil }
    let isCoded = headers.contains("transfer-encoding")
    var rest = headers
    rest.remove("content-length")
    if isReadable, !isCoded, let length = announced.first { rest.add(first.name, length) }
    return rest
  }

  /// Returns every value of a header; the name may be in any case.
  @available(*, deprecated, message: "use headers.values")
  public func values(_ name: String) -> [String] { headers.values(name) }
}

/// The engine's own cookie store; there is no other.
public protocol CookieStore: Sendable {
  /// Returns the value of `Cookie` for a request to `url`; nil if there are no cookies.
  func header(for url: String) async -> String?
  /// Stores the `Set-Cookie` values of an answer from `url`.
  func take(_ values: [String], from url: String) async
}
