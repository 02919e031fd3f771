/// The views that an engine keeps warm for the next page: how many, for how long, in which order they are taken, and which
/// of those being made are still wanted.
///
/// It neither creates nor shows views: `ViewPool` does, for each engine's `PagePool`, and asks this type what to do.
public struct WarmViews<View> {
  /// The time between two memory warnings. Note the round before making a view; `add` refuses views of an earlier round.
  public struct Round: Hashable, Sendable { fileprivate var number = 0 }

  /// The view to open a page in.
  public enum Choice {
    /// A warm view, now the caller's alone.
    case waiting(View)
    /// A new view, since none is waiting.
    case new
    /// A new view without anything of the app's in it: the device doesn't answer this page.
    case plain
  }

  private struct Entry {
    let view: View
    let end: ContinuousClock.Instant
  }

  private let size: Int
  private let age: Duration
  /// Oldest first.
  private var entries: [Entry] = []
  /// The current round.
  public private(set) var round = Round()

  /// - Parameters:
  ///   - size: the number of views to keep waiting.
  ///   - age: how long each waits at most.
  public init(size: Int, age: Duration) {
    self.size = size
    self.age = age
  }

  /// The waiting views, oldest first.
  public var all: [View] { entries.map(\.view) }

  /// The number of waiting views.
  public var count: Int { entries.count }

  /// When the oldest view expires; nil if none is waiting.
  public var oldestEnd: ContinuousClock.Instant? { entries.first?.end }

  /// Drops the views that have expired or can't be used any more.
  public mutating func drop(at now: ContinuousClock.Instant = .now, keeping isUsable: (View) -> Bool) {
    entries.removeAll { now >= $0.end || !isUsable($0.view) }
  }

  /// Whether a caller that has been making views since `round` should make another one.
  public func lacksOne(since round: Round) -> Bool { round == self.round && entries.count < size }

  /// Adds a view whose making began in `round`.
  ///
  /// - Returns: false if it is no longer wanted.
  public mutating func add(_ view: View, since round: Round, at now: ContinuousClock.Instant = .now) -> Bool {
    guard lacksOne(since: round) else { return false }
    entries.append(Entry(view: view, end: now + age))
    return true
  }

  /// Chooses the view to open a page in.
  ///
  /// - Parameters:
  ///   - isAnswered: whether the device answers the page.
  ///   - now: views that have expired by then aren't used.
  ///   - isUsable: whether a view can still be used.
  public mutating func choose(
    isAnswered: Bool, at now: ContinuousClock.Instant = .now, keeping isUsable: (View) -> Bool
  ) -> Choice {
    drop(at: now, keeping: isUsable)
    if !isAnswered { return .plain }
    return entries.isEmpty ? .new : .waiting(entries.removeFirst().view)
  }

  /// Drops all views, including those being made, because memory is low.
  public mutating func removeAll() {
    round.number += 1
    entries = []
  }
}
