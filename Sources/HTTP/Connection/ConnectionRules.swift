/// What a server lets its connections have; all of them hold the same.
package final class ConnectionRules: Sendable {
  /// How much of a head is read.
  let request: RequestLimits
  /// Requests on one connection, after which it is closed.
  let requests: Int
  /// A body that nobody wants is read over up to this size to keep its connection.
  let discardedBody: UInt64
  /// How long what may take.
  let timeouts: Timeouts

  /// Rules of these limits and times.
  package init(
    request: RequestLimits = RequestLimits(), requests: Int = 10_000, discardedBody: UInt64 = 65_536,
    timeouts: Timeouts = Timeouts()
  ) {
    self.request = request
    self.requests = requests
    self.discardedBody = discardedBody
    self.timeouts = timeouts
  }
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
