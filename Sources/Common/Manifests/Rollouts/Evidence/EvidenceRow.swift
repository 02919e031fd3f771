/// What the devices of one arm and network have reported about one hour's openings.
package struct EvidenceRow: Hashable, Sendable {
  /// The highest count.
  package static let limit: Int64 = 1 << 53

  /// The hour in which the devices opened their first page, in hours since 1970. A failure belongs to the hour of its opening
  /// where that is known, otherwise to the one in which it was reported.
  package let hour: Int64
  /// The arm.
  package let arm: RolloutArm
  /// What tells networks apart: a salted digest of the prefix of their addresses.
  package let network: UInt64
  /// How many devices opened a page.
  package let opened: Int64
  /// How many of them a page failed on within 24 hours.
  package let failed: Int64

  /// Creates a row; nil if a number is negative or above the limit.
  package init?(hour: Int64, arm: RolloutArm, network: UInt64, opened: Int64, failed: Int64) {
    let range = 0...Self.limit
    guard range.contains(hour), range.contains(opened), range.contains(failed) else { return nil }
    self.hour = hour
    self.arm = arm
    self.network = network
    self.opened = opened
    self.failed = failed
  }

  /// The day of its hour, in days since 1970.
  package var day: Int64 { hour / 24 }
}

/// Two sums of an arm, as far as its networks count (`NetworkCap`).
package struct CountedSums: Hashable, Sendable {
  /// Devices that opened a page.
  package private(set) var opened: Double
  /// Devices that failed.
  package private(set) var failed: Double

  /// No devices.
  package static let none = CountedSums()

  private init() { (opened, failed) = (0, 0) }

  /// Creates sums; nil if one of them is negative, not a number, or too large to be counted by ones.
  package init?(opened: Double, failed: Double) {
    let range = 0...Double(EvidenceRow.limit)
    guard range.contains(opened), range.contains(failed) else { return nil }
    self.opened = opened
    self.failed = failed
  }

  static func += (sums: inout CountedSums, more: CountedSums) {
    sums.opened = min(sums.opened + more.opened, Double(EvidenceRow.limit))
    sums.failed = min(sums.failed + more.failed, Double(EvidenceRow.limit))
  }
}

/// What both arms have reported about one hour's openings.
package struct EvidenceHour: Hashable, Sendable {
  /// In hours since 1970.
  package let hour: Int64
  /// The devices that have the candidate.
  package private(set) var candidate: CountedSums
  /// The devices that they are compared to.
  package private(set) var control: CountedSums

  /// Creates an hour.
  package init(hour: Int64, candidate: CountedSums = .none, control: CountedSums = .none) {
    self.hour = hour
    self.candidate = candidate
    self.control = control
  }

  mutating func add(_ sums: CountedSums, to arm: RolloutArm) {
    switch arm {
    case .candidate: candidate += sums
    case .control: control += sums
    }
  }

  mutating func add(_ other: EvidenceHour) {
    candidate += other.candidate
    control += other.control
  }
}
