import Testing

@testable import Store

@Suite struct WebhookScheduleTests {
  private func head(_ row: Int64, _ webhook: String, _ due: Int64) -> WebhookSchedule.Head {
    WebhookSchedule.Head(row: row, webhook: webhook, due: due)
  }

  @Test func oneDeliveryPerReceiverLongestDueFirst() {
    let heads = [head(1, "a", 500), head(2, "a", 100), head(3, "b", 900), head(4, "c", 1500)]
    let plan = WebhookSchedule(heads, busy: [], now: 1000)
    #expect(plan.begin.map(\.row) == [2, 3])
    #expect(plan.wait == 500)
    let rest = WebhookSchedule(heads, busy: ["b"], now: 1000)
    #expect(rest.begin.map(\.row) == [2])
  }

  @Test func atMostFourConcurrentDeliveries() {
    let heads = (0..<9).map { head(Int64($0), "hook\($0)", Int64($0)) }
    #expect(WebhookSchedule(heads, busy: [], now: 100).begin.map(\.row) == [0, 1, 2, 3])
    #expect(WebhookSchedule(heads, busy: ["x", "y", "z"], now: 100).begin.map(\.row) == [0])
    let full = WebhookSchedule(heads, busy: ["w", "x", "y", "z"], now: 100)
    #expect(full.begin.isEmpty && full.wait == WebhookSchedule.longestWait)
  }

  /// Deliveries to hanging receivers are due the longest, and take 10 s each.
  @Test func failingReceiversLeaveRoomForOthers() {
    let heads = (0..<9).map { head(Int64($0), "hook\($0)", Int64($0)) }
    let failing = Set((0..<8).map { "hook\($0)" })
    #expect(WebhookSchedule(heads, busy: [], failing: failing, now: 100).begin.map(\.row) == [0, 1, 8])
    let busy: Set = ["hook0", "hook1"]
    #expect(WebhookSchedule(heads, busy: busy, failing: failing, now: 100).begin.map(\.row) == [8])
    let others: Set = ["x", "y", "hook0"]
    #expect(WebhookSchedule(heads, busy: others, failing: failing, now: 100).begin.map(\.row) == [1])
  }

  @Test func clockSetBackDelaysNothing() {
    let day: Int64 = 86_400_000
    #expect(WebhookSchedule([head(1, "a", 10 * day)], busy: [], now: day).begin.count == 1)
    let soon = WebhookSchedule([head(1, "a", day + 3_600_000)], busy: [], now: day)
    #expect(soon.begin.isEmpty && soon.wait == WebhookSchedule.longestWait)
  }

  // MARK: - After an attempt

  private func verdict(
    _ outcome: WebhookOutcome, _ attempts: Int, at: Int64 = 0, now: Int64 = 1000, isTest: Bool = false,
    spread: Double = 0
  ) -> WebhookRetry.Verdict {
    WebhookRetry.verdict(outcome, attempts: attempts, at: at, now: now, isTest: isTest, spread: spread)
  }

  @Test(arguments: [(1, 5), (2, 30), (3, 120), (4, 600), (5, 3600), (6, 3600), (39, 3600)])
  func intervalsBetweenAttemptsGrow(attempts: Int, seconds: Int64) {
    #expect(verdict(.failed("no host"), attempts) == .retry(at: 1000 + seconds * 1000, "no host"))
    #expect(
      verdict(.answered(status: 500), attempts, spread: 1)
        == .retry(at: 1000 + seconds * 1200, "status 500"))
  }

  @Test func retryAfterIsRespected() {
    #expect(verdict(.answered(status: 429, retryAfter: 90), 1) == .retry(at: 91_000, "status 429"))
    #expect(verdict(.answered(status: 503, retryAfter: 1), 1) == .retry(at: 6000, "status 503"))
    #expect(verdict(.answered(status: 503, retryAfter: .max), 1) == .retry(at: 3_601_000, "status 503"))
  }

  @Test(arguments: [200, 201, 202, 204, 299])
  func all2xxAnswersAreDelivered(status: Int) { #expect(verdict(.answered(status: status), 1) == .delivered) }

  @Test func goneIsNeverRetried() {
    #expect(verdict(.answered(status: 410), 1) == .disabled("the receiver answered 410 Gone"))
  }

  @Test(arguments: [301, 302, 307, 308])
  func redirectIsAFailureWithARemedy(status: Int) {
    guard case .retry(_, let words) = verdict(.answered(status: status), 1) else {
      Issue.record("not retried")
      return
    }
    #expect(words.contains("redirects aren't followed"))
  }

  /// If the clock was set back by years, an older event would never become a day old.
  @Test func clockSetBackEndsTheAttempts() {
    let year: Int64 = 365 * 86_400_000
    guard case .retry = verdict(.answered(status: 500), 39, at: year),
      case .givenUp(let reason) = verdict(.answered(status: 500), 40, at: year)
    else {
      Issue.record("retried for ever")
      return
    }
    #expect(reason == "status 500, at each of 40 attempts")
  }

  @Test func attemptsEndAfterADay() {
    let day: Int64 = 86_400_000
    guard case .retry = verdict(.answered(status: 500), 30, at: 7, now: day + 6) else {
      Issue.record("given up too early")
      return
    }
    guard case .givenUp = verdict(.answered(status: 500), 1, at: 7, now: day + 7) else {
      Issue.record("not given up")
      return
    }
    #expect(verdict(.answered(status: 200), 1, at: 7, now: 9 * day) == .delivered)
    #expect(verdict(.answered(status: 500), 1, isTest: true) == .givenUp("status 500"))
  }
}
