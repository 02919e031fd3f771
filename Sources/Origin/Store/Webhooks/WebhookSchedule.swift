/// Decides which deliveries begin now: one at a time to each receiver, the longest due first.
package struct WebhookSchedule: Sendable {
  /// The first delivery that waits of one channel to one receiver; those behind it wait for it.
  package struct Head: Hashable, Sendable {
    /// The delivery's row.
    package let row: Int64
    /// The receiver's id.
    package let webhook: String
    /// When it is due, in milliseconds since 1970.
    package let due: Int64

    package init(row: Int64, webhook: String, due: Int64) {
      self.row = row
      self.webhook = webhook
      self.due = due
    }
  }

  /// The most receivers that are sent to at once.
  package static let maxBusy = 4
  /// The most of these whose last attempt failed: those that hang take 10 s for each message, and what waits for them is the
  /// longest due.
  static let maxFailing = 2
  /// The longest wait in milliseconds before looking again.
  package static let longestWait: Int64 = 60_000

  /// The deliveries to begin.
  package let begin: [Head]
  /// After how many milliseconds the next one is due.
  package let wait: Int64

  /// - Parameters:
  ///   - heads: what waits.
  ///   - busy: the receivers that are being sent to.
  ///   - failing: the receivers whose last attempt failed.
  ///   - now: milliseconds since 1970.
  package init(_ heads: [Head], busy: Set<String>, failing: Set<String> = [], now: Int64) {
    var busy = busy
    var failingCount = busy.count { failing.contains($0) }
    var begin: [Head] = []
    var wait = Self.longestWait
    for head in heads.sorted(by: { ($0.due, $0.row) < ($1.due, $1.row) }) where !busy.contains(head.webhook) {
      // Nothing is due so late: the clock was set back.
      let isDue = head.due <= now || head.due - now > 2 * WebhookRetry.longest
      guard isDue else {
        wait = min(wait, head.due - now)
        continue
      }
      guard busy.count < Self.maxBusy else { break }
      if failing.contains(head.webhook) {
        guard failingCount < Self.maxFailing else { continue }
        failingCount += 1
      }
      busy.insert(head.webhook)
      begin.append(head)
    }
    self.begin = begin
    self.wait = wait
  }
}

/// Decides what follows an attempt.
package enum WebhookRetry {
  /// What follows.
  package enum Verdict: Hashable, Sendable {
    case delivered
    /// Another attempt, at this time in milliseconds since 1970; with what was wrong.
    case retry(at: Int64, String)
    /// No other attempt.
    case givenUp(String)
    /// Nothing is sent to this receiver any more.
    case disabled(String)
  }

  /// The waits after the first attempts in milliseconds; the last one also follows all later attempts.
  private static let waits: [Int64] = [5000, 30_000, 120_000, 600_000, 3_600_000]
  /// The longest wait in milliseconds, without what spreads it.
  static let longest: Int64 = 3_600_000
  /// For how many milliseconds after the event it is tried.
  package static let life: Int64 = 86_400_000

  /// The most attempts, in case the clock was set back: in a day there are at most 29.
  static let maxAttempts = 40

  /// - Parameters:
  ///   - outcome: how the attempt ended.
  ///   - attempts: the number of attempts, with this one.
  ///   - at: when the event was, in milliseconds since 1970.
  ///   - isTest: whether it is a test, which is tried once.
  ///   - spread: from 0 to 1: spreads the attempts of those that failed together, by up to a fifth.
  package static func verdict(
    _ outcome: WebhookOutcome, attempts: Int, at: Int64, now: Int64, isTest: Bool, spread: Double
  ) -> Verdict {
    let error: String
    var wait = waits[min(max(1, attempts), waits.count) - 1]
    switch outcome {
    case .answered(let status, _) where (200..<300).contains(status): return .delivered
    case .answered(410, _): return .disabled("the receiver answered 410 Gone")
    case .answered(let status, let seconds):
      error =
        (300..<400).contains(status)
        ? "status \(status): redirects aren't followed; add the webhook with the URL that it leads to"
        : "status \(status)"
      wait = max(wait, min(longest, Int64(clamping: seconds ?? 0).clamped(to: 0...3600) * 1000))
    case .failed(let reason): error = reason
    }
    if isTest { return .givenUp(error) }
    // What happened while the origin was down for longer is tried once, too.
    guard now - at < life else {
      return .givenUp("\(error), and it happened \(life / 3_600_000) hours ago")
    }
    guard attempts < maxAttempts else { return .givenUp("\(error), at each of \(attempts) attempts") }
    return .retry(at: now + wait + Int64(Double(wait) / 5 * min(1, max(0, spread))), error)
  }
}

extension Int64 {
  fileprivate func clamped(to range: ClosedRange<Int64>) -> Int64 {
    Swift.min(range.upperBound, Swift.max(range.lowerBound, self))
  }
}
