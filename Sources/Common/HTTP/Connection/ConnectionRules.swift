/// The limits of a server's connections, shared by all of them.
package final class ConnectionRules: Sendable {
  /// The limits of a request's head.
  let request: RequestLimits
  /// The number of requests after which a connection is closed.
  let requests: Int
  /// The size in bytes up to which an unwanted body is read and discarded, so that the connection can be kept.
  let discardedBody: UInt64
  /// The time limits.
  let timeouts: Timeouts

  /// Creates rules with these limits.
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

/// The time limits of a connection, in nanoseconds.
package struct Timeouts: Sendable, Equatable {
  /// Between two requests.
  package var idle: UInt64 = 75 * second
  /// From the first byte of a head to its last.
  package var head: UInt64 = 15 * second
  /// A body may stall this long; each second of data at `minimumRate` extends that by one second.
  package var body: UInt64 = 30 * second
  /// An answer may stall this long, likewise.
  package var write: UInt64 = 60 * second
  /// The rate in bytes per second below which a body or an answer is given up.
  package var minimumRate: UInt64 = 256
  /// How long to keep reading after the last answer of a closing connection, so that the client receives it.
  package var linger: UInt64 = 2 * second
  /// How long the answer may still take once the client has ended its side. It may only have closed that half, but nearly
  /// always it is gone, and TCP can't tell the two apart before something is sent.
  package var leaving: UInt64 = 2 * second

  /// One second, in nanoseconds.
  package static let second: UInt64 = 1_000_000_000

  /// Creates the default time limits.
  package init() {}
}
