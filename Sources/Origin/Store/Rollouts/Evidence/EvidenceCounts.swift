import Manifests
import System

/// What devices of one arm and network reported about a rollout.
package struct EvidenceCount: Hashable, Sendable {
  /// The channel's id.
  package let channel: Int64
  /// The seed of the rollout.
  package let seed: String
  /// The hour in which they opened their first page, since 1970.
  package let hour: Int64
  /// The part of the fleet that they count in.
  package let arm: RolloutArm
  /// The network that they are in; nil for networks that aren't told apart.
  package let network: NetworkPrefix?
  /// How many opened a page.
  package let opened: Int64
  /// How many failed.
  package let failed: Int64

  /// Creates a count.
  package init(
    channel: Int64, seed: String, hour: Int64, arm: RolloutArm, network: NetworkPrefix?, opened: Int64,
    failed: Int64
  ) {
    self.channel = channel
    self.seed = seed
    self.hour = hour
    self.arm = arm
    self.network = network
    self.opened = opened
    self.failed = failed
  }
}

extension Store {
  /// The most rows by network that a day of a rollout has. Networks beyond count as one.
  package static let evidenceRows = 200_000
  /// The counts that are written in one transaction: releases wait no longer than that.
  private static let evidenceBatch = 5_000

  /// Adds what devices reported, except about rollouts that aren't open any more.
  package func count(_ evidence: [EvidenceCount], rows: Int = Store.evidenceRows) throws(StoreError) {
    var rest = evidence[...]
    while !rest.isEmpty {
      let batch = rest.prefix(Self.evidenceBatch)
      rest = rest.dropFirst(batch.count)
      try connections.transaction { (db) throws(StoreError) in
        for (place, counts) in Dictionary(grouping: batch, by: EvidencePlace.init) {
          try db.add(counts, at: place, rows: rows)
        }
      }
    }
  }

  /// Puts together the days whose failures have all been reported: what counts of them stays by the hour, and nothing stays of the
  /// networks. That is 48 hours after a day's beginning.
  /// - Returns: whether a day was due; another one may be.
  @discardableResult
  package func closeEvidence() throws(StoreError) -> Bool {
    let today = clock() / 86_400_000
    let due = try connections.reading { (db) throws(StoreError) in
      // A day that lies in the future is one of a clock that was set back.
      try db.first(
        "SELECT channel_id, day FROM evidence_key WHERE day < ? OR day > ? ORDER BY day", today - 1, today + 1
      ) { (channel: $0.get(0, as: Int64.self), day: $0.get(1, as: Int64.self)) }
    }
    guard let due else { return false }
    try connections.transaction { (db) throws(StoreError) in
      try db.closeEvidence(of: due.channel, day: due.day)
      try db.forgetEvidenceOfForgottenRollouts()
    }
    return true
  }

  /// The candidates that a rollout has had, also before they were made again.
  package func candidates(ofSeed seed: String, in channel: Int64) throws(StoreError) -> [ManifestVersion] {
    try connections.reading { (db) throws(StoreError) in
      try db.all("SELECT version FROM rollout WHERE channel_id = ? AND seed = ?", channel, seed) {
        $0.version(0)
      }
    }
  }
}

/// A day of a rollout.
private struct EvidencePlace: Hashable {
  let channel: Int64
  let seed: String
  let day: Int64

  init(_ count: EvidenceCount) {
    (channel, seed, day) = (count.channel, count.seed, count.hour / 24)
  }
}

extension Database {
  fileprivate func add(_ counts: [EvidenceCount], at place: EvidencePlace, rows limit: Int) throws(StoreError)
  {
    guard place.day >= 0, try openRollout(of: place.channel)?.seed == place.seed else { return }
    let key = try evidenceKey(of: place)
    let isFull = try evidenceRows(at: place) + counts.count > limit
    var rows: [(Int64, String, Int64, String, Int64, Int64, Int64)] = []
    for count in counts {
      var network = Int64(bitPattern: count.network?.digest(key) ?? NetworkPrefix.others)
      if isFull, try !isCounted(network, count) { network = Int64(bitPattern: NetworkPrefix.others) }
      rows.append(
        (
          count.channel, count.seed, count.hour, count.arm.rawValue, network,
          min(max(0, count.opened), EvidenceRow.limit), min(max(0, count.failed), EvidenceRow.limit)
        ))
    }
    try insert(
      "INSERT INTO evidence_network (channel_id, seed, hour, arm, network, opened, failed)", rows,
      """
      ON CONFLICT DO UPDATE SET opened = min(opened + excluded.opened, 9007199254740992),
        failed = min(failed + excluded.failed, 9007199254740992)
      """)
  }

  private func evidenceRows(at place: EvidencePlace) throws(StoreError) -> Int {
    try value(
      Int.self,
      "SELECT count(*) FROM evidence_network WHERE channel_id = ? AND seed = ? AND hour >= ? AND hour < ?",
      place.channel, place.seed, place.day * 24, place.day * 24 + 24) ?? 0
  }

  private func isCounted(_ network: Int64, _ count: EvidenceCount) throws(StoreError) -> Bool {
    try value(
      Int64.self,
      "SELECT 1 FROM evidence_network WHERE channel_id = ? AND seed = ? AND hour = ? AND arm = ? AND network = ?",
      count.channel, count.seed, count.hour, count.arm.rawValue, network) != nil
  }

  /// The key of a day's digests, made with its first row.
  private func evidenceKey(of place: EvidencePlace) throws(StoreError) -> [UInt8] {
    let kept = try value(
      [UInt8].self, "SELECT key FROM evidence_key WHERE channel_id = ? AND day = ?", place.channel, place.day)
    if let kept { return kept }
    let key = Secrets.random(32)
    try run(
      "INSERT INTO evidence_key (channel_id, day, key) VALUES (?, ?, ?)", place.channel, place.day, key)
    return key
  }

  fileprivate func closeEvidence(of channel: Int64, day: Int64) throws(StoreError) {
    let seeds = try all(
      "SELECT DISTINCT seed FROM evidence_network WHERE channel_id = ? AND hour >= ? AND hour < ?", channel,
      day * 24, day * 24 + 24
    ) { $0.get(0, as: String.self) }
    for seed in seeds {
      let plan = try plan(of: seed, in: channel)
      let rows = try evidenceRows(of: seed, in: channel, from: day * 24, to: day * 24 + 24)
      for hour in plan.cap.hours(rows) {
        for (arm, sums) in [(RolloutArm.candidate, hour.candidate), (.control, hour.control)] {
          try run(
            """
            INSERT INTO evidence_hour (channel_id, seed, hour, arm, opened, failed) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET opened = opened + excluded.opened, failed = failed + excluded.failed
            """, channel, seed, hour.hour, arm.rawValue, sums.opened, sums.failed)
        }
      }
      try run(
        """
        INSERT INTO rollout_plan (channel_id, seed, failing_networks) VALUES (?, ?, ?)
        ON CONFLICT DO UPDATE SET failing_networks = max(failing_networks, excluded.failing_networks)
        """, channel, seed, rows.filter { $0.hour >= plan.firstHour }.failingNetworks)
    }
    try run(
      "DELETE FROM evidence_network WHERE channel_id = ? AND hour >= ? AND hour < ?", channel, day * 24,
      day * 24 + 24)
    try forgetEvidenceKeys(of: channel, day: day)
  }

  /// Puts together all days, so that nothing stays of the networks in a copy of the database, which may be kept for years.
  func closeEvidence() throws(StoreError) {
    let days = try all("SELECT channel_id, day FROM evidence_key") {
      (channel: $0.get(0, as: Int64.self), day: $0.get(1, as: Int64.self))
    }
    for day in days { try closeEvidence(of: day.channel, day: day.day) }
  }

  /// Overwrites keys before their rows are deleted: deleted bytes stay in the file until others take their place.
  private func forgetEvidenceKeys(of channel: Int64, day: Int64?) throws(StoreError) {
    try run(
      "UPDATE evidence_key SET key = zeroblob(32) WHERE channel_id = ?1 AND (?2 IS NULL OR day = ?2)",
      channel, day)
    try run("DELETE FROM evidence_key WHERE channel_id = ?1 AND (?2 IS NULL OR day = ?2)", channel, day)
  }

  /// Deletes all evidence of a channel.
  func forgetEvidence(of channel: Int64) throws(StoreError) {
    try run("DELETE FROM evidence_network WHERE channel_id = ?", channel)
    try run("DELETE FROM evidence_hour WHERE channel_id = ?", channel)
    try run("DELETE FROM rollout_plan WHERE channel_id = ?", channel)
    try forgetEvidenceKeys(of: channel, day: nil)
  }

  /// Deletes what is left of rollouts whose versions gc has removed.
  fileprivate func forgetEvidenceOfForgottenRollouts() throws(StoreError) {
    try run(
      """
      DELETE FROM evidence_hour WHERE NOT EXISTS (SELECT 1 FROM rollout AS r
        WHERE r.channel_id = evidence_hour.channel_id AND r.seed = evidence_hour.seed)
      """)
    try run(
      """
      DELETE FROM rollout_plan WHERE NOT EXISTS (SELECT 1 FROM rollout AS r
        WHERE r.channel_id = rollout_plan.channel_id AND r.seed = rollout_plan.seed)
      """)
  }

  /// A rollout's rows by network, in these hours.
  func evidenceRows(of seed: String, in channel: Int64, from first: Int64, to end: Int64) throws(StoreError)
    -> [EvidenceRow]
  {
    try all(
      """
      SELECT hour, arm, network, opened, failed FROM evidence_network
      WHERE channel_id = ? AND seed = ? AND hour >= ? AND hour < ?
      """, channel, seed, first, end
    ) { (row) throws(StoreError) in
      let arm: String = row.get(1)
      guard let arm = RolloutArm(rawValue: arm),
        let read = EvidenceRow(
          hour: row.get(0), arm: arm, network: UInt64(bitPattern: row.get(2, as: Int64.self)),
          opened: row.get(3), failed: row.get(4))
      else { throw .corruptRow("evidence of \(seed)") }
      return read
    }
  }
}

extension [EvidenceRow] {
  /// In how many networks the candidate failed, on the day on which it did in most. Networks of different days can't be told apart,
  /// and those that aren't told apart at all count as one.
  var failingNetworks: Int {
    let failing = filter { $0.arm == .candidate && $0.failed > 0 }
    return Dictionary(grouping: failing, by: \.day).values.map { Set($0.map(\.network)).count }.max() ?? 0
  }
}
