/// Since when leases have kept garbage collection from running.
///
/// One lease after another could do so for ever. So once gc has waited for a day, tokens get and renew none until it has run,
/// which is within the hour, since no lease lasts longer without being renewed.
struct CollectionWait: Sendable {
  private var since: Int64?
  private var lastAttempt: Int64 = 0

  /// How long gc waits for leases: a day, in milliseconds, which is also how long one lease may be renewed.
  static let limit = Store.leaseLife
  /// An attempt this long after the one before is a new one, in milliseconds: nobody may be waiting any more.
  private static let pause: Int64 = 36 * 3_600_000
  /// For how long an attempt counts, in milliseconds.
  private static let attempt: Int64 = 3_600_000

  /// Notes an attempt that leases delayed, at a time in milliseconds since 1970.
  mutating func noteDelayed(_ now: Int64) {
    if since == nil || now - lastAttempt > Self.pause { since = now }
    lastAttempt = now
  }

  /// Notes that gc has run.
  mutating func noteDone() { since = nil }

  /// Whether gc has waited too long and is still being attempted.
  func isOverdue(_ now: Int64) -> Bool {
    guard let since else { return false }
    return now - since >= Self.limit && now - lastAttempt <= Self.attempt
  }
}
