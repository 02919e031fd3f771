/// An engine's views that wait for their page: how many, for how long, in which order they are taken, and which of those that are being
/// made are still wanted.
///
/// It makes none and shows none: the `PagePool` of each engine does, and asks here what is to be done.
public struct WarmViews<View> {
  /// Between two memory warnings. Who begins to make a view notes the round, and `add` refuses one of an earlier round.
  public struct Round: Hashable, Sendable { fileprivate var number = 0 }

  /// What a page is opened in.
  public enum Choice {
    /// A view that waited. Nobody else gets it.
    case waiting(View)
    /// A new view, since none waits.
    case new
    /// A new view with nothing of the app's in it: the device doesn't answer this page.
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
  /// The current one.
  public private(set) var round = Round()

  /// - Parameters:
  ///   - size: views that wait at a time.
  ///   - age: how long each waits at most.
  public init(size: Int, age: Duration) {
    self.size = size
    self.age = age
  }

  /// Those that wait, oldest first.
  public var all: [View] { entries.map(\.view) }

  /// How many wait.
  public var count: Int { entries.count }

  /// When the time of the oldest is over; nil: none waits.
  public var oldestEnd: ContinuousClock.Instant? { entries.first?.end }

  /// Lets those go whose time is over, and those that can't be used any more.
  public mutating func drop(at now: ContinuousClock.Instant = .now, keeping isUsable: (View) -> Bool) {
    entries.removeAll { now >= $0.end || !isUsable($0.view) }
  }

  /// Whether whoever makes views since `round` is to make another one.
  public func lacksOne(since round: Round) -> Bool { round == self.round && entries.count < size }

  /// Has a view wait that was begun in `round`.
  ///
  /// - Returns: false where it isn't wanted any more.
  public mutating func add(_ view: View, since round: Round, at now: ContinuousClock.Instant = .now) -> Bool {
    guard lacksOne(since: round) else { return false }
    entries.append(Entry(view: view, end: now + age))
    return true
  }

  /// What to open a page in.
  ///
  /// - Parameters:
  ///   - isAnswered: whether the device answers the page.
  ///   - now: views that have waited for longer than their age aren't given.
  ///   - isUsable: whether a view still can be used.
  public mutating func choose(
    isAnswered: Bool, at now: ContinuousClock.Instant = .now, keeping isUsable: (View) -> Bool
  ) -> Choice {
    drop(at: now, keeping: isUsable)
    if !isAnswered { return .plain }
    return entries.isEmpty ? .new : .waiting(entries.removeFirst().view)
  }

  /// Lets all go, and those that are being made: there is little memory.
  public mutating func removeAll() {
    round.number += 1
    entries = []
  }
}
