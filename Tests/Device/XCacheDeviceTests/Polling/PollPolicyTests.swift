import Testing

@testable import XCacheDevice

@Suite struct PollPolicyTests {
  private static let start: Int64 = 1_800_000_000_000

  /// A policy whose origin has failed `times` times, polled whenever due; and the time when the next poll is due.
  private func failing(_ times: Int, hasFallback: Bool = true) -> (PollPolicy, now: Int64) {
    var policy = PollPolicy(hasFallback: hasFallback)
    var now = Self.start
    for _ in 0..<times {
      #expect(policy.begin(at: now) == .poll(.origin))
      policy.recordFailure(of: .origin, at: now, chance: 0.5)
      now += 30_000
    }
    return (policy, now)
  }

  @Test(
    arguments: [
      (interval: nil, seconds: 30), (interval: 5, seconds: 30), (interval: 30, seconds: 30),
      (interval: 300, seconds: 300), (interval: 3600, seconds: 3600), (interval: 1_000_000, seconds: 3600),
      (interval: -1, seconds: 30), (interval: .max, seconds: 3600),
    ] as [(interval: Int?, seconds: Int64)])
  func onePollPerInterval(interval: Int?, seconds: Int64) {
    var policy = PollPolicy(hasFallback: true)
    #expect(policy.begin(at: Self.start) == .poll(.origin))
    policy.recordAnswer(from: .origin, interval: interval)
    #expect(policy.begin(at: Self.start) == .wait(seconds * 1000))
    #expect(policy.begin(at: Self.start + seconds * 1000 - 1) == .wait(1))
    #expect(policy.begin(at: Self.start + seconds * 1000) == .poll(.origin))
    #expect(policy.begin(at: Self.start + seconds * 1000) == .wait(seconds * 1000))
  }

  @Test func forceSkipsTheInterval() {
    var policy = PollPolicy(hasFallback: false)
    _ = policy.begin(at: Self.start)
    #expect(policy.begin(at: Self.start + 1, force: true) == .poll(.origin))
    #expect(policy.begin(at: Self.start + 2) == .wait(29_999))
  }

  @Test func clocksSetBackDoNotStopPolls() {
    var policy = PollPolicy(hasFallback: false)
    _ = policy.begin(at: Self.start)
    #expect(policy.begin(at: Self.start - 1_000_000) == .poll(.origin))
  }

  @Test(arguments: 0..<5) func originIsAskedUntilFiveFailures(times: Int) {
    var (policy, now) = failing(times)
    #expect(policy.source == .origin)
    #expect(policy.begin(at: now) == .poll(.origin))
  }

  @Test func mirrorIsAskedAfterFiveFailures() {
    var (policy, now) = failing(5)
    #expect(policy.source == .mirror)
    #expect(policy.begin(at: now - 1) == .wait(1))
    policy.originDue = now + 1
    #expect(policy.begin(at: now) == .poll(.mirror))
  }

  @Test func successResetsTheCount() {
    var (policy, now) = failing(4)
    _ = policy.begin(at: now)
    policy.recordAnswer(from: .origin, interval: nil)
    for _ in 0..<4 {
      now += 30_000
      _ = policy.begin(at: now)
      policy.recordFailure(of: .origin, at: now, chance: 0.5)
      #expect(policy.source == .origin)
    }
  }

  @Test func originIsAlwaysAskedWithoutAFallback() {
    var (policy, now) = failing(50, hasFallback: false)
    #expect(policy.source == .origin)
    #expect(policy.begin(at: now) == .poll(.origin))
  }

  @Test func originIsAskedWithBackoff() {
    var (policy, now) = failing(5)
    now -= 30_000
    var waits: [Int64] = []
    for _ in 0..<8 {
      let asked = now
      while policy.begin(at: now, force: true) != .poll(.origin) { now += 100 }
      waits.append((now - asked) / 1000)
      policy.recordFailure(of: .origin, at: now, chance: 0.5)
    }
    #expect(waits == [30, 60, 120, 240, 480, 600, 600, 600])
  }

  @Test(arguments: [(0, 24_000), (0.25, 27_000), (0.5, 30_000), (1, 36_000)] as [(Double, Int64)])
  func backoffHasAJitterOfAFifth(chance: Double, wait: Int64) {
    var policy = PollPolicy(hasFallback: true)
    for _ in 0..<5 {
      _ = policy.begin(at: Self.start, force: true)
      policy.recordFailure(of: .origin, at: Self.start, chance: chance)
    }
    #expect(policy.originDue == Self.start + wait)
  }

  @Test func oneAnswerOfTheOriginEndsTheFallback() {
    var (policy, now) = failing(5)
    _ = policy.begin(at: now)
    policy.recordAnswer(from: .mirror, interval: nil)
    #expect(policy.source == .mirror)
    now += 60_000
    #expect(policy.begin(at: now) == .poll(.origin))
    policy.recordAnswer(from: .origin, interval: nil)
    #expect(policy.source == .origin)
    #expect(policy.failures == 0)
  }

  @Test func failuresOfTheMirrorDoNotCount() {
    var (policy, now) = failing(5)
    let before = policy
    policy.recordFailure(of: .mirror, at: now, chance: 0.5)
    #expect(policy == before)
    now += 1
  }

  @Test(
    arguments: [
      // (offered version, same digest, source, accepted)
      (8, false, .origin, true), (7, true, .origin, false), (7, false, .origin, true),
      (6, false, .origin, true),
      (8, false, .mirror, true), (7, true, .mirror, false), (7, false, .mirror, false),
      (6, false, .mirror, false),
    ] as [(Int64, Bool, PollPolicy.Source, Bool)])
  func mirrorsOnlyRaiseVersions(version: Int64, same: Bool, source: PollPolicy.Source, taken: Bool) {
    let offered = (version: version, digest: same ? "a" : "b")
    #expect(PollPolicy.accepts(offered, from: source, over: (version: 7, digest: "a")) == taken)
  }
}
