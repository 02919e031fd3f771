import System

/// What is asked of a server.
package struct HTTPRequest: Sendable {
  /// As it is sent: `GET`.
  package var method: String
  /// Absolute, http or https.
  package var url: String
  /// Sent beside those that libcurl writes.
  package var fields: [HTTPField]
  /// What is sent after the head.
  package var body: HTTPBody
  /// How long each of its steps may take.
  package var timeouts: HTTPTimeouts
  /// How many redirects are followed; never from https to http, and `Authorization` stays with its host.
  package var redirects: Int
  /// Whether codings are offered and undone; sinks and limits then see the decoded bytes.
  package var decodes: Bool
  /// Whether sending it twice does no more than sending it once, which its method doesn't tell.
  package var isRepeatable = false
  /// A file of the certificates to trust, PEM; nil: the system's.
  package var authorities: String?
  /// Where the URL's host is, as URLs have addresses, best first: names, certificates and `Host` stay the URL's. Empty: the
  /// system says. nil: as it was the last time on the same connection pool.
  package var addresses: [String]?
  /// Told where the request went, when it is over.
  package var routed: (@Sendable (HTTPRoute) -> Void)?
  /// Told whether its connection takes several requests at once, as soon as that shows, and again with the answer's head.
  package var multiplexed: (@Sendable (Bool) -> Void)?
  /// Whether it was sent once already, and may have been carried out: it goes out once more, on a connection made for it.
  package var isRepeat = false
  /// Whether it would rather wait until a connection that is being made turns out to take several requests at once.
  var waitsForConnection = false
  /// Whether the server is asked before a body is sent (RFC 9110 §10.1.1); one that says nothing to that costs a second.
  package var asksBeforeBody = true
  /// Whether fields may have control characters, as those of browsers may; never CR, LF or NUL.
  package var takesControls = false
  /// Bytes of the answer that may wait for their reader, all of them in memory; nil: they may go to a file.
  package var memoryLimit: Int?
  /// Called while bytes move and at least once a second; `false` stops the exchange.
  package var watch: (@Sendable (HTTPProgress) -> Bool)?

  package init(
    _ method: String, _ url: String, fields: [HTTPField] = [], body: HTTPBody = .none,
    timeouts: HTTPTimeouts = HTTPTimeouts(), redirects: Int = 0, decodes: Bool = false,
    watch: (@Sendable (HTTPProgress) -> Bool)? = nil
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.timeouts = timeouts
    self.redirects = redirects
    self.decodes = decodes
    self.watch = watch
  }
}

/// The way that a request took.
package struct HTTPRoute: Equatable, Sendable {
  /// The address that a connection stood to, without brackets; nil: there was none.
  package let address: String?
  /// Whether a connection was made for it, rather than one used that stood.
  package let isNew: Bool
  /// Milliseconds that the new connection took, without the time for the name and for TLS.
  package let connectMilliseconds: Int
  /// Whether the connection, TLS included, was ready for the request.
  package let isReady: Bool
  /// Whether the request had been sent once before.
  package var isRepeat = false
}

/// One header field.
package struct HTTPField: Hashable, Sendable {
  /// As it is sent.
  package let name: String
  /// What follows the colon.
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// How far an exchange is, in body bytes.
package struct HTTPProgress: Equatable, Sendable {
  /// Bytes of the body that have left.
  package let sent: Int64
  /// Bytes of the answer's body that have come.
  package let received: Int64
}

/// How long an exchange may stand still.
package struct HTTPTimeouts: Hashable, Sendable {
  /// Milliseconds until a connection must stand, names resolved and TLS agreed.
  package var connect: Int
  /// Seconds for which fewer than `bytesPerSecond` may move, waiting for the answer included; in a pool than 32, if that is less.
  package var stall: Int
  /// Milliseconds for the whole exchange; 0: no limit.
  package var total: Int
  /// Bytes a second below which an exchange stands still.
  package var bytesPerSecond = 1024

  package init(connect: Int = 10_000, stall: Int = 30, total: Int = 0) {
    self.connect = connect
    self.stall = stall
    self.total = total
  }
}

extension HTTPRequest {
  /// Whether `watch` ends it before it began.
  package var isCancelled: Bool { watch.map { !$0(HTTPProgress(sent: 0, received: 0)) } ?? false }

  /// Whether it may be sent again when no answer came: the first may have been carried out.
  ///
  /// Not by DELETE alone, whose second answer is another one.
  package var mayBeRepeated: Bool {
    isRepeatable || ["GET", "HEAD", "OPTIONS", "PUT"].contains(method)
      || fields.contains { $0.name == HTTPField.idempotencyKey }
  }
}

extension HTTPField {
  static let idempotencyKey = "Idempotency-Key"

  /// Names one act, so that an origin carries it out once however often it is sent: 128 random bits.
  package static func newIdempotencyKey() -> HTTPField {
    HTTPField(idempotencyKey, Hex.encode(Secrets.random(16).span.bytes))
  }
}

/// The bytes of a request.
package enum HTTPBody: Sendable {
  case none
  case bytes([UInt8])
  /// Bytes that are read while they are sent, so that their number doesn't matter.
  ///
  /// `read` fills the buffer from `offset` on and gives how many bytes it wrote. It may be asked for the same
  /// bytes again, when an idle connection turns out to be gone. Fewer bytes than `length` end the exchange
  /// with `HTTPClientError.bodyEnded`.
  case stream(
    length: Int64, read: @Sendable (_ offset: Int64, _ into: UnsafeMutableRawBufferPointer) throws -> Int)

  /// Bytes; nil: there is no body.
  package var length: Int64? {
    switch self {
    case .none: nil
    case .bytes(let bytes): Int64(bytes.count)
    case .stream(let length, _): length
    }
  }
}

/// Where the bytes of an answer go.
package enum HTTPSink {
  /// Into `HTTPReply.body`, at most `limit` bytes.
  case memory(limit: Int)
  /// To `write` as they arrive, at most `limit` bytes; the body of an answer other than 2xx goes into
  /// `HTTPReply.body` instead, cut at 64 KB. `begin` is told of the answer's head before its first byte.
  case stream(
    limit: Int64, write: (UnsafeRawBufferPointer) throws -> Void,
    begin: ((HTTPReply) throws -> Void)? = nil)
  /// The whole answer, whatever its status: `begin` is told of the head as soon as it is there, and `write` gets the body. In a
  /// pool, too, they are called on the thread that asked, and may take their time.
  case page(begin: (HTTPReply) throws -> Void, write: (UnsafeRawBufferPointer) throws -> Void)
}
