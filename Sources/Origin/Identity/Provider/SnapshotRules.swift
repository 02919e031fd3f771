import System

/// What a provider publishes: its metadata and its keys, of one moment.
struct ProviderSnapshot: Sendable {
  let metadata: ProviderMetadata
  let keys: KeySet
  /// When it was fetched, in milliseconds since 1970.
  let at: Int64
  /// Counts what was fetched: two of one moment differ.
  let number: Int
}

/// When what a provider publishes is fetched, and what is used meanwhile; a value without I/O, the moments passed to it.
struct SnapshotRules {
  /// How long it is used without another look, in milliseconds.
  static let fresh: Int64 = 3_600_000
  /// How long it is used while the provider doesn't answer.
  static let stale: Int64 = 24 * 3_600_000
  /// The time from one fetch to the next, at least: whoever sends wrong tokens makes us ask no more often.
  static let pause: Int64 = 30_000
  /// The same as long as there is nothing to use.
  static let firstPause: Int64 = 5_000

  private(set) var held: ProviderSnapshot?
  private(set) var isFetching = false
  private var attempt: Int64?
  private var failure: IdentityError?
  /// The threads that wait for a fetch.
  var waiting = 0
  /// The most of them.
  static let waitingLimit = 8

  enum Step {
    case use(ProviderSnapshot)
    /// The caller fetches, and says how it ended.
    case fetch
    /// Another thread fetches.
    case wait
    /// There is nothing newer, and it isn't time to look again.
    case nothingNewer
    case fail(IdentityError)
  }

  /// The next step of whoever wants what is published.
  /// - Parameter seen: the number of a snapshot that didn't do, so that a newer one is wanted; nil: any will.
  mutating func next(at now: Int64, newerThan seen: Int?) -> Step {
    if let held {
      if let seen, held.number != seen { return .use(held) }
      if seen == nil, Self.isYounger(held.at, than: Self.fresh, at: now) { return .use(held) }
    }
    let usable =
      seen == nil ? held.flatMap { Self.isYounger($0.at, than: Self.stale, at: now) ? $0 : nil } : nil
    if isFetching { return usable.map(Step.use) ?? .wait }
    let pause = held == nil ? Self.firstPause : Self.pause
    if let attempt, Self.isYounger(attempt, than: pause, at: now) {
      if let usable { return .use(usable) }
      return failure.map(Step.fail) ?? (seen == nil ? .fail(.busy) : .nothingNewer)
    }
    isFetching = true
    attempt = now
    return .fetch
  }

  /// A fetch ended with what is published.
  mutating func fetched(_ metadata: ProviderMetadata, _ keys: KeySet, at now: Int64) {
    held = ProviderSnapshot(metadata: metadata, keys: keys, at: now, number: (held?.number ?? 0) &+ 1)
    isFetching = false
    failure = nil
  }

  /// A fetch failed. Returns what is used all the same; nil if there is nothing.
  mutating func failed(_ error: IdentityError, at now: Int64, newerThan seen: Int?) -> ProviderSnapshot? {
    isFetching = false
    failure = error
    guard seen == nil, let held, Self.isYounger(held.at, than: Self.stale, at: now) else { return nil }
    return held
  }

  /// Whether something is of the last `limit` milliseconds. What is of the future isn't: the clock was set back.
  private static func isYounger(_ moment: Int64, than limit: Int64, at now: Int64) -> Bool {
    let (age, isOver) = now.subtractingReportingOverflow(moment)
    return !isOver && age >= 0 && age < limit
  }
}
