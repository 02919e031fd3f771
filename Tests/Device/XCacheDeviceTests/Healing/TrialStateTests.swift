import Manifests
import System
import Testing
import Values

@testable import XCacheDevice

/// A `TrialState` in a class, so that `#expect` can call its mutating methods.
private final class Trials {
  var value = TrialState()
  let one = Trials.manifest(1)
  let two = Trials.manifest(2)
  let three = Trials.manifest(3)

  static func manifest(_ version: Int64) -> HeldManifest {
    HeldManifest(ManifestVersion(version), SHA256.of(Array("\(version)".utf8)))
  }

  /// The second version is on trial, after the first.
  init() { value.begin(two, after: one, previous: one) }

  func fails(_ times: Int = 1, holding held: HeldManifest? = nil) {
    let held = held ?? two
    for _ in 0..<times { value.recordFailure(of: held.version, holding: held) }
  }

  func comesUp(holding held: HeldManifest? = nil) {
    value.recordSuccess(of: (held ?? two).version, holding: held ?? two)
  }

  func crashes() {
    value.addMark(two.version, "https://m.test/")
    value.recordCrash(holding: two)
  }

  var isFailed: Bool { value.failure(of: two) != nil }

  func goesBack() {
    value.goBack(from: two, to: one, .page, "https://m.test/index.html")
    value.hold(one, previous: nil)
  }
}

@Suite struct TrialStateTests {
  private let trials = Trials()

  @Test func twoFailuresLeadBack() {
    trials.fails()
    #expect(!trials.isFailed)
    trials.fails()
    #expect(trials.isFailed)
    #expect(trials.value.failure(of: trials.two) == .page && trials.value.failure(of: trials.one) == nil)
  }

  @Test func aPageThatCameUpEndsIt() {
    trials.fails()
    trials.comesUp()
    trials.fails(5)
    #expect(!trials.isFailed)
    // Crashes count until the version has proved itself.
    trials.crashes()
    trials.crashes()
    #expect(trials.isFailed)
    trials.value.prove(holding: trials.two)
    #expect(trials.value.isEmpty)
  }

  @Test func twoCrashesLeadBack() {
    trials.crashes()
    #expect(!trials.isFailed)
    trials.crashes()
    #expect(trials.isFailed)
  }

  @Test func aCrashAndAFailureLeadBack() {
    trials.crashes()
    trials.fails()
    #expect(trials.isFailed)
    let up = Trials()
    up.crashes()
    up.comesUp()
    up.fails()
    #expect(!up.isFailed)
    up.crashes()
    #expect(up.isFailed)
  }

  @Test func marksOfOtherVersionsAreNone() {
    trials.value.addMark(trials.one.version, "")
    trials.value.recordCrash(holding: trials.two)
    #expect(trials.value.trial?.crashes == 0 && trials.value.mark == nil)
    trials.value.addMark(trials.one.version, "")
    trials.value.hold(trials.two, previous: trials.one)
    #expect(trials.value.mark == nil)
  }

  @Test func pagesOfOtherVersionsSayNothing() {
    for _ in 1...3 {
      trials.value.recordFailure(of: trials.one.version, holding: trials.two)
      trials.value.recordSuccess(of: trials.one.version, holding: trials.two)
    }
    #expect(trials.value.trial?.failures == 0 && trials.value.trial?.isUp == false)
  }

  @Test func theFirstPageAfterItDecides() {
    trials.fails(2)
    trials.goesBack()
    #expect(trials.value.skipped(holding: trials.one) == trials.two.version)
    #expect(trials.value.report == nil)
    trials.comesUp(holding: trials.one)
    #expect(trials.value.report?.cause == .page)
    // Later pages say nothing.
    trials.fails(2, holding: trials.one)
    #expect(trials.value.skipped(holding: trials.one) == trials.two.version)
    trials.value.recordReport()
    #expect(trials.value.report == nil)
    // A higher version ends it.
    trials.value.hold(trials.three, previous: nil)
    #expect(trials.value.isEmpty)
  }

  @Test func ifThatFailsItWasNotTheVersion() {
    trials.goesBack()
    trials.fails(holding: trials.one)
    #expect(trials.value.skip == nil && trials.value.spared == trials.two.version)
    // It is taken again, and isn't left again before a page has come up.
    trials.value.begin(trials.two, after: trials.one, previous: trials.one)
    trials.fails(2)
    trials.crashes()
    #expect(!trials.isFailed && !trials.value.needsMark(trials.two.version, holding: trials.two))
    trials.value.hold(trials.one, previous: trials.one)
    trials.comesUp(holding: trials.one)
    #expect(trials.value.spared == nil)
    trials.value.begin(trials.two, after: trials.one, previous: trials.one)
    trials.fails(2)
    #expect(trials.isFailed)
  }

  @Test func aPageThatComesUpLateTakesItsFailureBack() {
    trials.fails()
    trials.value.takeBackFailure(of: trials.two.version, holding: trials.two)
    trials.comesUp()
    trials.fails(2)
    #expect(!trials.isFailed)

    // The first page after going back is late: it was the version all the same.
    let back = Trials()
    back.fails(2)
    back.goesBack()
    back.fails(holding: back.one)
    #expect(back.value.skip == nil)
    back.value.takeBackFailure(of: back.one.version, holding: back.one)
    back.comesUp(holding: back.one)
    #expect(back.value.skipped(holding: back.one) == back.two.version && back.value.spared == nil)
    #expect(back.value.report?.cause == .page)
    // Not if the other version was taken meanwhile.
    let taken = Trials()
    taken.goesBack()
    taken.fails(holding: taken.one)
    taken.value.begin(taken.two, after: taken.one, previous: taken.one)
    taken.value.takeBackFailure(of: taken.one.version, holding: taken.two)
    #expect(taken.value.skip == nil && taken.value.spared == taken.two.version)
  }

  @Test func aCrashThenSaysTheSame() {
    trials.goesBack()
    trials.value.addMark(trials.one.version, "")
    trials.value.recordCrash(holding: trials.one)
    #expect(trials.value.skip == nil && trials.value.spared == trials.two.version)
  }

  /// The process ended between the note of a switch and the switch.
  @Test func aSwitchThatNeverHappened() {
    trials.value.hold(trials.one, previous: trials.one)
    #expect(trials.value.isEmpty)
    // What was in force was on trial itself.
    let later = Trials()
    later.fails()
    later.value.begin(later.three, after: later.two, previous: later.one)
    later.value.hold(later.two, previous: later.one)
    #expect(later.value.trial?.id == later.two && later.value.trial?.previous == later.one)
    later.fails(2)
    #expect(later.isFailed)
  }

  /// The process ended between the note of a return and the switch.
  @Test func aReturnThatNeverHappened() {
    trials.value.goBack(from: trials.two, to: trials.one, .start, "")
    trials.value.hold(trials.two, previous: trials.one)
    #expect(trials.value.isReturning(from: trials.two))
    // Nothing is skipped that is held.
    #expect(trials.value.skipped(holding: trials.two) == nil)
    // Without the version before, it stays.
    trials.value.hold(trials.two, previous: nil)
    #expect(trials.value.isEmpty)
  }

  @Test func whatIsSavedIsReadAgain() throws {
    trials.fails()
    trials.value.addMark(trials.two.version, "https://m.test/index.html")
    #expect(TrialState(saved: trials.value.saved) == trials.value)
    trials.goesBack()
    trials.comesUp(holding: trials.one)
    #expect(TrialState(saved: trials.value.saved) == trials.value)
    let other = Trials()
    other.goesBack()
    other.fails(holding: other.one)
    // That the page may come up after all counts in this process alone.
    let read = try #require(TrialState(saved: other.value.saved))
    #expect(read.saved == other.value.saved && read.spared == other.two.version && read.skip == nil)
    #expect(TrialState(saved: TrialState().saved) == TrialState())
  }

  /// Whichever bit is wrong, nothing of it counts.
  @Test func damageIsNoticed() {
    trials.fails()
    trials.value.addMark(trials.two.version, "https://m.test/index.html")
    let saved = trials.value.saved
    for index in saved.indices {
      var damaged = saved
      damaged[index] ^= 1
      #expect(TrialState(saved: damaged) == nil, "byte \(index)")
    }
    for count in 0..<saved.count { #expect(TrialState(saved: Array(saved[..<count])) == nil) }
  }
}
