/// Since when leases have kept garbage collection from running, whichever process attempted it.
///
/// One lease after another could do so for ever. So once gc has waited for a day, tokens get and renew none until it has run: the
/// next attempt does, if it is an hour later, since no lease lasts longer without being renewed.
struct CollectionWait: Hashable, Sendable {
  /// The first attempt that leases delayed, in milliseconds since 1970.
  let since: Int64
  /// The last one.
  let lastAttempt: Int64

  /// How long gc waits for leases: a day, in milliseconds, which is also how long one lease may be renewed.
  static let limit = Store.leaseLife
  /// An attempt this long after the one before is a new one, in milliseconds: nobody may be waiting any more.
  private static let pause: Int64 = 36 * 3_600_000
  /// For how long attempts within a few hours count, in milliseconds: whoever made them may have given up.
  private static let attempt: Int64 = 3_600_000
  /// From this time between attempts on, in milliseconds, gc runs once a day, and the next attempt may be a day later.
  private static let daily: Int64 = 20 * 3_600_000

  /// The wait after an attempt that leases delayed, at a time in milliseconds since 1970.
  static func after(_ wait: CollectionWait?, delayedAt now: Int64) -> CollectionWait {
    guard let wait, now >= wait.lastAttempt, now - wait.lastAttempt <= pause else {
      return CollectionWait(since: now, lastAttempt: now)
    }
    return CollectionWait(since: wait.since, lastAttempt: now)
  }

  /// Whether gc has waited too long and is still being attempted.
  func isOverdue(_ now: Int64) -> Bool {
    guard now - since >= Self.limit else { return false }
    return now - lastAttempt <= (lastAttempt - since >= Self.daily ? Self.pause : Self.attempt)
  }
}

extension Database {
  func collectionWait() throws(StoreError) -> CollectionWait? {
    try first("SELECT since, last_attempt FROM collection_wait") {
      CollectionWait(since: $0.get(0), lastAttempt: $0.get(1))
    }
  }

  /// Notes an attempt that leases delayed, at a time in milliseconds since 1970.
  func noteCollectionDelayed(_ now: Int64) throws(StoreError) {
    let wait = CollectionWait.after(try collectionWait(), delayedAt: now)
    try run(
      "INSERT OR REPLACE INTO collection_wait (one, since, last_attempt) VALUES (1, ?, ?)", wait.since,
      wait.lastAttempt)
  }

  /// Notes that gc has run.
  func noteCollectionDone() throws(StoreError) {
    if try collectionWait() != nil { try run("DELETE FROM collection_wait") }
  }
}
