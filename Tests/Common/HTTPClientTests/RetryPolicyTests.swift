import HTTP
import Testing

@testable import HTTPClient

@Suite struct RetryPolicyTests {
  struct Case: Sendable {
    let outcome: RetryPolicy.Outcome
    let retried: Bool
  }

  @Test(arguments: [
    Case(outcome: .error(.reset(host: "h", port: 1)), retried: true),
    Case(outcome: .error(.timedOut(host: "h", port: 1)), retried: true),
    Case(outcome: .error(.couldNotConnect(host: "h", port: 1)), retried: true),
    Case(outcome: .error(.tls(host: "h", reason: "r")), retried: false),
    Case(outcome: .error(.cancelled), retried: false),
    Case(outcome: .error(.answerTooLong(limit: 1)), retried: false),
    Case(outcome: .status(500, retryAfter: nil), retried: true),
    Case(outcome: .status(503, retryAfter: 1), retried: true),
    Case(outcome: .status(503, retryAfter: 61), retried: false),
    Case(outcome: .status(429, retryAfter: nil), retried: true),
    Case(outcome: .status(520, retryAfter: nil), retried: true),
    Case(outcome: .status(524, retryAfter: nil), retried: true),
    Case(outcome: .status(525, retryAfter: nil), retried: false),
    Case(outcome: .status(507, retryAfter: nil), retried: false),
    Case(outcome: .status(501, retryAfter: nil), retried: false),
    Case(outcome: .status(401, retryAfter: nil), retried: false),
    Case(outcome: .status(409, retryAfter: nil), retried: false),
  ])
  func retriedOutcomes(_ item: Case) {
    var policy = RetryPolicy(seed: 1)
    #expect((policy.next(after: item.outcome) != .giveUp) == item.retried)
  }

  @Test(
    arguments: [
      ("GET", [], false, true), ("HEAD", [], false, true), ("PUT", [], false, true),
      ("POST", [], false, false),
      ("DELETE", [], false, false), ("POST", [("idempotency-key", "1")], false, true),
      ("DELETE", [("Idempotency-Key", "1")], false, true), ("POST", [], true, true),
    ] as [(String, HTTPFields, Bool, Bool)])
  func repeatableRequests(_ method: String, _ fields: HTTPFields, _ isRepeatable: Bool, _ isRepeated: Bool) {
    var request = HTTPRequest(method, "http://h/", fields: fields)
    request.isRepeatable = isRepeatable
    #expect(request.mayBeRepeated == isRepeated)
    for outcome in [.error(.reset(host: "h", port: 1)), .status(502, retryAfter: nil)]
      as [RetryPolicy.Outcome]
    {
      var policy = RetryPolicy(seed: 1)
      policy.repeats = request.mayBeRepeated
      #expect((policy.next(after: outcome) != .giveUp) == isRepeated)
    }
    // A request that wasn't sent is always repeated.
    var policy = RetryPolicy(seed: 1)
    policy.repeats = request.mayBeRepeated
    #expect(policy.next(after: .error(.couldNotConnect(host: "h", port: 1))) != .giveUp)
  }

  @Test func firstContactFailsFast() {
    var policy = RetryPolicy(hasAnswered: false, seed: 1)
    #expect(policy.next(after: .error(.couldNotConnect(host: "h", port: 1))) == .giveUp)
  }

  /// As when a server restarts: a connection is lost, and then nothing listens for a while.
  @Test func restartingServersAreRetried() {
    var policy = RetryPolicy(hasAnswered: false, seed: 1)
    #expect(policy.next(after: .error(.reset(host: "h", port: 1))) != .giveUp)
    for _ in 2..<6 {
      #expect(policy.next(after: .error(.couldNotConnect(host: "h", port: 1))) != .giveUp)
    }
    #expect(policy.next(after: .error(.couldNotConnect(host: "h", port: 1))) == .giveUp)
  }

  @Test func actsAreRetriedForHalfAMinute() {
    var policy = RetryPolicy(hasAnswered: false, seed: 1)
    policy.isAct = true
    var waited = 0
    while case .wait(let milliseconds) = policy.next(after: .status(502, retryAfter: nil)) {
      waited += milliseconds
    }
    #expect((15_000...40_000).contains(waited))
  }

  @Test(arguments: [1, 2, 3, 99] as [UInt64])
  func delaysGrowToTheirLimit(_ seed: UInt64) {
    var policy = RetryPolicy(attempts: 9, first: 200, longest: 5000, seed: seed)
    for full in [200, 400, 800, 1600, 3200, 5000, 5000, 5000] {
      guard case .wait(let milliseconds) = policy.next(after: .status(500, retryAfter: nil)) else {
        Issue.record("gave up before \(full)")
        return
      }
      #expect((full / 2...full).contains(milliseconds))
    }
    #expect(policy.next(after: .status(500, retryAfter: nil)) == .giveUp)
  }

  @Test func retryAfterIsHonoured() {
    var policy = RetryPolicy(seed: 1)
    #expect(policy.next(after: .status(503, retryAfter: 7)) == .wait(milliseconds: 7000))
  }

  @Test func delaysAreRandom() {
    let waits = Set(
      (1...20).map { seed -> RetryPolicy.Action in
        var policy = RetryPolicy(first: 10_000, seed: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15)
        return policy.next(after: .status(500, retryAfter: nil))
      })
    #expect(waits.count > 15)
  }
}
