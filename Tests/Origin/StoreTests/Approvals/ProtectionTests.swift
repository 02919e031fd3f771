import Manifests
import System
import Testing
import Values

@testable import Store

/// What takes approvals, and whose: rules without a database.
@Suite struct ProtectionTests {
  @Test(arguments: [
    ("*@acme.com", "ana@acme.com", true), ("*@acme.com", "ana@acme.com.evil.org", false),
    ("ana@*,bob@acme.com", "bob@acme.com", true), ("ana@*,bob@acme.com", "bo@acme.com", false),
    ("a?a", "ana", true), ("a?a", "anna", false), ("ci", "CI", false), ("*", "", true),
  ])
  func patternsOfNames(pattern: String, name: String, matches: Bool) throws {
    #expect(try #require(ApproverGlob(pattern)).matches(name) == matches)
  }

  @Test(arguments: ["", "a,,b", ",a", "a,", "a\nb", "a\u{7F}", String(repeating: "a", count: 257)])
  func unusablePatterns(pattern: String) { #expect(ApproverGlob(pattern) == nil) }

  @Test func numbersInRange() {
    #expect(Protection(approvals: 0) == nil && Protection(approvals: 10) == nil)
    #expect(Protection(approvals: 1, share: -1) == nil && Protection(approvals: 1, share: 10_001) == nil)
    #expect(Protection(approvals: 9, share: 10_000) != nil)
  }

  /// A scheduled step, by what its request says.
  @Test(arguments: [
    ("publish", "{}", 2), ("rollout.complete", "{}", 2), ("rollout.resume", "{}", 2),
    ("rollout.set", #"{"share":500}"#, 0), ("rollout.set", #"{"share":501}"#, 2),
    ("rollout.set", #"{"groups":["staff"],"share":1}"#, 2), ("rollout.set", #"{"app":"1-2"}"#, 2),
    ("rollout.set", #"{"ramp":{"steps":[100,500]},"share":1}"#, 0),
    ("rollout.set", #"{"ramp":{"steps":[100,501]},"share":1}"#, 2),
    ("rollout.set", #"{"ramp":{"completes":true,"steps":[100]},"share":1}"#, 2),
    ("rollout.set", #"{"autoHalt":false,"share":1}"#, 2), ("rollout.set", #"{"autoHalt":true,"share":1}"#, 0),
    ("rollout.set", #"{"networkCap":10000,"share":1}"#, 2), ("rollout.set", "no JSON", 2),
  ])
  func stepsUpToAShare(act: String, request: String, required: Int) throws {
    let protection = try #require(Protection(approvals: 2, share: 500))
    #expect(protection.required(of: act, Array(request.utf8)) == required)
  }

  @Test func wholeShareLetsEveryStepThrough() throws {
    let protection = try #require(Protection(approvals: 1, share: RolloutRule.all))
    #expect(protection.required(of: "rollout.complete", []) == 0)
    #expect(protection.required(of: "publish", []) == 1)
    let small = try #require(Protection(approvals: 1, share: 1000))
    #expect(small.required(of: "rollout.set", Array(#"{"share":500}"#.utf8)) == 0)
    #expect(small.required(of: "rollout.set", Array(#"{"share":500,"app":""}"#.utf8)) == 1)
  }

  private func rollout(_ share: Int, _ groups: [String] = [], app: AppVersionRange? = nil) -> Rollout {
    Rollout(
      candidate: ManifestVersion(2), full: ManifestVersion(1), seed: "seed",
      audience: RolloutAudience(share: share, groups: groups, app: app), isPaused: false, state: .open,
      author: "ci",
      startedAt: 0, changedAt: 0, changedBy: "ci", reason: nil, prefetch: nil)
  }

  private func reach(
    _ share: Int?, _ groups: [String]? = nil, course: RolloutCourse? = nil,
    from before: (share: Int, groups: [String]) = (1000, ["staff"])
  ) throws -> Int? {
    let change = RolloutInput.Change.audience(share: share, groups: groups, app: nil)
    var input = RolloutInput(app: try AppName("shop"), channel: .online, change, by: .local)
    input.course = course
    let open = rollout(before.share, before.groups)
    return RolloutOutcome.reach(of: change, course, from: open, to: input.changed(open, now: 1))
  }

  @Test func whatAStepCouldReach() throws {
    #expect(try reach(999) == nil, "only lower")
    #expect(try reach(1000, []) == nil, "a group less")
    #expect(try reach(1001) == 1001)
    #expect(try reach(1, ["staff", "beta"]) == 10_000, "who is in a group isn't known")
    #expect(try reach(nil, course: RolloutCourse(haltsItself: true)) == nil, "more careful")
    #expect(try reach(nil, course: RolloutCourse(ramp: .some(nil))) == nil, "no further by itself")
    #expect(try reach(nil, course: RolloutCourse(haltsItself: false)) == 1000)
    let ramp = try #require(Ramp(steps: [2000, 5000], each: 10, atLeast: 0))
    #expect(
      try reach(500, course: RolloutCourse(ramp: RolloutRamp(ramp, completes: false))) == 5000,
      "lower now, higher by itself")
    #expect(try reach(500, course: RolloutCourse(ramp: RolloutRamp(ramp, completes: true))) == 10_000)
    let open = rollout(300)
    #expect(RolloutOutcome.reach(of: .pause, nil, from: open, to: open) == nil)
    #expect(RolloutOutcome.reach(of: .resume, nil, from: open, to: open) == 300)
    #expect(RolloutOutcome.reach(of: .complete, nil, from: open, to: open) == 10_000)
    let staff = rollout(300, ["staff"])
    #expect(RolloutOutcome.reach(of: .resume, nil, from: staff, to: staff) == 10_000)
  }

  /// A ramp that stays goes on: a change that lets it, or lets it with less care, reaches as far.
  @Test func rampsCountForWhatLetsThemGoOn() throws {
    let steps = try #require(Ramp(steps: [300, 5000], each: 10, atLeast: 0))
    let ramp = RolloutRamp(steps, completes: false)
    let open = rollout(300)
    #expect(RolloutOutcome.reach(of: .resume, nil, from: open, to: open, ramp: ramp) == 5000)
    #expect(
      RolloutOutcome.reach(of: .resume, nil, from: open, to: open, ramp: RolloutRamp(steps, completes: true))
        == 10_000)
    let set = RolloutInput.Change.audience(share: nil, groups: nil, app: nil)
    func reach(_ course: RolloutCourse) -> Int? {
      RolloutOutcome.reach(of: set, course, from: open, to: open, ramp: ramp)
    }
    #expect(reach(RolloutCourse(haltsItself: false)) == 5000)
    #expect(reach(RolloutCourse(cap: NetworkCap(share: 10_000))) == 5000)
    #expect(reach(RolloutCourse(haltsItself: false, ramp: .some(nil))) == 300, "the ramp ends")
    #expect(reach(RolloutCourse(haltsItself: true)) == nil)
    let wider = rollout(400)
    #expect(RolloutOutcome.reach(of: set, nil, from: open, to: wider, ramp: ramp) == 400)
    // It was approved for some versions of the app: for others, it goes on to all of its steps.
    let ranged = rollout(300, app: try AppVersionRange.written(">=9"))
    #expect(RolloutOutcome.reach(of: set, nil, from: ranged, to: open, ramp: ramp) == 5000)
    #expect(RolloutOutcome.reach(of: set, nil, from: ranged, to: open) == 300)
  }

  private static let now = Instant(milliseconds: 1_000_000)

  private func policy(_ change: (inout Policy) throws -> Void) rethrows -> Policy {
    var policy = Policy.none
    try change(&policy)
    return policy
  }

  @Test func policiesThatOnlyRestrict() throws {
    let (soon, later) = (Instant(milliseconds: 2_000_000), Instant(milliseconds: 3_000_000))
    let page = try MatchPattern("https://m.example.com/a/*")
    let killed = policy { $0.intercept = false }
    let killedSoon = policy { ($0.intercept, $0.until) = (false, soon) }
    let killedLater = policy { ($0.intercept, $0.until) = (false, later) }
    let bypassed = policy { $0.bypass = [.init(page)] }
    let bypassedSoon = policy { $0.bypass = [.init(page, until: soon)] }
    func restricts(_ next: Policy, _ before: Policy) -> Bool { next.isRestriction(of: before, at: Self.now) }
    #expect(restricts(killed, .none) && restricts(killedSoon, .none) && restricts(bypassed, .none))
    #expect(restricts(killed, killedSoon) && restricts(killedLater, killedSoon))
    #expect(!restricts(.none, killed), "resume")
    #expect(!restricts(killedSoon, killed), "a kill with an end is a resume then")
    #expect(!restricts(killedSoon, killedLater))
    #expect(!restricts(.none, bypassed) && !restricts(bypassedSoon, bypassed))
    #expect(restricts(bypassed, bypassedSoon))
    #expect(!restricts(killed, bypassed), "what was bypassed has to stay so after the kill")
    #expect(!restricts(policy { ($0.intercept, $0.usesHTTPDNS) = (false, false) }, .none))
    // What has expired is gone by itself.
    let past = Instant(milliseconds: 999_999)
    #expect(restricts(.none, policy { ($0.intercept, $0.until) = (false, past) }))
    #expect(restricts(.none, policy { $0.bypass = [.init(page, until: past)] }))
  }
}
