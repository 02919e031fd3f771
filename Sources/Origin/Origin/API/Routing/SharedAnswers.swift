import HTTP
import System

/// Answers to reads that cost much: equal ones at the same time are made once, by the first, and small ones are kept for a
/// moment.
final class SharedAnswers: Sendable {
  /// What an answer depends on. It is the whole request, as far as it matters, and everything that may change.
  typealias Key = [String]

  private struct Kept {
    let key: Key
    let response: Response
    /// In monotonic nanoseconds.
    let until: UInt64
  }

  private struct State {
    /// The answers in progress, and how many requests wait for each.
    var beingMade: [Key: Int] = [:]
    /// Oldest first.
    var kept: [Kept] = []

    mutating func answer(to key: Key, now: UInt64) -> Response? {
      kept.removeAll { now > $0.until }
      return kept.first { $0.key == key }?.response
    }
  }

  private enum Turn {
    case made(Response)
    /// This thread makes it.
    case own
  }

  /// For how many nanoseconds an answer is kept, and a large one, which takes memory, for those that wait for it.
  private static let (lifetime, shortLifetime): (UInt64, UInt64) = (10_000_000_000, 1_000_000_000)
  /// The size of the largest answer that isn't large, in bytes.
  private static let small: UInt64 = 1 << 20
  private static let count = 16
  private let clock: @Sendable () -> UInt64
  private let state = Monitor(State())

  /// - Parameter clock: returns monotonic nanoseconds.
  init(clock: @escaping @Sendable () -> UInt64 = Clock.monotonicNanoseconds) { self.clock = clock }

  /// Returns the kept answer to an equal request, that of one in progress, or makes it.
  func answer(to key: Key, _ make: () throws -> Response) rethrows -> Response {
    var waits = false
    let turn: Turn = state.waiting { [clock] state in
      if let response = state.answer(to: key, now: clock()) { return .made(response) }
      guard let others = state.beingMade[key] else {
        state.beingMade[key] = 0
        return .own
      }
      if !waits { state.beingMade[key] = others + 1 }
      waits = true
      return nil
    }
    if case .made(let response) = turn { return response }
    var made: Response?
    // If this one fails or is broken off, the first of those that wait for it makes it.
    defer { finish(key, made) }
    let response = try make()
    // What was broken off halfway may lack something.
    if Cancellation.current?.isCancelled != true { made = response }
    return response
  }

  private func finish(_ key: Key, _ response: Response?) {
    let now = clock()
    state.broadcasting { state in
      let waiting = state.beingMade.removeValue(forKey: key) ?? 0
      guard let response else { return }
      let isSmall = response.body.count <= Self.small
      guard isSmall || waiting > 0 else { return }
      let until = now &+ (isSmall ? Self.lifetime : Self.shortLifetime)
      state.kept.append(Kept(key: key, response: response, until: until))
      if state.kept.count > Self.count { state.kept.removeFirst() }
    }
  }

  /// Drops answers that are too old to be given again.
  func dropOld() {
    state.withLock { [now = clock()] state in state.kept.removeAll { now > $0.until } }
  }
}

/// A text that is made at most once a second, however many ask for it.
final class RecentText: Sendable {
  private struct State {
    var text: String?
    /// In monotonic nanoseconds.
    var since: UInt64 = 0
    var isBeingMade = false
  }

  private static let lifetime: UInt64 = 1_000_000_000
  private let make: @Sendable () -> String
  private let clock: @Sendable () -> UInt64
  private let state = Monitor(State())

  init(
    clock: @escaping @Sendable () -> UInt64 = Clock.monotonicNanoseconds,
    _ make: @escaping @Sendable () -> String
  ) {
    self.make = make
    self.clock = clock
  }

  /// The text, at most a second old, or the one before if a new one is being made. Only the first ones ever wait.
  var text: String {
    let known: String?? = state.waiting { [clock] state in
      if let text = state.text, state.isBeingMade || clock() &- state.since < Self.lifetime { return text }
      guard !state.isBeingMade else { return nil }
      state.isBeingMade = true
      return .some(nil)
    }
    if let text = known ?? nil { return text }
    let since = clock()
    let text = current
    state.broadcasting { $0 = State(text: text, since: since) }
    return text
  }

  /// The text, made now.
  var current: String { make() }
}
