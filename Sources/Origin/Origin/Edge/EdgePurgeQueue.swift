/// Decides which purges one edge is sent, and when; without I/O. Times are in milliseconds, of a clock that never goes back.
///
/// A purge is sent at once, and once more a little later: an answer that the edge was being sent meanwhile is kept after the first one. What
/// fails is tried again until it succeeds. By then no old answer may be left; but it shows that the edge is told again.
struct EdgePurgeQueue: Sendable {
  /// What to do now.
  enum Action: Hashable, Sendable {
    /// Send these, then call `ended`.
    case send([EdgePurge])
    /// Look again after so many milliseconds, or after a change.
    case wait(Int64)
    /// Nothing is to be sent.
    case idle
  }

  /// How long a change waits for others, to be sent with them; policies don't.
  static let collect: Int64 = 50
  /// When a purge that succeeded is sent again.
  static let again: Int64 = 2000
  /// The wait after a failure, which doubles.
  static let firstRetry: Int64 = 500
  static let longestRetry: Int64 = 60_000
  /// After how long a purge that hasn't succeeded is late.
  static let late: Int64 = 5000

  private struct Entry: Sendable {
    /// When it was first to be sent.
    var since: Int64
    var due: Int64
    var isUrgent: Bool
    /// Whether it is the one that follows a success.
    var isSecond = false
    var attempts = 0
  }

  private let batch: Int
  private var waiting: [EdgePurge: Entry] = [:]
  private var sent: [EdgePurge: Entry] = [:]
  /// The failures since the last success.
  private var failures = 0
  /// When what failed is tried again, and the earliest time for what is new.
  private var retryAt: Int64 = 0
  private var floor: Int64 = 0
  private var isEnding = false

  /// - Parameter batch: the most purges in one request.
  init(batch: Int) { self.batch = batch }

  // MARK: - Changes

  /// Adds the purges of changes.
  mutating func add(_ changes: some Sequence<EdgeChange>, at now: Int64) {
    for change in changes {
      var entry = Entry(
        since: now, due: now + (change.isUrgent ? 0 : Self.collect), isUrgent: change.isUrgent)
      if let old = waiting[change.purge], !old.isSecond {
        entry.since = old.since
        entry.due = min(entry.due, max(now, old.due))
        entry.isUrgent = entry.isUrgent || old.isUrgent
      }
      waiting[change.purge] = entry
      // The edge may be back; those who made a change shouldn't wait for the end of a long pause.
      retryAt = min(retryAt, floor)
    }
  }

  /// What to do now. Nothing is sent before the last attempt has ended.
  mutating func next(at now: Int64) -> Action {
    precondition(sent.isEmpty)
    guard let first = waiting.values.lazy.map(\.due).min() else { return .idle }
    let start = max(first, retryAt)
    if start > now { return .wait(start - now) }
    let due = waiting.filter { $0.value.due <= now }
    let order = { (a: (key: EdgePurge, value: Entry), b: (key: EdgePurge, value: Entry)) in
      Self.isBefore(a.value, b.value) || !Self.isBefore(b.value, a.value) && a.key < b.key
    }
    // Each request to an edge that takes one purge at a time would sort all of them.
    let chosen =
      batch == 1 ? due.min(by: order).map { [$0] } ?? [] : Array(due.sorted(by: order).prefix(batch))
    for (purge, entry) in chosen {
      waiting[purge] = nil
      sent[purge] = entry
    }
    return .send(chosen.map(\.key))
  }

  /// Policies first; then what hasn't been tried, so that one purge that is refused doesn't hold up the others.
  private static func isBefore(_ a: Entry, _ b: Entry) -> Bool {
    if a.isUrgent != b.isUrgent { return a.isUrgent }
    if a.isSecond != b.isSecond { return b.isSecond }
    return (a.attempts, a.since) < (b.attempts, b.since)
  }

  /// Records how the attempt ended.
  mutating func ended(_ outcome: EdgePurgeOutcome, at now: Int64) {
    let ended = sent
    sent = [:]
    switch outcome {
    case .done: succeeded(ended, at: now)
    case .failed(_, let after, _): failed(ended, after: after ?? 0, at: now)
    }
  }

  private mutating func succeeded(_ ended: [EdgePurge: Entry], at now: Int64) {
    for (purge, entry) in ended where waiting[purge] == nil && !entry.isSecond && !isEnding {
      let due = now + Self.again
      waiting[purge] = Entry(since: due, due: due, isUrgent: entry.isUrgent, isSecond: true)
    }
    // After one failure it may have been about that purge alone, which keeps its own pause.
    if failures > 1 {
      for (purge, entry) in waiting where entry.attempts > 0 { waiting[purge]?.due = now }
    }
    (failures, retryAt, floor) = (0, 0, 0)
  }

  private mutating func failed(_ ended: [EdgePurge: Entry], after: Int64, at now: Int64) {
    failures += 1
    retryAt = now + max(Self.pause(failures), after)
    floor = now + max(Self.firstRetry, after)
    for (purge, entry) in ended {
      if var newer = waiting[purge] {
        newer.since = entry.isSecond ? newer.since : min(entry.since, newer.since)
        newer.isUrgent = newer.isUrgent || entry.isUrgent
        waiting[purge] = newer
      } else {
        var entry = entry
        entry.attempts += 1
        entry.due = now + max(Self.pause(entry.attempts), after)
        waiting[purge] = entry
      }
    }
  }

  private static func pause(_ failures: Int) -> Int64 {
    min(longestRetry, firstRetry << Int64(min(failures, 20) - 1))
  }

  // MARK: - The end

  /// Makes everything that waits due, for a last attempt before the process ends; nothing, if the edge fails anyway.
  mutating func end(at now: Int64) {
    isEnding = true
    if failures > 0 { waiting = [:] }
    for purge in waiting.keys { waiting[purge]?.due = now }
    retryAt = 0
  }

  // MARK: - State

  /// The channels whose changes haven't been purged.
  var pending: Int {
    waiting.count { !$0.value.isSecond }
      + sent.count { !$0.value.isSecond && waiting[$0.key]?.isSecond != false }
  }

  /// For how many milliseconds the oldest purge has been waiting, if it is late; otherwise nil.
  func lateness(at now: Int64) -> Int64? {
    let oldest = [waiting, sent].compactMap { $0.values.lazy.map(\.since).min() }.min()
    guard let oldest, now - oldest >= Self.late else { return nil }
    return now - oldest
  }
}
