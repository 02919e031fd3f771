import Backports
import HTTP
// Requests and heads show them.
@_exported import struct HTTP.HTTPField
@_exported import struct HTTP.HTTPFields

/// How a device sends requests to a server: one at a time on each calling thread.
///
/// Linux has `CurlTransport` (`DeviceLinux`); an app can supply its own over the platform's HTTP stack, and tests use
/// one in memory.
public protocol Transport: Sendable {
  /// Fetches `request.url` and passes the body of a 2xx response to `receive`, in chunks and in order.
  ///
  /// The call blocks until the response is complete. If the server used a content coding, the chunks are the decoded
  /// bytes. `receive` returns false to cancel the request, which then throws `.stopped`.
  /// - Throws: `TransportError`, if there is no complete response.
  func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply

  /// As above, but first passes the head of the response to `begin`, which returns false to cancel the request.
  ///
  /// `request.start` asks for the rest of a file (RFC 9110 §14). A transport without this method fetches all of it, and
  /// the caller skips what it already has.
  func get(
    _ request: TransportRequest, begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply

  /// Sends a JSON document to `url` by POST, and waits until that is done, for a few seconds at most.
  ///
  /// The result is ignored: a device reports files that it couldn't fetch to the origin, and goes on. A transport
  /// without this method sends no such reports.
  func tell(_ document: [UInt8], to url: String)

  /// Notes that the device has moved to another network: later requests must use new connections.
  func networkChanged()
}

extension Transport {
  /// Does nothing, which is right for a transport that doesn't manage connections itself.
  public func networkChanged() {}

  /// Sends nothing.
  public func tell(_ document: [UInt8], to url: String) {}

  /// Fetches from the first byte on, ignoring `request.start`.
  public func get(
    _ request: TransportRequest, begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    var hasBegun = false
    return try get(request) { bytes in
      if !hasBegun, !begin(TransportHead(status: 200)) { return false }
      hasBegun = true
      return receive(bytes)
    }
  }
}

/// A request to a server.
public struct TransportRequest: Sendable {
  /// An absolute http or https URL.
  public let url: String
  /// The maximum size of the response in bytes, decoded; a longer one fails with `.tooLong`.
  public let limit: Int64
  /// Whether to ask for the bytes without a content coding (`Accept-Encoding: identity`), as for a retry after a coded
  /// body was damaged.
  public let isUncoded: Bool
  /// The first byte to request; above 0, with a `Range`.
  public var start: Int64 = 0
  /// The strong entity tag that the bytes already received came with, including quotes: if the server has another file by
  /// now, `If-Range` makes it send all of that. Without one, only the file's digest shows whether the parts fit.
  public var entityTag: String?
  /// The entity tag of an earlier response, including quotes: if the server still has that, it sends 304 without a body.
  public var knownTag: String?
  /// The seconds without data after which the request times out; nil for the transport's own timeout.
  public var stallSeconds: Int?
  /// Whether a device fetches many such files concurrently: a transport that speaks HTTP/2 sends them over one
  /// connection.
  public var isOneOfMany = false
  /// Called about once a second, even while no data arrives; true cancels the request, which then throws `.stopped`.
  public var isCancelled: @Sendable () -> Bool = { false }

  /// Creates a GET of `url` for at most `limit` bytes.
  public init(_ url: String, limit: Int64, isUncoded: Bool = false) {
    self.url = url
    self.limit = limit
    self.isUncoded = isUncoded
  }

  /// The header fields of the request, in the order in which to send them.
  public var headers: HTTPFields {
    var headers: HTTPFields = isUncoded ? [("Accept-Encoding", "identity")] : []
    if let knownTag { headers.add("If-None-Match", knownTag) }
    guard start > 0 else { return headers }
    headers.add("Range", "bytes=\(start)-")
    // "A client MUST NOT generate an If-Range header field containing an entity tag that is marked as weak" (RFC 9110
    // §13.1.5). Bytes above 0x7F were decoded on their way here, and wouldn't be sent as they came.
    if let entityTag, entityTag.hasPrefix("\""), entityTag.utf8.allSatisfy({ $0 < 0x80 }) {
      headers.add("If-Range", entityTag)
    }
    return headers
  }
}

/// The head of a response, before its body.
public struct TransportHead: Equatable, Sendable {
  /// The HTTP status: 200, or 206 for the rest of a file.
  public let status: Int
  /// The position in the file at which the body begins.
  public let start: Int64
  /// The size of the whole file in bytes, if the server sent it.
  public let total: Int64?
  /// The entity tag as the server sent it; weak ones begin with `W/`.
  public let entityTag: String?
  /// Whether the body has a content coding: the tag then is that of the coded bytes.
  public var isCoded = false
  /// The server's time when it, or a cache that had kept the response for a moment, sent it: `Date` and `Age`, in milliseconds
  /// since 1970. Nil if that isn't known, or the response was kept for longer.
  public var serverTime: Int64?

  /// Creates a head with `status` for a body that begins at `start`.
  public init(status: Int, start: Int64 = 0, total: Int64? = nil, entityTag: String? = nil) {
    self.status = status
    self.start = start
    self.total = total
    self.entityTag = entityTag
  }

  /// Creates a head from a response's fields; nil if the body begins neither at the file's start nor at `asked`.
  ///
  /// - Parameters:
  ///   - status: the status of the response.
  ///   - asked: the first byte requested.
  ///   - field: returns the value of a field by its lowercase name; nil if the response has none.
  public init?(status: Int, asked: Int64, field: (String) -> String?) {
    let tag = field("etag")
    let isCoded = (field("content-encoding") ?? "identity") != "identity"
    guard status == 206 else {
      let length = field("content-length").flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
      self.init(status: status, total: isCoded ? nil : length, entityTag: tag)
      self.isCoded = isCoded
      serverTime = Self.time(date: field("date"), age: field("age"))
      return
    }
    guard let range = field("content-range").flatMap({ ContentRange($0) }), range.start == asked else {
      return nil
    }
    self.init(status: 206, start: range.start, total: range.total, entityTag: tag)
    self.isCoded = isCoded
  }
}

extension TransportHead {
  /// The highest `Age`, in seconds, with which a `Date` says something of the time.
  private static let maxAge: Int64 = 300

  /// Returns the time that a `Date` and an `Age` come to, in milliseconds since 1970; nil if the first isn't in the form that servers
  /// send (RFC 9110 §5.6.7), or the second is no number or a high one.
  ///
  /// "Date" is when the origin made it, and "Age" how long caches have kept it since (RFC 9111 §5.1).
  private static func time(date: String?, age: String?) -> Int64? {
    guard let date = date.flatMap({ HTTPDate($0, now: 0) }) else { return nil }
    guard let age else { return date.seconds * 1000 }
    guard let seconds = Int64(age), (0...maxAge).contains(seconds) else { return nil }
    return (date.seconds + seconds) * 1000
  }
}

/// A server's response.
public struct TransportReply: Equatable, Sendable {
  /// The HTTP status.
  public let status: Int
  /// The bytes of the body as received over the network, so fewer than were passed on if it was coded.
  public let received: Int64
  /// The body of a response other than 2xx, which isn't passed to `receive`; the transport may truncate it.
  public let failure: [UInt8]
  /// Whether concurrent requests to the same server share a connection, as with HTTP/2: a device then sends more of them
  /// at once.
  public var isMultiplexed = false

  /// Creates a response with `status`, whose body took `received` bytes.
  public init(status: Int, received: Int64, failure: [UInt8] = []) {
    self.status = status
    self.received = received
    self.failure = failure
  }
}

/// Why there is no response from a server.
public struct TransportError: Error, Hashable, Sendable {
  /// The kinds of failure that a device distinguishes.
  public enum Kind: String, Hashable, Sendable {
    /// No connection: an unknown host, a closed port, no network, no trusted certificate.
    case unreachable
    /// No data, or too little, was received for too long.
    case timedOut
    /// The connection ended before the response was complete.
    case broken
    /// The response is longer than the request's limit.
    case tooLong
    /// `receive` returned false, or the request was cancelled.
    case stopped
    /// Anything else, such as a response that isn't HTTP.
    case other
  }

  /// The kind of failure.
  public let kind: Kind
  /// A description that names the host.
  public let reason: String

  /// Creates a failure of the given kind, described by `reason`.
  public init(_ kind: Kind, _ reason: String) {
    self.kind = kind
    self.reason = reason
  }
}
