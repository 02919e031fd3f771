/// Decides whether a page whose process ended is loaded again: a page that ends it each time would keep the device busy
/// forever.
struct ReloadLimit {
  /// The most reloads within `span` nanoseconds.
  static let maxReloads = 3
  static let span: UInt64 = 60_000_000_000

  private var times: [UInt64] = []

  init() {}

  /// Records that the process ended; returns whether to load the page again.
  mutating func allows(at now: UInt64) -> Bool {
    times.removeAll { now > $0 && now - $0 > Self.span }
    guard times.count < Self.maxReloads else { return false }
    times.append(now)
    return true
  }
}
