import Testing

@testable import Manifests

@Suite struct RampTests {
  private static let hour: Int64 = 3_600_000
  private static let ramp = Ramp(steps: [100, 500, 2_500, 10_000])

  /// Evidence with so many failures of the candidate and none of control.
  private static func evidence(_ failures: Double) -> EValue {
    var value = EValue()
    value.add(
      EvidenceHour(
        hour: 0, candidate: CountedSums(opened: 5_000, failed: failures) ?? .none,
        control: CountedSums(opened: 5_000, failed: 0) ?? .none))
    return value
  }
  // With none of control, 13 failures make it 100, and 23 make it 10,000 (docs/evidence.md).
  private static let alarm = evidence(13)
  private static let certain = evidence(23)

  private static func state(
    _ share: Int = 100, isPaused: Bool = false, candidate: Double = 2_000, control: Double = 2_000,
    evidence: EValue = EValue(), networks: Int = 0
  ) -> RampState {
    RampState(
      share: share, isPaused: isPaused, since: 1_000, openedCandidate: candidate, openedControl: control,
      evidence: evidence, failingNetworks: networks)
  }

  private static func decide(
    _ state: RampState, ramp: Ramp? = ramp, haltsItself: Bool = false, now: Int64 = 1_000 + hour
  ) -> RampDecision {
    RampDecision.of(state, ramp: ramp, haltsItself: haltsItself, now: now)
  }

  @Test(arguments: [
    [], [0], [10_001], [100, 100], [500, 100], Array(1...21),
  ])
  func invalidStepsAreRefused(steps: [Int]) {
    #expect(Ramp(steps: steps) == nil)
  }

  @Test func numbersHaveRanges() {
    #expect(Ramp(steps: Array(1...20), each: 1 << 53, atLeast: Ramp.timeLimit) != nil)
    #expect(Ramp(steps: [1], each: 1, atLeast: 0) != nil)
    #expect(Ramp(steps: [1], each: 0) == nil)
    #expect(Ramp(steps: [1], each: 1 << 53 + 1) == nil)
    #expect(Ramp(steps: [1], atLeast: -1) == nil)
    #expect(Ramp(steps: [1], atLeast: Ramp.timeLimit + 1) == nil)
  }

  @Test(arguments: [
    (0, 2_000), (1, 2_000), (5_000, 2_000), (5_001, 2_000), (7_500, 667), (9_999, 1), (10_000, 0),
  ])
  func controlHasToHaveOpenedInRelationToItsSize(share: Int, each: Int64) throws {
    #expect(try #require(Self.ramp).eachOfControl(share: share) == each)
    #expect(Ramp(steps: [1], each: 1 << 53)?.eachOfControl(share: 5_000) == 1 << 53)
  }

  @Test func stepsFollowOneAnother() {
    #expect(Self.decide(Self.state(100)) == .advance(to: 500))
    #expect(Self.decide(Self.state(500)) == .advance(to: 2_500))
    #expect(Self.decide(Self.state(2_500)) == .complete)
    // A person has set another share.
    #expect(Self.decide(Self.state(499)) == .advance(to: 500))
    #expect(Self.decide(Self.state(501)) == .advance(to: 2_500))
    // Groups alone: nothing is opened in an arm.
    #expect(Self.decide(Self.state(0, candidate: 0, control: 0)) == .advance(to: 100))
  }

  @Test func itWaitsForEachThingThatIsMissing() {
    let now = 999 + Self.hour
    #expect(Self.decide(Self.state(), now: now) == .wait(for: [.time(1_000 + Self.hour)]))
    #expect(
      Self.decide(Self.state(candidate: 1_999.5)) == .wait(for: [.openings(.candidate, 1_999.5, of: 2_000)]))
    #expect(Self.decide(Self.state(control: 1_999)) == .wait(for: [.openings(.control, 1_999, of: 2_000)]))
    #expect(
      Self.decide(Self.state(7_500, candidate: 0, control: 0), now: 0)
        == .wait(for: [
          .openings(.candidate, 0, of: 2_000), .openings(.control, 0, of: 667), .time(1_000 + Self.hour),
        ]))
    #expect(Self.decide(Self.state(), ramp: nil) == .wait(for: [.person]))
    #expect(Self.decide(Self.state(500), ramp: Ramp(steps: [100, 500])) == .wait(for: [.completing]))
    #expect(Self.decide(Self.state(10_000)) == .wait(for: [.completing]))
    #expect(Self.decide(Self.state(isPaused: true)) == .wait(for: [.resuming]))
  }

  @Test func noClockMakesItGoOn() {
    let far = RampState(share: 100, since: .max, openedCandidate: 9_999, openedControl: 9_999)
    #expect(Self.decide(far, now: .max) == .wait(for: [.time(.max)]))
    #expect(
      Self.decide(Self.state(candidate: 0), now: .max) == .wait(for: [.openings(.candidate, 0, of: 2_000)]))
  }

  @Test func evidencePauses() {
    #expect(Self.decide(Self.state(evidence: Self.alarm)) == .pause)
    #expect(Self.decide(Self.state(evidence: Self.alarm), ramp: nil) == .pause)
    #expect(Self.decide(Self.state(candidate: 10, control: 10, evidence: Self.alarm), now: 0) == .pause)
    #expect(Self.decide(Self.state(10_000, evidence: Self.alarm)) == .pause)
    #expect(Self.decide(Self.state(isPaused: true, evidence: Self.alarm)) == .wait(for: [.resuming]))
    #expect(Self.decide(Self.state(evidence: Self.evidence(12))) == .advance(to: 500))
  }

  @Test func itIsHaltedOnlyWhereThatIsWanted() {
    let certain = Self.state(evidence: Self.certain, networks: 5)
    #expect(Self.decide(certain) == .pause)
    #expect(Self.decide(certain, haltsItself: true) == .halt)
    #expect(Self.decide(certain, ramp: nil, haltsItself: true) == .halt)
    #expect(Self.decide(Self.state(evidence: Self.certain, networks: 4), haltsItself: true) == .pause)
    #expect(Self.decide(Self.state(evidence: Self.evidence(22), networks: 9), haltsItself: true) == .pause)
    #expect(
      Self.decide(Self.state(isPaused: true, evidence: Self.certain, networks: 5), haltsItself: true) == .halt
    )
  }
}
