import HTTP
import Platform
import TLS

/// How a server listens, and how much it lets its clients have.
package struct ServerConfiguration: Sendable {
  /// Where it listens; port 0 lets the kernel choose.
  package var address: SocketAddress
  /// Event loops, each on a thread of its own.
  package var loops = 1
  /// Threads for answers that take blocking work.
  package var workers = 4
  /// More for requests that the handler has reserved workers for: of the origin's, four may wait for long at a time (two for
  /// deltas, two for a push).
  package var reservedWorkers = 6
  /// Answers that may wait for a worker of either kind; more get 503.
  package var workerQueue = 1_024
  /// The Server field of every answer; empty leaves it out.
  package var name = ""
  /// How much its clients may have.
  package var limits = ServerLimits()
  /// How long they may take.
  package var timeouts = Timeouts()
  /// Proxies whose X-Forwarded-For is believed, and which aren't held to the limit per address.
  package var trustedProxies: [AddressRange] = []
  /// The body of an answer that the server itself makes up, such as 400, 413 or 503; given the status and,
  /// where one was read, the path.
  package var errorBody: @Sendable (Status, String?) -> ErrorBody = ErrorBody.plain
  /// Where access lines go; nil writes none.
  package var accessLog: AccessLog?
  /// Begins TLS with each client; nil: plain HTTP.
  package var tls: TLSAcceptor?

  /// A server of one loop on `address`.
  package init(address: SocketAddress) { self.address = address }

  /// What each of its connections is held to.
  var rules: ConnectionRules {
    ConnectionRules(
      request: limits.request, requests: limits.requestsPerConnection, discardedBody: limits.discardedBody,
      timeouts: timeouts)
  }
}

/// How much a server holds at once.
package struct ServerLimits: Sendable {
  /// How much of a head is read.
  package var request = RequestLimits()
  /// Open connections in all; more get 503.
  package var connections = 20_000
  /// Refused clients that are kept until they have read the answer; more are closed behind it.
  package var refused = 256
  /// Open connections of one address; loopback and trusted proxies are exempt.
  package var connectionsPerAddress = 256
  /// Requests on one connection, after which it is closed.
  package var requestsPerConnection = 10_000
  /// A body that nobody wants is read up to this size to keep its connection.
  package var discardedBody: UInt64 = 65_536

  /// The limits of a server that is not told otherwise.
  package init() {}
}

/// The content of an answer that the server itself makes up.
package struct ErrorBody: Sendable {
  /// Its media type.
  package let contentType: String
  /// Its words.
  package let text: String

  /// A text of a media type.
  package init(contentType: String, text: String) {
    self.contentType = contentType
    self.text = text
  }

  /// The status in plain text.
  package static let plain: @Sendable (Status, String?) -> ErrorBody = { status, _ in
    ErrorBody(contentType: "text/plain; charset=utf-8", text: "\(status.code) \(status.reason)\n")
  }
}
