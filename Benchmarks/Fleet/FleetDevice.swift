import Manifests
import XCacheDevice

/// A device of the simulated fleet, in as few bytes as it takes: there are a million of them.
///
/// What a device decides and counts is up to `RolloutState`, which is made of these bytes for each page, and put back into them.
struct FleetDevice {
  /// The next device of the same minute, plus 1; 0 for the last.
  var next: UInt32 = 0
  /// When it opens its next page, in seconds from the start.
  var at: UInt32 = 0
  /// When it opened the first page that counts.
  var opened: UInt32 = 0
  /// Its network at home.
  var network: UInt32
  /// The number of the rule of its last answer.
  var rule: UInt16 = 0
  /// That of the last rule it has got that let anybody in; 0 if the rollout is over.
  var lastOpen: UInt16 = 0
  var marks: Marks = []
  /// The version that it holds, and the one before it.
  var held: UInt8
  var before: UInt8 = 0
  // What it is like: places in the tables of `FleetMix`.
  let zone: UInt8
  let habit: UInt8
  let model: UInt8
  let app: UInt8

  struct Marks: OptionSet {
    let rawValue: UInt16

    /// It was in by its last answer's rule.
    static let isIn = Marks(rawValue: 1 << 0)
    /// It counts in the rollout, in the arm of the candidate, has failed there, and has told both.
    static let counts = Marks(rawValue: 1 << 1)
    static let candidate = Marks(rawValue: 1 << 2)
    static let failed = Marks(rawValue: 1 << 3)
    static let openingTold = Marks(rawValue: 1 << 4)
    static let failureTold = Marks(rawValue: 1 << 5)
    /// It holds a version that it took as the candidate.
    static let taken = Marks(rawValue: 1 << 6)
    /// A page of the candidate was opened.
    static let tried = Marks(rawValue: 1 << 7)
    /// The next page fails.
    static let failsNext = Marks(rawValue: 1 << 8)
    /// No page of the candidate comes up on it, and one has failed.
    static let broken = Marks(rawValue: 1 << 9)
    /// It went back from the candidate by itself, and skips it.
    static let skips = Marks(rawValue: 1 << 10)
  }

  init(_ network: Int, held: UInt8, _ chance: inout Chance) {
    self.network = UInt32(network)
    self.held = held
    zone = FleetMix.draw(FleetMix.zoneParts, &chance)
    habit = FleetMix.draw(FleetMix.habitParts, &chance)
    model = FleetMix.draw(FleetMix.modelParts, &chance)
    app = FleetMix.draw(FleetMix.appParts, &chance)
  }

  /// What the device keeps of rollouts.
  /// - Parameters:
  ///   - id: its install id.
  ///   - rule: the rule of its last answer.
  ///   - share: the last share above 0 that it has heard of.
  ///   - seed: the rollout's, of which there is one in a run.
  func state(_ id: InstallID, _ rule: RolloutRule?, share: Int?, seed: String) -> RolloutState {
    var counts: [CountedRollouts.Count] = []
    if marks.contains(.counts) {
      var count = CountedRollouts.Count(
        seed: seed, arm: marks.contains(.candidate) ? .candidate : .control,
        opened: FleetMix.start + Int64(opened) * 1_000)
      count.isFailed = marks.contains(.failed)
      count.isOpeningTold = marks.contains(.openingTold)
      count.isFailureTold = marks.contains(.failureTold)
      counts = [count]
    }
    return RolloutState(
      id: id, rule: rule, isIn: marks.contains(.isIn), lastShare: share, evidence: CountedRollouts(counts))
  }

  /// Keeps a state.
  mutating func keep(_ state: RolloutState) {
    set(.isIn, state.isIn)
    guard let count = state.evidence.counts.first else { return }
    set(.counts, true)
    opened = UInt32((count.opened - FleetMix.start) / 1_000)
    set(.candidate, count.arm == .candidate)
    set(.failed, count.isFailed)
    set(.openingTold, count.isOpeningTold)
    set(.failureTold, count.isFailureTold)
  }

  mutating func set(_ mark: Marks, _ isSet: Bool) {
    if isSet { marks.insert(mark) } else { marks.remove(mark) }
  }
}
