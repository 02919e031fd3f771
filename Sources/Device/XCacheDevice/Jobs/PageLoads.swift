/// Which pages are loading: each counts until it has loaded, makes no more requests, or takes too long.
///
/// It reads no clock; times are from the monotonic clock, in nanoseconds.
struct PageLoads {
  private struct Load {
    let end: UInt64
    var quietEnd: UInt64

    var until: UInt64 { min(end, quietEnd) }
  }

  private var loads: [UInt64: Load] = [:]
  /// How long a page without new requests still counts as loading.
  private let quiet: UInt64
  /// The maximum time for which a page counts as loading: one that never finishes must not starve updates.
  private let longest: UInt64

  init(quiet: Duration, longest: Duration) {
    self.quiet = quiet.nanoseconds
    self.longest = longest.nanoseconds
  }

  /// The number of pages; those that have expired are removed only by `isAny(at:)`.
  var count: Int { loads.count }

  func contains(_ page: UInt64) -> Bool { loads[page] != nil }

  /// Adds a page that begins to load.
  mutating func add(_ page: UInt64, at now: UInt64) {
    loads[page] = Load(end: now + longest, quietEnd: now + quiet)
  }

  /// Records that a loading page requested something.
  mutating func recordRequest(of page: UInt64, at now: UInt64) { loads[page]?.quietEnd = now + quiet }

  /// Removes a page that has loaded, failed or been left.
  mutating func remove(_ page: UInt64) { loads[page] = nil }

  /// Whether any page is loading.
  mutating func isAny(at now: UInt64) -> Bool {
    if loads.isEmpty { return false }
    // A page that was quiet counts again when it makes another request.
    loads = loads.filter { $0.value.end > now }
    return loads.values.contains { $0.until > now }
  }

  /// Returns how long a waiting thread sleeps before it checks the clock again.
  func nextCheck(after now: UInt64) -> Duration {
    let ends = loads.values.map(\.until).filter { $0 > now }
    return ends.min().map { .nanoseconds(Int64(clamping: $0 - now)) + .milliseconds(1) } ?? .seconds(1)
  }
}

extension Duration {
  fileprivate var nanoseconds: UInt64 {
    UInt64(components.seconds) * 1_000_000_000 + UInt64(components.attoseconds / 1_000_000_000)
  }
}
