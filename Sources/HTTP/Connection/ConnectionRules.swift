/// What a server lets its connections have.
package struct ConnectionRules: Sendable {
  /// How much of a head is read.
  package var request = RequestLimits()
  /// Requests on one connection, after which it is closed.
  package var requests = 10_000
  /// A body that nobody wants is read over up to this size to keep its connection.
  package var discardedBody: UInt64 = 65_536
  /// How long what may take.
  package var timeouts = Timeouts()

  /// The rules of a server that isn't told otherwise.
  package init() {}
}

/// How long a connection may take, in nanoseconds.
package struct Timeouts: Sendable, Equatable {
  /// Between two requests.
  package var idle: UInt64 = 75 * second
  /// From the first byte of a head to its last.
  package var head: UInt64 = 15 * second
  /// A body may stand still this long; each second of arrival at `minimumRate` keeps it alive for one more.
  package var body: UInt64 = 30 * second
  /// An answer may stand still this long, likewise.
  package var write: UInt64 = 60 * second
  /// Bytes per second below which a body or an answer is given up.
  package var minimumRate: UInt64 = 256
  /// How long a client whose connection ends is still listened to, so that the last answer reaches it.
  package var linger: UInt64 = 2 * second

  /// One second, in nanoseconds.
  package static let second: UInt64 = 1_000_000_000

  /// The times of a server that isn't told otherwise.
  package init() {}
}
