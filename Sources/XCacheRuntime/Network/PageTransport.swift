import XCacheClient

/// How a request on a page's behalf reaches a server: one request, one answer, redirects given back.
///
/// `DeviceLinux` has one over libcurl.
public protocol PageTransport: Sendable {
  /// Sends `request` and hands the answer over: first its head, then its body, decoded, piece by piece.
  ///
  /// The call blocks until the answer is whole; while `receive` takes its time no more is read, so that a body of any
  /// length takes little memory. `begin` and `receive` give false to end the exchange, which then throws `.stopped`.
  /// - Throws: `TransportError`, where there is no whole answer.
  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError)

  /// The device has another network: requests from now on go out on connections of their own.
  func networkChanged()
}

extension PageTransport {
  /// As far as a transport has no connections that it keeps itself.
  public func networkChanged() {}
}

/// A request on a page's behalf.
public struct NetworkRequest: Sendable {
  /// What is sent behind the head.
  public enum Body: Sendable {
    case none
    case bytes([UInt8])
    /// `read` fills the buffer from `offset` on and gives how many bytes it wrote. It may be asked for the same bytes again.
    case stream(
      length: Int64,
      read: @Sendable (_ offset: Int64, _ into: UnsafeMutableRawBufferPointer) throws -> Int)

    /// Whether there is one.
    package var isEmpty: Bool { if case .none = self { true } else { false } }
  }

  /// `GET`, `POST`, …
  public var method: String
  /// Absolute, http or https.
  public var url: String
  /// In the order in which they are sent; names in any case.
  public var headers: [(name: String, value: String)]
  /// What is sent behind the head.
  public var body: Body
  /// Asked about once a second; true ends the exchange, which then throws `.stopped`.
  public var isCancelled: @Sendable () -> Bool
  /// Bytes of the answer that may wait for whoever takes them, all of them in memory; more end the exchange, which then throws
  /// `.tooLong`. nil: a transport may write what waits to a file.
  public var memoryLimit: Int?
  /// To be told by the transport, where it knows, whether the server takes several requests on one connection, as with HTTP/2:
  /// as soon as that shows, before or with the answer's head.
  public var multiplexed: @Sendable (Bool) -> Void = { _ in }

  /// Whether whoever asked follows redirects itself, so that nobody reads their bodies, which needn't be decoded then.
  package var followsRedirects = false

  /// A request without a body.
  public init(
    _ url: String, method: String = "GET", headers: [(name: String, value: String)] = [], body: Body = .none,
    isCancelled: @escaping @Sendable () -> Bool = { false }
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.isCancelled = isCancelled
  }
}

/// What is known of an answer before its body.
public struct NetworkHead: Sendable {
  /// The HTTP status.
  public let status: Int
  /// In the order received. Of a body that was decoded there is neither coding nor length.
  public let headers: [(name: String, value: String)]
  /// Where it came from, after redirects.
  public var url: String
  /// The server's own words for the status, where it has some.
  public var reason: String?

  /// An answer's head.
  public init(status: Int, headers: [(name: String, value: String)], url: String) {
    self.status = status
    self.headers = headers
    self.url = url
  }

  /// Headers as they are handed on: a length that isn't the body's is left out. "If a message is received with both a
  /// Transfer-Encoding and a Content-Length header field, the Transfer-Encoding overrides the Content-Length" (RFC 9112 §6.3); one
  /// that was said twice is said once.
  package static func handedOn(
    _ headers: [(name: String, value: String)]
  ) -> [(name: String, value: String)] {
    let lengths = headers.filter { $0.name.lowercased() == "content-length" }
    if lengths.isEmpty { return headers }
    let told = Set(
      lengths.flatMap { $0.value.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } } })
    let isReadable =
      told.count == 1
      && told.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } && Int64($0) != nil }
    let isCoded = headers.contains { $0.name.lowercased() == "transfer-encoding" }
    var rest = headers.filter { $0.name.lowercased() != "content-length" }
    if isReadable, !isCoded, let length = told.first { rest.append((lengths[0].name, length)) }
    return rest
  }

  /// Every value of a header, whatever the case of its name.
  public func values(_ name: String) -> [String] {
    headers.filter { $0.name.lowercased() == name }.map(\.value)
  }
}

/// The engine's own store of cookies; there is no other.
public protocol CookieStore: Sendable {
  /// What `Cookie` says in a request to `url`; nil: there are none.
  func header(for url: String) async -> String?
  /// Takes the values of `Set-Cookie` of an answer from `url`.
  func take(_ values: [String], from url: String) async
}
