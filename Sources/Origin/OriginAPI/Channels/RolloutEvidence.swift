import Manifests
import System

/// What devices have reported about a rollout.
package struct EvidenceInfo: Codable, Hashable, Sendable {
  /// One of the parts of the fleet that are compared.
  package struct Arm: Codable, Hashable, Sendable {
    /// How many devices opened a page, and how many of them failed, as far as their networks count.
    package let opened: Int64
    package let failed: Int64
    /// The failures per million devices, and between which numbers that is with 95 %, however often one looks; absent without a device.
    package var rate: Int64?
    package var low: Int64?
    package var high: Int64?

    package init(opened: Int64, failed: Int64, rate: Int64? = nil, low: Int64? = nil, high: Int64? = nil) {
      self.opened = opened
      self.failed = failed
      self.rate = rate
      self.low = low
      self.high = high
    }
  }

  /// How the e-value went.
  package struct Point: Codable, Hashable, Sendable {
    package let at: Moment
    /// At most 2^53 - 1, as every e-value here.
    package let e: Int64

    package init(at: Moment, e: Int64) {
      self.at = at
      self.e = e
    }
  }

  /// Openings that aren't counted, since a network counts for a part at most.
  package struct LeftOut: Codable, Hashable, Sendable {
    /// How many aren't counted, of how many, both arms together, on the days whose networks are still told apart: two at most.
    package let opened: Int64
    package let of: Int64
    /// From how many networks they came, on the day with the most.
    package let networks: Int64

    package init(opened: Int64, of: Int64, networks: Int64) {
      self.opened = opened
      self.of = of
      self.networks = networks
    }
  }

  /// Devices that have the candidate.
  package let candidate: Arm
  /// Devices that they are compared with.
  package let control: Arm
  /// The e-value now, and the highest so far.
  package let e: Int64
  package let highest: Int64
  /// In how many networks the candidate has failed, at least.
  package let networks: Int64
  /// Whether an alarm pauses the rollout, and whether it may halt it.
  package let pausesItself: Bool
  package let haltsItself: Bool
  /// When an alarm paused it last; nil if none did.
  @OrNull package var alarmedAt: Moment?
  /// The newest last.
  package let points: [Point]
  /// The e-value of what counts since a person has resumed the rollout after an alarm, and from when on that is; absent: all counts.
  package var resumed: Point?
  /// How much one network counts, at most, of 10,000; absent from an older origin.
  package var networkCap: Int?
  /// What isn't counted for that reason; absent unless it is more than half.
  package var leftOut: LeftOut?

  package init(
    candidate: Arm, control: Arm, e: Int64, highest: Int64, networks: Int64, pausesItself: Bool,
    haltsItself: Bool, alarmedAt: Moment?, points: [Point]
  ) {
    self.candidate = candidate
    self.control = control
    self.e = e
    self.highest = highest
    self.networks = networks
    self.pausesItself = pausesItself
    self.haltsItself = haltsItself
    self.points = points
    self.alarmedAt = alarmedAt
  }
}

/// The steps by which a rollout goes on by itself.
package struct RampTerms: Codable, Hashable, Sendable, RequestPart {
  /// The shares, of 10,000, each above the one before. In a change, none ends the ramp.
  package var steps: [Int]
  /// How many of the candidate's devices open a page in each step; absent: 2,000.
  package var each: Int64?
  /// How many seconds a step lasts at least; absent: an hour.
  package var atLeast: Int64?
  /// Whether the rollout is completed after the last step; absent: no.
  package var completes: Bool?

  package init(steps: [Int], each: Int64? = nil, atLeast: Int64? = nil, completes: Bool? = nil) {
    self.steps = steps
    self.each = each
    self.atLeast = atLeast
    self.completes = completes
  }
}

/// What a rollout waits for.
package struct RolloutWait: Codable, Hashable, Sendable {
  /// `person`, `resuming`, `completing`, `openings`, `time`, `networks`, `refused` or `freeze`, or what only a newer origin knows.
  package let kind: String
  /// The same in words.
  package let text: String

  package init(kind: String, text: String) {
    self.kind = kind
    self.text = text
  }
}
