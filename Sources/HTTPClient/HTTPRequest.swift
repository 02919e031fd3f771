/// What is asked of a server.
package struct HTTPRequest: Sendable {
  package var method: String
  /// Absolute, http or https.
  package var url: String
  package var fields: [HTTPField]
  package var body: HTTPBody
  package var timeouts: HTTPTimeouts
  /// How many redirects are followed; never from https to http, and `Authorization` stays with its host.
  package var redirects: Int
  /// Whether gzip and zstd are offered and undone; sinks and limits then see the decoded bytes.
  package var decodes: Bool
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

/// One header field.
package struct HTTPField: Hashable, Sendable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// How far an exchange is, in body bytes.
package struct HTTPProgress: Equatable, Sendable {
  package let sent: Int64
  package let received: Int64
}

/// How long an exchange may stand still.
package struct HTTPTimeouts: Hashable, Sendable {
  /// Milliseconds until a connection must stand, names resolved and TLS agreed.
  package var connect: Int
  /// Seconds for which fewer than 1,024 bytes a second may move, waiting for the answer included.
  package var stall: Int
  /// Milliseconds for the whole exchange; 0: no limit.
  package var total: Int

  package init(connect: Int = 10_000, stall: Int = 30, total: Int = 0) {
    self.connect = connect
    self.stall = stall
    self.total = total
  }
}
