/// How a device reaches a server: one request at a time on each thread that calls it.
///
/// Linux has `CurlTransport` (`DeviceLinux`); an app may give its own over the platform's HTTP stack, and tests have one
/// in memory.
public protocol Transport: Sendable {
  /// Fetches `request.url` and hands the body of a 2xx answer to `receive`, piece by piece and in order.
  ///
  /// The call blocks until the answer is whole. The pieces are the decoded bytes where the server coded them.
  /// `receive` gives false to end the exchange, which then throws `.stopped`.
  /// - Throws: `TransportError`, when there is no whole answer.
  func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply

  /// As above, and tells `begin` of the answer's head before the first byte; it gives false to end the exchange.
  ///
  /// `request.start` asks for the rest of a file (RFC 9110 §14). A transport without this method fetches all of it, and
  /// whoever asked passes over what it has.
  func get(
    _ request: TransportRequest, begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply

  /// Sends a JSON document to `url` by POST, and waits for the end of it, some seconds at most.
  ///
  /// What becomes of it is of no concern: a device tells the origin of files that it couldn't get, and goes on. A
  /// transport without this method sends no such reports.
  func tell(_ document: [UInt8], to url: String)

  /// The device has another network: requests from now on go out on connections of their own.
  func networkChanged()
}

extension Transport {
  /// As far as a transport has no connections that it keeps itself.
  public func networkChanged() {}

  /// Sends nothing.
  public func tell(_ document: [UInt8], to url: String) {}

  /// Fetches from the first byte on, whatever `request.start` is.
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

/// What is asked of a server.
public struct TransportRequest: Sendable {
  /// Absolute, http or https.
  public let url: String
  /// Bytes, decoded, after which the answer is given up with `.tooLong`.
  public let limit: Int64
  /// The bytes as they are, without a content coding (`Accept-Encoding: identity`): what is asked for once more where
  /// a coded body was damaged.
  public let isUncoded: Bool
  /// The first byte that is asked for; above 0 with a `Range`.
  public var start: Int64 = 0
  /// The strong entity tag of what is there already, quotes included: where the file has another by now, `If-Range` has
  /// the server send all of it.
  public var entityTag: String?
  /// Seconds for which nothing may come before the request is given up; nil: as long as the transport likes.
  public var stallSeconds: Int?
  /// Whether a device fetches many such files at once: a transport that speaks HTTP/2 sends them over one connection.
  public var isOneOfMany = false
  /// Asked about once a second, also while nothing comes; true ends the exchange, which then throws `.stopped`.
  public var isCancelled: @Sendable () -> Bool = { false }

  /// A GET of `url`, of at most `limit` bytes.
  public init(_ url: String, limit: Int64, isUncoded: Bool = false) {
    self.url = url
    self.limit = limit
    self.isUncoded = isUncoded
  }

  /// The header fields that ask for what is asked, in the order in which they are best sent.
  public var headers: [(name: String, value: String)] {
    var headers: [(name: String, value: String)] = isUncoded ? [("Accept-Encoding", "identity")] : []
    guard start > 0 else { return headers }
    headers.append(("Range", "bytes=\(start)-"))
    // "A client MUST NOT generate an If-Range header field containing an entity tag that is marked as weak" (RFC 9110
    // §13.1.5).
    if let entityTag, entityTag.hasPrefix("\"") { headers.append(("If-Range", entityTag)) }
    return headers
  }
}

/// What is known of an answer before its body.
public struct TransportHead: Equatable, Sendable {
  /// The HTTP status: 200, or 206 for the rest of a file.
  public let status: Int
  /// Where in the file the body begins.
  public let start: Int64
  /// Bytes of the whole file, where the server said so.
  public let total: Int64?
  /// As the server wrote it; weak ones begin with `W/`.
  public let entityTag: String?

  /// A head with `status` of a body that begins at `start`.
  public init(status: Int, start: Int64 = 0, total: Int64? = nil, entityTag: String? = nil) {
    self.status = status
    self.start = start
    self.total = total
    self.entityTag = entityTag
  }

  /// What the fields of an answer's head say of its body; nil where that begins neither at the file's start nor at
  /// `asked`.
  ///
  /// - Parameters:
  ///   - status: of the answer.
  ///   - asked: the byte from which on the file was asked for.
  ///   - field: the value of a field by its name in lower case; nil where the answer has none.
  public init?(status: Int, asked: Int64, field: (String) -> String?) {
    let tag = field("etag")
    guard status == 206 else {
      let isCoded = (field("content-encoding") ?? "identity") != "identity"
      let length = field("content-length").flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
      self.init(status: status, total: isCoded ? nil : length, entityTag: tag)
      return
    }
    guard let range = field("content-range").flatMap({ ContentRange($0) }), range.start == asked else {
      return nil
    }
    self.init(status: 206, start: range.start, total: range.total, entityTag: tag)
  }
}

/// What a server answered.
public struct TransportReply: Equatable, Sendable {
  /// The HTTP status.
  public let status: Int
  /// Bytes of the body as they came over the wire, so fewer than were handed over where it was coded.
  public let received: Int64
  /// The body of an answer other than 2xx, cut where the transport likes; such bodies aren't handed over.
  public let failure: [UInt8]
  /// Whether further requests to the same server go over the same connection at the same time, as with HTTP/2: then a
  /// device makes more of them at once.
  public var isMultiplexed = false

  /// An answer with `status`, whose body took `received` bytes.
  public init(status: Int, received: Int64, failure: [UInt8] = []) {
    self.status = status
    self.received = received
    self.failure = failure
  }
}

/// Why there is no answer from a server.
public struct TransportError: Error, Hashable, Sendable {
  /// What went wrong, as far as a device acts on it.
  public enum Kind: String, Hashable, Sendable {
    /// No connection: an unknown host, a closed port, no network, no trusted certificate.
    case unreachable
    /// Nothing, or too little, came for too long.
    case timedOut
    /// The connection ended before the answer was whole.
    case broken
    /// The answer is longer than the request's limit.
    case tooLong
    /// `receive` gave false, or the request was cancelled.
    case stopped
    /// Anything else, such as an answer that isn't HTTP.
    case other
  }

  /// What a device acts on.
  public let kind: Kind
  /// In words, with the host.
  public let reason: String

  /// A failure of the given kind; `reason` says it in words.
  public init(_ kind: Kind, _ reason: String) {
    self.kind = kind
    self.reason = reason
  }
}
