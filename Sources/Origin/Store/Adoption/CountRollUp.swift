import Manifests

extension Store {
  /// The days for which counts are kept by the hour.
  static let daysByHour: Int64 = 8

  /// Merges the hours of the oldest due day into one row per version and reason.
  /// - Returns: whether a day was due; another one may be.
  @discardableResult
  package func rollUpCounts() throws(StoreError) -> Bool {
    let due = clock() / 86_400_000 - Self.daysByHour
    let last = try connections.reading { (db) throws(StoreError) in try db.countedThrough() }
    if let last, last >= due { return false }
    return try connections.transaction { (db) throws(StoreError) in
      let after = (last ?? 0) * 24 + 23
      let oldest = try db.value(
        Int64?.self,
        """
        SELECT min(hour) FROM (SELECT min(hour) AS hour FROM poll_count WHERE hour > ?1
          UNION ALL SELECT min(hour) FROM failure_hour WHERE hour > ?1)
        """, after)
      // Days without rows are skipped.
      let day = min((oldest ?? nil).map { $0 / 24 } ?? due, due)
      try db.rollUpPolls(ofDay: day)
      try db.rollUpFailures(ofDay: day)
      try db.run(
        "INSERT INTO counted_day (one, through) VALUES (1, ?) ON CONFLICT DO UPDATE SET through = excluded.through",
        day)
      return true
    }
  }
}

extension Database {
  /// The last day (since 1970) whose hours were merged; nil if there is none yet.
  fileprivate func countedThrough() throws(StoreError) -> Int64? {
    try value(Int64.self, "SELECT through FROM counted_day")
  }

  fileprivate func rollUpPolls(ofDay day: Int64) throws(StoreError) {
    struct Sum {
      let channel: Int64
      let version: Int64
      var polls: Int64
      var hours: Int64
      var last: Int64
      var sample: PollSample
    }
    let (first, end) = (day * 24, day * 24 + 24)
    var sums: [Sum] = []
    // A channel's most frequent versions come first; those beyond the limit are added to `other`, which comes last.
    try each(
      """
      SELECT channel_id, version, sum(polls), sum(max(hours, 1)), max(hour), sum(batches), sum(squares) FROM poll_count
      WHERE hour >= ? AND hour < ? GROUP BY channel_id, version
      ORDER BY channel_id, version = -1, sum(polls) DESC, version DESC
      """, first, end
    ) { row in
      sums.append(
        Sum(
          channel: row.get(0), version: row.get(1), polls: row.get(2), hours: row.get(3), last: row.get(4),
          sample: PollSample(batches: row.get(5), squares: row.get(6))))
    }
    var kept: [Sum] = []
    var separate = 0
    for sum in sums {
      if kept.last?.channel != sum.channel { separate = 0 }
      separate += 1
      if separate <= Store.maxSeparateVersions {
        kept.append(sum)
      } else if let last = kept.indices.last, kept[last].version == PollCount.other {
        kept[last].polls += sum.polls
        kept[last].hours = min(24, kept[last].hours + sum.hours)
        kept[last].last = max(kept[last].last, sum.last)
        kept[last].sample.add(sum.sample)
      } else {
        kept.append(
          Sum(
            channel: sum.channel, version: PollCount.other, polls: sum.polls, hours: sum.hours,
            last: sum.last,
            sample: sum.sample))
      }
    }
    try run("DELETE FROM poll_count WHERE hour >= ? AND hour < ?", first, end)
    try insert(
      "INSERT INTO poll_count (channel_id, hour, version, polls, hours, batches, squares)",
      kept.map {
        ($0.channel, $0.last, $0.version, $0.polls, $0.hours, $0.sample.batches, $0.sample.squares)
      })
  }

  fileprivate func rollUpFailures(ofDay day: Int64) throws(StoreError) {
    let (first, end) = (day * 24, day * 24 + 24)
    let sums = try all(
      """
      SELECT channel_id, max(hour), reason, sum(failures) FROM failure_hour
      WHERE hour >= ? AND hour < ? GROUP BY channel_id, reason
      """, first, end
    ) { row in
      (
        row.get(0, as: Int64.self), row.get(1, as: Int64.self), row.get(2, as: String.self),
        row.get(3, as: Int64.self)
      )
    }
    try run("DELETE FROM failure_hour WHERE hour >= ? AND hour < ?", first, end)
    try insert("INSERT INTO failure_hour (channel_id, hour, reason, failures)", sums)
  }
}
