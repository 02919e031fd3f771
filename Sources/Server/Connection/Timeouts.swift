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
  /// How long a refused client is still listened to, so that the answer reaches it.
  package var linger: UInt64 = 2 * second

  package static let second: UInt64 = 1_000_000_000

  package init() {}
}
