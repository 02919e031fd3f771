/// Decides whether and when a request is tried again: exponential backoff with jitter.
///
/// One value per request; it counts its own attempts.
package struct RetryPolicy: Sendable {
  /// What to do after an attempt.
  package enum Action: Hashable, Sendable {
    case wait(milliseconds: Int)
    case giveUp
  }

  /// The result of an attempt.
  package enum Outcome: Sendable {
    case error(HTTPClientError)
    case status(Int, retryAfter: Int?)
  }

  /// The total number of attempts, including the first.
  package let attempts: Int
  /// Milliseconds before the second attempt; each further wait is twice as long, up to `longest`.
  package let first: Int
  /// The longest wait in milliseconds.
  package let longest: Int
  /// Whether the server has ever responded. Before that, its address may be wrong: a refused connection or an unknown host
  /// isn't retried, and nothing is tried more than three times. Updated by the outcomes of attempts.
  package private(set) var hasAnswered: Bool

  /// Whether the request changes something, so that the sender has to learn the result: this allows three more attempts,
  /// some 30 seconds in total, enough for an origin to restart.
  package var isAct = false

  /// Whether to resend a request that may already have been carried out.
  package var repeats = true

  private var made = 0
  private var state: UInt64

  package init(
    attempts: Int = 6, first: Int = 200, longest: Int = 10_000, hasAnswered: Bool = true,
    seed: UInt64 = .random(in: 1 ... .max)
  ) {
    self.attempts = attempts
    self.first = first
    self.longest = longest
    self.hasAnswered = hasAnswered
    state = seed | 1
  }

  /// Returns what to do after a failed attempt.
  package mutating func next(after outcome: Outcome) -> Action {
    made += 1
    if outcome.isOfServer { hasAnswered = true }
    guard made < maxAttempts, isTransient(outcome) else { return .giveUp }
    let doubled = made > 20 ? longest : min(longest, first << (made - 1))
    // Between half and all of it, so that clients that failed together don't retry together.
    let wait = doubled / 2 + Int(draw() % UInt64(doubled / 2 + 1))
    guard case .status(_, let seconds?) = outcome else { return .wait(milliseconds: wait) }
    return seconds > 60 ? .giveUp : .wait(milliseconds: max(wait, seconds * 1000))
  }

  private var maxAttempts: Int { hasAnswered ? attempts + (isAct ? 3 : 0) : min(attempts, 3) }

  private func isTransient(_ outcome: Outcome) -> Bool {
    switch outcome {
    case _ where !repeats && !outcome.isBefore: false
    case .error(.couldNotConnect), .error(.couldNotResolve): hasAnswered
    case .error(.timedOut), .error(.reset), .error(.cutOff): true
    case .error: false
    case .status(let status, _): RetryPolicy.transient.contains(status)
    }
  }

  /// Statuses that another attempt may cure. 501, 505 and 507 won't change on a retry; 520 to 524 are a CDN's for an origin
  /// that broke off, is down or took too long.
  package static let transient: Set<Int> = [408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524]

  /// xorshift64: for spreading retries, not for secrets.
  private mutating func draw() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}

extension RetryPolicy.Outcome: CustomStringConvertible {
  package var description: String {
    switch self {
    case .error(let error): "\(error)"
    case .status(let status, _): "status \(status)"
    }
  }
}

extension RetryPolicy.Outcome {
  /// Whether nothing of the request was sent.
  package var isBefore: Bool {
    switch self {
    case .error(.couldNotConnect), .error(.couldNotResolve): true
    default: false
    }
  }

  /// Whether something came from the server, or from a proxy in front of it.
  fileprivate var isOfServer: Bool {
    switch self {
    case .status, .error(.reset), .error(.cutOff), .error(.notHTTP): true
    case .error: false
    }
  }
}
