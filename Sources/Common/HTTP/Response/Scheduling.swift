/// Where the blocking work for a request waits for a worker, and on whose account.
package struct Scheduling: Sendable, Equatable {
  /// A queue with workers of its own: what waits in one never waits for work of another.
  package enum Lane: Int, Sendable, CaseIterable {
    /// Short acts that can't wait, such as the kill switch.
    case urgent
    /// Acts that can't wait either, but may themselves wait for something, such as a rollback for its deltas.
    case recovery
    /// Acts, and bodies that publishers send.
    case acts
    /// Reads of publishers and people: they cost the most, and are put off for everything else.
    case reads
    /// People's sign-ins, which wait for the provider's server.
    case signIn
    /// Jobs' trades, which may wait for their issuers' servers: not for that of people.
    case trade
    /// What anyone may request.
    case open
  }

  /// The queue.
  package let lane: Lane
  /// Stands for the token or address whose work it is. Holders take turns, and none gets all workers of a lane.
  package let holder: Int
  /// Whether the work may be broken off halfway once nobody waits for the answer: it changes nothing.
  package let isInterruptible: Bool

  /// Creates the scheduling of a request's work.
  package init(_ lane: Lane, holder: Int, isInterruptible: Bool = false) {
    self.lane = lane
    self.holder = holder
    self.isInterruptible = isInterruptible
  }
}
