import Platform

/// Holds a lease for as long as some work takes, renewing it on the way.
struct LeaseKeeper {
  private let store: Store
  private let lease: Lease
  private var renewed: UInt64

  /// Seconds that a lease outlives a reader that was killed.
  private static let seconds = 120

  init(_ store: Store, holder: String) throws(StoreError) {
    self.store = store
    lease = try store.takeLease(holder: holder, seconds: Self.seconds)
    renewed = Clock.monotonicNanoseconds()
  }

  /// Called at least once a minute.
  /// - Throws: `unknownLease` where it ended: what was read may be gone.
  mutating func goOn() throws(StoreError) {
    guard Clock.monotonicNanoseconds() - renewed > 20_000_000_000 else { return }
    try store.renewLease(lease.id, seconds: Self.seconds)
    renewed = Clock.monotonicNanoseconds()
  }

  func end() throws(StoreError) { try store.endLease(lease.id) }
}
