import Manifests
import System
import Testing
import Values

@testable import Trust

@Suite struct CheckTests {
  private func verdict(_ faults: Set<TrustFailure>, now: Int64 = 0) throws -> TrustVerdict {
    let sample = CheckSample(faults)
    let check = TrustCheck(place: try CheckSample.place(), verifier: Symbolic.Verifier())
    return check.check(
      try sample.offer(), state: try sample.state(), now: try #require(TrustTime(now)))
  }

  @Test func anOfferWithoutFaultIsTaken() throws {
    let verdict = try verdict([])
    #expect(verdict.failure == nil)
    #expect(verdict.state.root.number.number == 2)
    #expect(verdict.state.head?.head.at.milliseconds == 100)
    #expect(verdict.releases?.keys.map(\.text) == ["home"])
    #expect(!verdict.isCandidate && !verdict.isStale)
  }

  @Test(arguments: TrustFailure.allCases) func eachFaultIsFound(fault: TrustFailure) throws {
    let verdict = try verdict([fault])
    #expect(verdict.failure == fault)
    #expect(verdict.releases == nil)
    #expect(verdict.state.releases.isEmpty)
  }

  /// Of two faults, the one that is checked first counts.
  @Test(arguments: TrustFailure.allCases) func theFirstOfTwoFaultsIsTold(first: TrustFailure) throws {
    let all = TrustFailure.allCases
    let place = try #require(all.firstIndex(of: first))
    for second in all[(place + 1)...] where !Self.exclude(first, second) {
      #expect(try verdict([first, second]).failure == first, "\(first) \(second)")
    }
  }

  /// Whether there can't be both: one is about a document that isn't there with the other, or about what was stored.
  private static func exclude(_ a: TrustFailure, _ b: TrustFailure) -> Bool {
    switch (a, b) {
    case (.headForm, .headMissing), (.headKey, .headMissing), (.headPlace, .headMissing),
      (.headFell, .headMissing), (.headFell, .headOld), (.headMissing, .headOld),
      (.releaseTwice, .releaseMissing), (.prefetchMissing, .prefetchForm):
      true
    default: false
    }
  }

  /// After a failure, only roots are other than before.
  @Test(arguments: TrustFailure.allCases) func aFailureLeavesTheStateAsItWas(fault: TrustFailure) throws {
    let sample = CheckSample([fault])
    let before = try sample.state()
    let after = try verdict([fault]).state
    #expect(after.head == before.head)
    #expect(after.floors == before.floors)
    #expect(after.prefetchFloor == before.prefetchFloor)
    #expect((after.root.number == before.root.number) == (fault.step == .root && fault != .rootMissing))
  }

  @Test func aStaleHeadIsTaken() throws {
    #expect(try verdict([], now: 1100).isStale == false)
    let verdict = try verdict([], now: 1101)
    #expect(verdict.isGood && verdict.isStale)
  }

  @Test(arguments: TrustFailure.allCases) func aLeftOutCheckIsLeftOut(fault: TrustFailure) throws {
    let sample = CheckSample([fault])
    let check = TrustCheck(
      place: try CheckSample.place(), verifier: Symbolic.Verifier(), omitting: [fault])
    let failure = check.check(
      try sample.offer(), state: try sample.state(), now: try #require(TrustTime(0))
    ).failure
    #expect(failure == Self.withoutCheck(fault))
  }

  /// What is found instead: what can't be read can't be gone on with, and no grant is met without keys.
  private static func withoutCheck(_ fault: TrustFailure) -> TrustFailure? {
    switch fault {
    case .rootForm, .headForm, .headMissing, .entryBundle, .releaseForm, .releaseMissing, .prefetchMissing,
      .prefetchForm:
      fault
    case .releaseKey: .releaseScope
    default: nil
    }
  }

  @Test func reasonsAreOfSteps() {
    let reasons = Set(TrustFailure.allCases.map(\.reason))
    #expect(reasons == Set(TrustStep.allCases.map { "trust-\($0.rawValue)" }))
    #expect(TrustFailure.releaseMissing.reason == "trust-content")
    // Every name begins with that of its step, except for those of releases.
    for failure in TrustFailure.allCases where !failure.rawValue.hasPrefix("release-") {
      #expect(failure.rawValue.hasPrefix(failure.step.rawValue + "-"))
    }
    #expect(TrustFailure.releaseFloor.isWorthAskingForAll && !TrustFailure.headOld.isWorthAskingForAll)
  }
}
