/// When a command line asks again whether a person has decided about its sign-in (RFC 8628 §3.5).
struct SignInPolling {
  /// What came of the last question.
  enum Outcome: Hashable {
    /// Nobody has decided yet.
    case pending
    /// It was asked too early.
    case slowDown
    /// No answer came, or none of the origin's.
    case outage
  }

  enum Action: Hashable {
    case wait(seconds: Int64)
    /// It is over: nobody has decided in time.
    case giveUp
  }

  /// The longest time that is waited for a decision, in seconds.
  static let longest: Int64 = 600
  /// The longest time between two questions, in seconds.
  private static let longestPause: Int64 = 60

  /// The seconds between two questions.
  private var interval: Int64
  /// When it is over, on the clock of `now`.
  private let end: Int64
  /// The extra seconds after outages.
  private var backoff: Int64 = 0

  /// - Parameters:
  ///   - interval: as the origin wants it, in seconds.
  ///   - expiresIn: after how many seconds the origin forgets the sign-in.
  ///   - now: the seconds of a clock.
  init(interval: Int, expiresIn: Int, now: Int64) {
    self.interval = max(1, min(Int64(interval), Self.longestPause))
    end = now + max(1, min(Int64(expiresIn), Self.longest))
  }

  /// Returns when to ask first.
  func first(now: Int64) -> Action { action(interval, now) }

  mutating func next(after outcome: Outcome, now: Int64) -> Action {
    switch outcome {
    case .pending: backoff = 0
    case .slowDown:
      // "the interval MUST be increased by 5 seconds for this and all subsequent requests."
      interval = min(interval + 5, Self.longestPause)
    case .outage:
      // "On encountering a connection timeout, clients MUST unilaterally reduce their polling frequency before retrying."
      backoff = min(max(1, backoff * 2), Self.longestPause)
    }
    return action(min(interval + backoff, Self.longestPause), now)
  }

  private func action(_ seconds: Int64, _ now: Int64) -> Action {
    now + seconds >= end ? .giveUp : .wait(seconds: seconds)
  }
}
