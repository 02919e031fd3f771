import HTTP
import System

/// A request to a server.
package struct HTTPRequest: Sendable {
  /// The method as it is sent: `GET`.
  package var method: String
  /// Absolute, http or https.
  package var url: String
  /// Header fields to send in addition to those that libcurl writes.
  package var fields: HTTPFields
  /// The body that is sent after the head.
  package var body: HTTPBody
  /// How long each step may take.
  package var timeouts: HTTPTimeouts
  /// The most redirects to follow; never from https to http, and `Authorization` is only sent to its own host.
  package var redirects: Int
  /// Whether content codings are offered and decoded; sinks and limits then see the decoded bytes.
  package var decodes: Bool
  /// Whether sending the request twice does no more than sending it once, if its method doesn't say so.
  package var isRepeatable = false
  /// A PEM file of the certificates to trust; if nil, the system's.
  package var authorities: String?
  /// The certificates to trust, in PEM form, in place of a file.
  package var authorityCertificates: String?
  /// Addresses of the URL's host in URL form, best first; names, certificates and `Host` stay those of the URL. If empty,
  /// the system resolves the host; if nil, the last addresses on the same connection pool are kept.
  package var addresses: [String]?
  /// Called with the route that the request took, when it is over.
  package var routed: (@Sendable (HTTPRoute) -> Void)?
  /// Called with whether the connection takes several requests at once, as soon as that is clear, and again with the head
  /// of the response.
  package var multiplexed: (@Sendable (Bool) -> Void)?
  /// Whether the request was sent once already, and may have been carried out: it is sent once more, on a new connection.
  package var isRepeat = false
  /// Whether to wait until a connection that is being made turns out to take several requests at once.
  var waitsForConnection = false
  /// Whether to send `Expect: 100-continue` before a body (RFC 9110 §10.1.1); a server that doesn't react costs a second.
  package var asksBeforeBody = true
  /// Whether fields may have control characters, as those of browsers may; never CR, LF or NUL.
  package var takesControls = false
  /// Whether a proxy that the environment names is used.
  package var usesProxy = true
  /// Decides, before a connection is made, whether it may be to this address of 4 or 16 bytes; nil: any. A connection that is
  /// reused isn't asked about again.
  package var admits: (@Sendable ([UInt8]) -> Bool)?
  /// The most bytes of the response that may wait to be read, all in memory; if nil, they may go to a file.
  package var memoryLimit: Int?
  /// Called while bytes move and at least once a second; `false` stops the exchange.
  package var watch: (@Sendable (HTTPProgress) -> Bool)?

  package init(
    _ method: String, _ url: String, fields: HTTPFields = [], body: HTTPBody = .none,
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

/// The route that a request took.
package struct HTTPRoute: Equatable, Sendable {
  /// The address that was connected to, without brackets; nil if there was none.
  package let address: String?
  /// Whether a new connection was made rather than an idle one reused.
  package let isNew: Bool
  /// Milliseconds that the new connection took, not counting name lookup and TLS.
  package let connectMilliseconds: Int
  /// Whether the connection, including TLS, became ready for the request.
  package let isReady: Bool
  /// Whether the request had been sent once before.
  package var isRepeat = false
}

/// The progress of an exchange, in body bytes.
package struct HTTPProgress: Equatable, Sendable {
  /// Bytes of the request body sent so far.
  package let sent: Int64
  /// Bytes of the response body received so far.
  package let received: Int64
}

/// The time limits of an exchange. Their units differ, as libcurl's do, so the names say them.
package struct HTTPTimeouts: Hashable, Sendable {
  /// The time within which a connection has to be established, including name lookup and TLS.
  package var connectMilliseconds: Int
  /// The time for which fewer than `bytesPerSecond` may be transferred, including the wait for the response; in a pool,
  /// fewer than 32 if that is less.
  package var stallSeconds: Int
  /// The time for the whole exchange; 0 for no limit.
  package var totalMilliseconds: Int
  /// The rate below which an exchange counts as stalled.
  package var bytesPerSecond = 1024

  package init(connectMilliseconds: Int = 10_000, stallSeconds: Int = 30, totalMilliseconds: Int = 0) {
    self.connectMilliseconds = connectMilliseconds
    self.stallSeconds = stallSeconds
    self.totalMilliseconds = totalMilliseconds
  }
}

extension HTTPRequest {
  /// Whether `watch` already stops the request before it starts.
  package var isCancelled: Bool { watch.map { !$0(HTTPProgress(sent: 0, received: 0)) } ?? false }

  /// Whether the request may be sent again if no response came, although it may have been carried out.
  ///
  /// DELETE isn't included, since its second response is a different one.
  package var mayBeRepeated: Bool {
    isRepeatable || ["GET", "HEAD", "OPTIONS", "PUT"].contains(method)
      || fields.contains(HTTPField.idempotencyKey)
  }
}

extension HTTPField {
  static let idempotencyKey = "Idempotency-Key"

  /// Creates a key that identifies one act by 128 random bits, so that an origin carries it out only once however often it
  /// is sent.
  package static func newIdempotencyKey() -> HTTPField {
    HTTPField(idempotencyKey, Hex.encode(Secrets.random(16).span.bytes))
  }
}

/// The body of a request.
package enum HTTPBody: Sendable {
  case none
  case bytes([UInt8])
  /// Bytes that are read as they are sent, so that a body of any size takes little memory.
  ///
  /// `read` fills the buffer from `offset` on and returns how many bytes it wrote. It may be called again for the same
  /// bytes if an idle connection turns out to be gone. Fewer bytes than `length` end the exchange with
  /// `HTTPClientError.bodyEnded`.
  case stream(
    length: Int64, read: @Sendable (_ offset: Int64, _ into: UnsafeMutableRawBufferPointer) throws -> Int)

  /// The number of bytes; nil if there is no body.
  package var length: Int64? {
    switch self {
    case .none: nil
    case .bytes(let bytes): Int64(bytes.count)
    case .stream(let length, _): length
    }
  }
}

/// Where the bytes of a response go.
package enum HTTPSink {
  /// Into `HTTPReply.body`, at most `limit` bytes.
  case memory(limit: Int)
  /// To `write` as they arrive, at most `limit` bytes; the body of a response other than 2xx goes into `HTTPReply.body`
  /// instead, cut at 64 KB. `begin` is called with the head before the first byte.
  case stream(
    limit: Int64, write: (UnsafeRawBufferPointer) throws -> Void,
    begin: ((HTTPHead) throws -> Void)? = nil)
  /// The whole response, whatever its status: `begin` is called with the head as soon as it arrives, and `write` with the
  /// body. Even in a pool both are called on the requesting thread, and may block.
  case page(begin: (HTTPHead) throws -> Void, write: (UnsafeRawBufferPointer) throws -> Void)
}
