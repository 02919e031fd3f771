import Manifests
import System
import TestSupport

@testable import XCacheDevice

/// A simulated device: the runtime's own code decides what it takes, next to what it should have according to the documentation.
struct Gadget {
  static let versions: [String?] = ["4.1", "4.2.0", "4.9", "5.0.0-rc.1", "5.0", nil, "five"]
  static let groups: [Set<String>] = [[], [], [], [], ["qa"], ["beta", "qa"]]

  let id: [UInt8]
  var app: AppTraits
  /// False for a device of xcache 0.2.
  let knowsRollouts: Bool

  private let state: Locked<RolloutState>
  private(set) var held = 0
  private var taken: String?
  /// The prefetch configs that it has: the channel's, and a candidate's.
  private var plan = 0
  private var candidatePlan = 0

  /// The version it should have.
  private(set) var expected = 0
  private var expectedSeed: String?
  private var expectedPlan = 0
  /// The rule of the last answer.
  private var lastRule: Rule?

  /// An open candidate in an answer, in the model's terms.
  struct Rule: Equatable {
    let version: Int
    let seed: String
    let audience: RolloutModel.Audience
    let isPaused: Bool
    let plan: Int?

    init?(_ candidate: RolloutModel.Candidate?) {
      guard let candidate, let seed = candidate.seed else { return nil }
      (version, self.seed) = (candidate.version, seed)
      (audience, isPaused, plan) = (candidate.audience, candidate.isPaused, candidate.plan)
    }
  }

  init(_ random: inout SplitMix) {
    id = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
    app = AppTraits()
    knowsRollouts = random.below(10) > 0
    state = Locked(InstallID(bytes: id).map { RolloutState(id: $0) } ?? RolloutState())
    change(&random)
  }

  /// Updates the app, or changes the user's groups.
  mutating func change(_ random: inout SplitMix) {
    app.version = Self.versions[random.below(Self.versions.count)]
    app.groups = Self.groups[random.below(Self.groups.count)]
  }

  /// Restarts the process, which reads the saved state.
  func restart() { state.withLock { $0 = RolloutState(saved: $0.saved) ?? $0 } }

  /// Forgets what was taken, like an app killed before it saved that: only for an injected fault.
  mutating func forget() { taken = nil }

  // MARK: - Actual behaviour

  /// Polls the origin as `Poller.askOrigin` does.
  mutating func poll(_ ask: (_ held: Int, _ candidate: Bool) throws -> ConfigureAnswer) throws {
    let choice = VersionChoice(state: state, app: app, taken: taken)
    guard knowsRollouts else {
      let answer = try ask(held, false)
      follow(answer.extras, choice)
      return take(answer)
    }
    var answer = try ask(held, choice.asksForCandidate)
    follow(answer.extras, choice)
    if let isIn = choice.other(than: answer) {
      answer = try ask(held, isIn)
      follow(answer.extras, choice)
      if choice.other(than: answer) != nil { return }
    }
    take(answer)
  }

  /// Polls the copy as `Poller.pollMirror` does, with whole manifests.
  mutating func poll(copy read: (String) throws -> ConfigureAnswer) throws {
    let small = try read("version.json")
    guard let full = small.version, case .upToDate(_, let extras) = small else { return }
    follow(extras, VersionChoice(state: state, app: app, taken: taken))
    guard knowsRollouts else {
      if full.number > held { held = Int(full.number) }
      return
    }
    let choice = VersionChoice(state: state, app: app, taken: taken)
    let candidate = extras.rollout.flatMap { choice.decide($0) ? $0 : nil }
    let goesBack = choice.goesBack(by: extras.rollout, isIn: candidate != nil)
    let newest = candidate?.version ?? full
    guard newest.number > held || goesBack else { return }
    let answer = try read(candidate == nil ? "configure.json" : "configure/\(newest).json")
    held = Int(answer.version?.number ?? 0)
    taken = candidate?.seed
  }

  /// Takes the prefetch configs named in an answer, as `Device.follow` does.
  private mutating func follow(_ extras: AnswerExtras, _ choice: VersionChoice) {
    if let named = extras.prefetch, named > plan { plan = Int(named) }
    guard knowsRollouts, let rule = extras.rollout, let named = rule.prefetch, choice.isIn(by: rule) else {
      return
    }
    candidatePlan = Int(named)
  }

  /// The prefetch config in use, as `Device.prefetch` decides.
  private var followed: Int {
    let named = state.withLock { $0.prefetch(holding: taken) }
    return named == Int64(candidatePlan) && candidatePlan > plan ? candidatePlan : plan
  }

  private mutating func take(_ answer: ConfigureAnswer) {
    guard let version = answer.version, case .upToDate = answer else {
      held = Int(answer.version?.number ?? 0)
      taken = answer.version.flatMap { answer.seed(of: $0) }
      return
    }
    // "No update" about a version other than the device's would be wrong.
    if version.number != held { held = -1 }
  }

  // MARK: - Expected behaviour

  private func isIn(_ rule: Rule) -> Bool {
    guard rule.audience.range.contains(app.version) else { return false }
    if expectedSeed == rule.seed { return true }
    if rule.isPaused { return false }
    return Bucket.of(id, rule.seed) < rule.audience.share
      || rule.audience.groups.contains { app.groups.contains($0) }
  }

  mutating func expectPoll(of model: RolloutModel) {
    expectedPlan = max(expectedPlan, model.plan)
    let rule = Rule(model.candidate)
    if knowsRollouts { lastRule = rule }
    if knowsRollouts, let rule, isIn(rule) {
      (expected, expectedSeed) = (rule.version, rule.seed)
    } else if expected != model.full {
      (expected, expectedSeed) = (model.full, nil)
    }
  }

  mutating func expectPoll(ofCopyFrom model: RolloutModel) {
    expectedPlan = max(expectedPlan, model.plan)
    guard knowsRollouts else { return expected = max(expected, model.full) }
    if let rule = Rule(model.candidate) {
      lastRule = rule
      if isIn(rule) {
        if rule.version > expected { (expected, expectedSeed) = (rule.version, rule.seed) }
      } else if model.full > expected || expectedSeed == rule.seed {
        (expected, expectedSeed) = (model.full, nil)
      }
      return
    }
    // R-7: only a higher version, unless the device has the last rule's candidate and its app is outside that rule's range.
    let goesBack =
      lastRule.map { expectedSeed == $0.seed && !$0.audience.range.contains(app.version) } ?? false
    if model.full > expected || goesBack { (expected, expectedSeed) = (model.full, nil) }
  }

  /// How it differs from what is expected, or nil.
  var problem: String? {
    let candidatesPlan = lastRule.flatMap { $0.seed == expectedSeed ? $0.plan : nil } ?? 0
    let wanted = max(candidatesPlan, expectedPlan)
    if held == expected, followed != wanted {
      return "a device at version \(held) follows prefetch config \(followed) instead of \(wanted)"
    }
    return held == expected
      ? nil
      : "a device with app \(app.version ?? "none") and groups \(app.groups.sorted()) has version \(held) instead of \(expected)"
        + (knowsRollouts ? "" : ", and knows no rollouts")
  }
}

extension ConfigureAnswer {
  fileprivate func seed(of version: ManifestVersion) -> String? {
    switch self {
    case .upToDate(_, let extras): extras.seed(of: version)
    case .whole(let answer): answer.extras.seed(of: version)
    case .patch(let answer): answer.extras.seed(of: version)
    case .pack(let answer): answer.extras.seed(of: version)
    case .failure: nil
    }
  }
}
