import Manifests

extension Database {
  /// What a rollout does by itself.
  func plan(of seed: String, in channel: Int64) throws(StoreError) -> RolloutPlan {
    let kept = try first(
      """
      SELECT pauses, halts, alarmed_at, highest, first_hour, steps, completes, each_opened, at_least, stepped_at,
        stepped_candidate, stepped_control, network_cap
      FROM rollout_plan WHERE channel_id = ? AND seed = ?
      """, channel, seed
    ) { (row) throws(StoreError) in
      var plan = RolloutPlan()
      plan.pausesItself = row.get(0, as: Int.self) != 0
      plan.haltsItself = row.get(1, as: Int.self) != 0
      (plan.alarmedAt, plan.highest, plan.firstHour) = (row.get(2), row.get(3), row.get(4))
      if let text = row.get(5, as: String?.self) {
        let steps = text.split(separator: " ").map { Int($0) ?? -1 }
        guard let ramp = Ramp(steps: steps, each: row.get(7), atLeast: row.get(8)) else {
          throw .corruptRow("ramp of \(seed)")
        }
        plan.ramp = RolloutRamp(ramp, completes: row.get(6, as: Int.self) != 0)
      }
      (plan.steppedAt, plan.steppedCandidate, plan.steppedControl) = (row.get(9), row.get(10), row.get(11))
      guard let cap = NetworkCap(share: row.get(12)) else { throw .corruptRow("network cap of \(seed)") }
      plan.cap = cap
      return plan
    }
    return kept ?? RolloutPlan()
  }

  /// Writes what a rollout does by itself. Networks in which the candidate failed are counted anew from another first hour on.
  func keep(_ plan: RolloutPlan, of seed: String, in channel: Int64) throws(StoreError) {
    let ramp = plan.ramp?.ramp
    try run(
      """
      INSERT INTO rollout_plan (channel_id, seed, pauses, halts, alarmed_at, highest, first_hour, steps, completes, each_opened,
        at_least, stepped_at, stepped_candidate, stepped_control, network_cap)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET pauses = excluded.pauses, halts = excluded.halts, alarmed_at = excluded.alarmed_at,
        highest = excluded.highest,
        failing_networks = CASE WHEN first_hour = excluded.first_hour THEN failing_networks ELSE 0 END,
        first_hour = excluded.first_hour, steps = excluded.steps, completes = excluded.completes,
        each_opened = excluded.each_opened, at_least = excluded.at_least, stepped_at = excluded.stepped_at,
        stepped_candidate = excluded.stepped_candidate, stepped_control = excluded.stepped_control,
        network_cap = excluded.network_cap
      """, channel, seed, plan.pausesItself ? 1 : 0, plan.haltsItself ? 1 : 0, plan.alarmedAt, plan.highest,
      plan.firstHour, ramp.map { $0.steps.map(String.init).joined(separator: " ") },
      plan.ramp?.completes == true ? 1 : 0, ramp?.each ?? 2_000, ramp?.atLeast ?? 3_600_000, plan.steppedAt,
      plan.steppedCandidate, plan.steppedControl, plan.cap.share)
  }
}

extension Store {
  /// Where the open rollout of a channel stands; nil if none is open.
  package func standing(of channel: ChannelInfo) throws(StoreError) -> RolloutStanding? {
    try connections.reading { (db) throws(StoreError) in
      guard let rollout = try db.openRollout(of: channel.id) else { return nil }
      return try db.standing(of: rollout, in: channel.id, now: clock())
    }
  }

  /// Notes how high a rollout's e-value was.
  /// - Parameter highest: its natural logarithm.
  package func note(highest: Double, of rollout: Rollout, in channel: ChannelInfo) throws(StoreError) {
    try connections.transaction { (db) throws(StoreError) in
      var plan = try db.plan(of: rollout.seed, in: channel.id)
      guard highest > plan.highest else { return }
      plan.highest = highest
      try db.keep(plan, of: rollout.seed, in: channel.id)
    }
  }

  /// Corrects what a rollout does by itself after the clock was set back.
  package func correctClock(of rollout: Rollout, in channel: ChannelInfo) throws(StoreError) {
    try connections.transaction { (db) throws(StoreError) in
      let plan = try db.plan(of: rollout.seed, in: channel.id)
      if let corrected = plan.corrected(for: rollout, now: clock()) {
        try db.keep(corrected, of: rollout.seed, in: channel.id)
      }
    }
  }
}

extension Database {
  func standing(of rollout: Rollout, in channel: Int64, now: Int64) throws(StoreError) -> RolloutStanding {
    let plan = try plan(of: rollout.seed, in: channel)
    let all = try evidence(of: rollout.seed, in: channel, cap: plan.cap)
    return RolloutStanding(
      rollout: rollout, plan: plan, evidence: all,
      recent: plan.firstHour == 0
        // An hour in the future is one of a clock that was ahead.
        ? all
        : try evidence(
          of: rollout.seed, in: channel, from: plan.firstHour, to: now / 3_600_000 + 2, cap: plan.cap),
      freeze: try freeze(of: channel, at: now))
  }
}
