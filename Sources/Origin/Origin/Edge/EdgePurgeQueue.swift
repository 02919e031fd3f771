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
  /// How long a policy waits at most because an edge asks for time.
  static let longestFloor: Int64 = 5000
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

    /// Whether the edge may lack it: a repetition doesn't count unless it fails.
    var isMissing: Bool { !isSecond || attempts > 0 }

    /// The end of a time that an edge asks for, as far as this purge keeps to it.
    func floor(_ asked: Int64) -> Int64 {
      isUrgent ? min(asked, since + EdgePurgeQueue.longestFloor) : asked
    }
  }

  private let batch: Int
  private var waiting: [EdgePurge: Entry] = [:]
  private var sent: [EdgePurge: Entry] = [:]
  /// The failures since the last success.
  private var failures = 0
  /// When an edge that fails is tried again, and the earliest time for that once there is something new.
  private var retryAt: Int64 = 0
  private var soonest: Int64 = 0
  /// Until when the edge asked to be sent nothing.
  private var floor: Int64 = 0
  /// Whether anything was added since the last attempt began.
  private var hasNew = false
  private var isEnding = false

  /// - Parameter batch: the most purges in one request.
  init(batch: Int) { self.batch = batch }

  // MARK: - Changes

  /// Adds the purges of changes.
  mutating func add(_ changes: some Sequence<EdgeChange>, at now: Int64) {
    for change in changes {
      var entry = Entry(
        since: now, due: now + (change.isUrgent ? 0 : Self.collect), isUrgent: change.isUrgent)
      if let old = waiting[change.purge], old.isMissing {
        entry.since = old.since
        entry.due = min(entry.due, max(now, old.due))
        entry.isUrgent = entry.isUrgent || old.isUrgent
      }
      waiting[change.purge] = entry
      // The edge may be back; those who made a change shouldn't wait for the end of a long pause.
      retryAt = min(retryAt, soonest)
      hasNew = true
    }
  }

  /// What to do now. Nothing is sent before the last attempt has ended.
  mutating func next(at now: Int64) -> Action {
    precondition(sent.isEmpty)
    let floor = floor
    guard let first = waiting.values.lazy.map({ max($0.due, $0.floor(floor)) }).min() else { return .idle }
    let start = max(first, retryAt)
    if start > now { return .wait(start - now) }
    let due = waiting.filter { max($0.value.due, $0.value.floor(floor)) <= now }
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
    hasNew = false
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
    (failures, retryAt, soonest, floor) = (0, 0, 0, 0)
  }

  private mutating func failed(_ ended: [EdgePurge: Entry], after: Int64, at now: Int64) {
    failures += 1
    (soonest, floor) = (now + Self.firstRetry, now + after)
    // What was added during the attempt may have been added because the edge is back.
    retryAt = hasNew ? soonest : now + Self.pause(failures)
    for (purge, entry) in ended {
      if var newer = waiting[purge] {
        newer.since = entry.isMissing ? min(entry.since, newer.since) : newer.since
        newer.isUrgent = newer.isUrgent || entry.isUrgent
        waiting[purge] = newer
      } else {
        var entry = entry
        entry.attempts += 1
        entry.due = max(now + Self.pause(entry.attempts), entry.floor(floor))
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
    (retryAt, floor) = (0, 0)
  }

  // MARK: - State

  /// The channels whose changes haven't been purged.
  var pending: Int {
    waiting.count { $0.value.isMissing } + sent.count { $0.value.isMissing && waiting[$0.key] == nil }
  }

  /// Whether the edge hasn't been told of a channel's last change.
  func isPending(_ purge: EdgePurge) -> Bool {
    [waiting[purge], sent[purge]].contains { $0?.isMissing == true }
  }

  /// For how many milliseconds the oldest purge has been waiting, if it is late; otherwise nil.
  func lateness(at now: Int64) -> Int64? {
    Self.lateness(
      since: [waiting, sent].compactMap { $0.values.lazy.filter(\.isMissing).map(\.since).min() }.min(), now)
  }

  /// The same of one channel's purge.
  func lateness(of purge: EdgePurge, at now: Int64) -> Int64? {
    Self.lateness(
      since: [waiting[purge], sent[purge]].compactMap { $0 }.filter(\.isMissing).map(\.since).min(), now)
  }

  private static func lateness(since: Int64?, _ now: Int64) -> Int64? {
    guard let since, now - since >= late else { return nil }
    return now - since
  }
}
