import Manifests
import System

/// Which of a channel's two versions a poll follows while a rollout is open.
struct VersionChoice: Sendable {
  let state: Locked<RolloutState>
  let app: AppTraits
  /// The seed under which the device took the candidate that it holds; nil if it holds a full version.
  let taken: String?
  /// The version that the device went back from; nil if there is none.
  var skipped: ManifestVersion?
  /// False for a poll beside an update, whose answer is left to the next one.
  var isFollowed = true

  /// Whether the device asks for the candidate from the start.
  var asksForCandidate: Bool {
    state.withLock { $0.isIn && (skipped == nil || $0.rule?.version != skipped) }
  }

  /// Decides by the rule of an answer.
  func decide(_ rule: RolloutRule) -> Bool {
    state.withLock { $0.decide(rule, for: app, taken: taken, skipping: skipped) }
  }

  /// Whether the device is in by a rule, without keeping either.
  func isIn(by rule: RolloutRule) -> Bool {
    var state = state.withLock { $0 }
    return state.decide(rule, for: app, taken: taken, skipping: skipped)
  }

  /// Decides by an answer of the origin which version is to be followed.
  /// - Returns: whether that is the candidate, if the answer is about the other version; otherwise nil.
  func other(than answer: ConfigureAnswer) -> Bool? {
    guard isFollowed, let version = answer.version else { return nil }
    guard let rule = answer.extras.rollout else {
      state.withLock { $0.end() }
      return nil
    }
    let isIn = decide(rule)
    return isIn == (version == rule.version) ? nil : isIn
  }

  /// Whether the device goes back to a copy's full version, though that is lower.
  func goesBack(by rule: RolloutRule?, isIn: Bool) -> Bool {
    state.withLock { $0.goesBack(by: rule, isIn: isIn, for: app, taken: taken) }
  }
}

extension ConfigureAnswer {
  /// The version that it is about; nil for a failure.
  var version: ManifestVersion? {
    switch self {
    case .upToDate(let version, _): version
    case .whole(let answer): answer.version
    case .patch(let answer): answer.version
    case .pack(let answer): answer.version
    case .failure: nil
    }
  }
}

extension AnswerExtras {
  /// The seed of the open rollout, if its candidate is this version.
  func seed(of version: ManifestVersion) -> String? {
    rollout.flatMap { $0.version == version ? $0.seed : nil }
  }
}
