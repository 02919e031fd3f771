import System

/// How a channel's polls are answered where shared caches take them (docs/guide-scale.md).
package struct EdgeBound: Codable, Hashable, Sendable {
  /// For how many seconds a cache answers without asking the origin.
  package let ttl: Int
  /// The seconds after which a cache answers with a change, if it is told to drop the older answers; nil if none is told.
  @OrNull package var purged: Int?
  /// The seconds after which it does in any case, as long as it can ask the origin; nil if that is up to its own configuration.
  @OrNull package var oldest: Int?

  package init(ttl: Int, purged: Int?, oldest: Int?) {
    self.ttl = ttl
    self.purged = purged
    self.oldest = oldest
  }
}

/// A cache that is told to drop the answers of channels that change, and how that goes.
package struct EdgeState: Codable, Hashable, Sendable {
  /// Such as `fastly SERVICE`, or `varnish` and its address.
  package let name: String
  /// The number of channels whose changes it hasn't been told yet.
  package let waiting: Int
  /// Since when the oldest of them waits, if that is late.
  @OrNull package var lateSince: Moment?
  /// Why the last attempt failed; nil if it didn't.
  @OrNull package var fault: String?

  package init(name: String, waiting: Int, lateSince: Moment?, fault: String?) {
    self.name = name
    self.waiting = waiting
    self.lateSince = lateSince
    self.fault = fault
  }
}

/// A cache that is told to drop the answers of channels that change, and whether it knows the last change of one channel.
package struct ChannelEdge: Codable, Hashable, Sendable {
  /// As in `EdgeState`.
  package let name: String
  /// Whether it has been told of the channel's last change.
  package let isTold: Bool
  /// Since when a purge of the channel waits, if that is late.
  @OrNull package var lateSince: Moment?
  /// Why the last attempt failed, if a purge of the channel waits; nil to tokens that are limited to an app or channel.
  @OrNull package var fault: String?

  package init(name: String, isTold: Bool, lateSince: Moment?, fault: String?) {
    self.name = name
    self.isTold = isTold
    self.lateSince = lateSince
    self.fault = fault
  }
}
