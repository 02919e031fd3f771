import System
import Testing

@testable import Trust

@Suite struct ExhaustiveTests {
  /// Every sequence of acts: `XCACHE_TRUST_DEPTH=5 swift test -c release --filter ExhaustiveTests` goes further.
  @Test func noSequenceOfActsBreaksARule() throws {
    let depth = Environment.variables["XCACHE_TRUST_DEPTH"].flatMap { Int($0) } ?? 2
    let checker = try ModelChecker()
    let violation = try checker.search(depth: depth)
    print("trust: \(checker.states) states, \(checker.checks) offers, to depth \(depth)")
    #expect(violation == nil, "\(violation?.description ?? "")")
  }

  /// Without a check, some sequence breaks a rule. What can't be read, or isn't there, nobody can go on with; two statements
  /// of a bundle harm nothing but clarity; and where no key has signed enough, no scope of its holds.
  @Test(
    arguments: [
      [.rootApp], [.rootNumber], [.rootOldKeys], [.rootNewKeys], [.rootMissing], [.headKey], [.headPlace],
      [.headFell], [.headOld], [.headManifest], [.releasePlace], [.releaseContent],
      [.releaseKey, .releaseScope],
      [.releaseScope], [.releaseFloor], [.policyOld], [.prefetchPlace], [.prefetchContent], [.prefetchKey],
      [.prefetchFloor], [.prefetchOld],
    ] as [Set<TrustFailure>]) func aMissingCheckIsNoticed(omitted: Set<TrustFailure>) throws
  {
    let checker = try ModelChecker(omitting: omitted)
    let violation = try checker.search(depth: 2)
    print(
      "trust: without \(omitted.map(\.rawValue).sorted()): \(violation?.what ?? "nothing"), after \(checker.states) states"
    )
    #expect(violation != nil)
  }
}
