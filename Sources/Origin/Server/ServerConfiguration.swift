import HTTP
import Linux
import TLS

/// A server's configuration: where it listens, and its limits.
package struct ServerConfiguration: Sendable {
  /// The address to listen on; port 0 lets the kernel choose.
  package var address: SocketAddress
  /// The number of event loops, each on its own thread.
  package var loops = 1
  /// The number of threads for blocking work that anyone may request.
  package var workers = 4
  /// The lanes that have threads of their own; what is meant for another one waits with what is open to all.
  package var lanes = Set(Scheduling.Lane.allCases)
  /// How many answers may wait for a worker of each lane, a quarter of them for one holder; further ones get 503.
  package var workerQueue = 1_024
  /// The Server field of every answer; omitted if empty.
  package var name = ""
  /// What its clients may use.
  package var limits = ServerLimits()
  /// How long clients may take.
  package var timeouts = Timeouts()
  /// Proxies whose X-Forwarded-For is trusted, and which are exempt from the limit per address.
  package var trustedProxies: [AddressRange] = []
  /// Returns the body of an answer made by the server itself, such as 400, 413 or 503, given its status and the path, if
  /// one was read.
  package var errorBody: @Sendable (Status, String?) -> ErrorBody = ErrorBody.plain
  /// The access log; nil disables it.
  package var accessLog: AccessLog?
  /// Starts TLS with each client; nil means plain HTTP.
  package var tls: TLSAcceptor?

  /// Creates the configuration of a server with one loop on `address`.
  package init(address: SocketAddress) { self.address = address }

  /// Returns the number of threads for a lane.
  func workers(of lane: Scheduling.Lane) -> Int {
    switch lane {
    case .urgent: 2
    // One waits for deltas, one for a push, and one is free.
    case .recovery: 3
    // Of the origin's acts, four may wait for long at a time: two for deltas, two for a push.
    case .acts: 6
    case .reads: 3
    // Twice as many as ask the provider at a time (`ProviderCaller`): while it hangs, the others are told so.
    case .signIn: 8
    // One issuer that doesn't answer may hold some of them.
    case .trade: 4
    case .open: workers
    }
  }

  /// The rules for each of its connections.
  var rules: ConnectionRules {
    ConnectionRules(
      request: limits.request, requests: limits.requestsPerConnection, discardedBody: limits.discardedBody,
      timeouts: timeouts)
  }
}

/// Limits on what clients may use.
package struct ServerLimits: Sendable {
  /// The limits for a request's head.
  package var request = RequestLimits()
  /// The maximum number of open connections; further ones get 503.
  package var connections = 20_000
  /// How many refused connections are kept until the client has read the answer; further ones are closed right after
  /// sending it.
  package var refused = 256
  /// The maximum number of connections per address; loopback and trusted proxies are exempt.
  package var connectionsPerAddress = 256
  /// The number of requests after which a connection is closed.
  package var requestsPerConnection = 10_000
  /// The maximum size of an unwanted body that is read in order to keep its connection.
  package var discardedBody: UInt64 = 65_536

  /// Creates the default limits.
  package init() {}
}

/// The body of an answer made by the server itself.
package struct ErrorBody: Sendable {
  /// Its media type.
  package let contentType: String
  /// The text.
  package let text: String

  /// Creates a body with a text of a media type.
  package init(contentType: String, text: String) {
    self.contentType = contentType
    self.text = text
  }

  /// Returns the status as plain text.
  package static let plain: @Sendable (Status, String?) -> ErrorBody = { status, _ in
    ErrorBody(contentType: "text/plain; charset=utf-8", text: "\(status.code) \(status.reason)\n")
  }
}
