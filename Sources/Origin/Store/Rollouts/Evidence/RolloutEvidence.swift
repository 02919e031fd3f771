import Manifests

/// What devices have reported about a rollout, as far as their networks count.
package struct RolloutEvidence: Hashable, Sendable {
  /// In their order.
  package let hours: [EvidenceHour]
  /// In how many networks the candidate has failed, at least.
  package let failingNetworks: Int
  /// The openings of the days whose networks are still told apart.
  package let openings: CountedOpenings

  /// The devices of an arm.
  package func sums(_ arm: RolloutArm) -> CountedSums {
    hours.reduce(into: CountedSums.none) { $0.add(arm == .candidate ? $1.candidate : $1.control) }
  }
}

extension CountedSums {
  fileprivate mutating func add(_ more: CountedSums) {
    let limit = Double(EvidenceRow.limit)
    self =
      CountedSums(opened: min(opened + more.opened, limit), failed: min(failed + more.failed, limit)) ?? self
  }
}

extension Store {
  /// What devices have reported about a rollout.
  package func evidence(of rollout: Rollout, in channel: ChannelInfo) throws(StoreError) -> RolloutEvidence {
    try connections.reading { (db) throws(StoreError) in
      try db.evidence(
        of: rollout.seed, in: channel.id, cap: try db.plan(of: rollout.seed, in: channel.id).cap)
    }
  }
}

extension Database {
  /// What devices have reported about a rollout, from one hour to another, which isn't included.
  func evidence(
    of seed: String, in channel: Int64, from first: Int64 = 0, to end: Int64 = .max, cap: NetworkCap
  ) throws(StoreError) -> RolloutEvidence {
    var closed: [Int64: [RolloutArm: CountedSums]] = [:]
    let sums = try all(
      """
      SELECT hour, arm, opened, failed FROM evidence_hour
      WHERE channel_id = ? AND seed = ? AND hour >= ? AND hour < ?
      """, channel, seed, first, end
    ) { (row) throws(StoreError) -> (hour: Int64, arm: RolloutArm, sums: CountedSums) in
      guard let arm = RolloutArm(rawValue: row.get(1)),
        let sums = CountedSums(opened: row.get(2), failed: row.get(3))
      else { throw .corruptRow("evidence of \(seed)") }
      return (row.get(0), arm, sums)
    }
    for row in sums { closed[row.hour, default: [:]][row.arm] = row.sums }
    let rows = try evidenceRows(of: seed, in: channel, from: first, to: end)
    let counted = cap.counted(rows)
    // One that was put together before it was over, as for a backup, goes on with the networks that have reported since.
    for hour in counted.hours {
      for (arm, sums) in [(RolloutArm.candidate, hour.candidate), (.control, hour.control)] {
        closed[hour.hour, default: [:]][arm, default: .none].add(sums)
      }
    }
    let hours = closed.map { hour, arms in
      EvidenceHour(
        hour: hour, candidate: arms[.candidate] ?? .none, control: arms[.control] ?? .none)
    }
    let networks = try value(
      Int.self, "SELECT failing_networks FROM rollout_plan WHERE channel_id = ? AND seed = ?", channel, seed)
    return RolloutEvidence(
      hours: hours.sorted { $0.hour < $1.hour }, failingNetworks: max(networks ?? 0, rows.failingNetworks),
      openings: counted.openings)
  }
}
