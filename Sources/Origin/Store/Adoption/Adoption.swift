import Manifests

/// The number of polls that reported one version of a channel.
package struct PollCount: Hashable, Sendable {
  /// The channel's id.
  package let channel: Int64
  /// The version; 0 if none was reported, -1 for versions that aren't kept.
  package let version: Int64
  /// The number of polls.
  package let polls: Int
  /// What the number was worked out from.
  package let sample: PollSample

  /// The version of a device without a manifest.
  package static let none: Int64 = 0
  /// All versions that aren't kept.
  package static let other: Int64 = -1

  /// Creates a count.
  package init(channel: Int64, version: Int64, polls: Int, sample: PollSample = .none) {
    self.channel = channel
    self.version = version
    self.polls = polls
    self.sample = sample
  }
}

/// The versions that a channel's polls reported over some hours.
package struct Adoption: Hashable, Sendable {
  /// The polls that reported one version.
  package struct Share: Hashable, Sendable {
    /// As in `PollCount`.
    package let version: Int64
    /// The number of polls.
    package let polls: Int
    /// What the number was worked out from.
    package let sample: PollSample
  }

  /// The shares, newest version first; the last two may be `PollCount.none` and `.other`.
  package let shares: [Share]

  /// The number of all polls.
  package var polls: Int { shares.reduce(0) { $0 + $1.polls } }

  /// What that number was worked out from.
  package var sample: PollSample { shares.reduce(into: .none) { $0.add($1.sample) } }
}

extension Store {
  /// The most versions that are counted separately in an hour, or in a day of the past; gc considers at most 100.
  static let maxSeparateVersions = 128

  /// Adds polls to the current hour, the most frequent versions first. Versions that aren't kept, or are too many,
  /// count as `other`.
  package func count(_ polls: [PollCount]) throws(StoreError) {
    if polls.isEmpty { return }
    let now = clock()
    try connections.transaction { (db) throws(StoreError) in
      let hour = now / 3_600_000
      for count in polls.sorted(by: { ($1.polls, $0.version) < ($0.polls, $1.version) }) where count.polls > 0
      {
        let version = try db.countedSeparately(
          try db.counted(count.version, in: count.channel), hour, count.channel)
        try db.run(
          """
          INSERT INTO poll_count (channel_id, hour, version, polls, batches, squares) VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT DO UPDATE SET polls = polls + excluded.polls, batches = batches + excluded.batches,
            squares = squares + excluded.squares
          """, count.channel, hour, version, count.polls, count.sample.batches, count.sample.squares)
      }
      try db.forgetCounts(before: now)
    }
  }

  /// What the polls of the last `hours` hours reported, including the current one.
  package func adoption(of channel: ChannelInfo, hours: Int) throws(StoreError) -> Adoption {
    let first = clock() / 3_600_000 - Int64(hours) + 1
    return try connections.reading { (db) throws(StoreError) in
      Adoption(
        shares: try db.all(
          """
          SELECT version, sum(polls), sum(batches), sum(squares) FROM poll_count
          WHERE channel_id = ? AND hour >= ? GROUP BY version ORDER BY version DESC
          """, channel.id, first
        ) {
          .init(
            version: $0.get(0), polls: $0.get(1),
            sample: PollSample(batches: $0.get(2), squares: $0.get(3)))
        })
    }
  }

  /// The channels that were polled in the last `hours` hours, including the current one: the latest polled first, and
  /// of those the most polled.
  package func polledChannels(hours: Int) throws(StoreError) -> [Int64] {
    let first = clock() / 3_600_000 - Int64(hours) + 1
    return try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT channel_id FROM poll_count WHERE hour >= ?
        GROUP BY channel_id ORDER BY max(hour) DESC, sum(polls) DESC, channel_id
        """, first
      ) { $0.get(0) }
    }
  }

  /// The kept versions that at least one in a hundred of last week's polls reported, newest first. Deltas against them
  /// are worth making (Sources/Origin/Origin/README.md, "Deltas").
  package func commonVersions(of channel: ChannelInfo) throws(StoreError) -> [ManifestVersion] {
    let week = try adoption(of: channel, hours: 7 * 24)
    return week.shares.filter { $0.version > 0 && $0.polls * 100 >= week.polls }.map {
      ManifestVersion($0.version)
    }
  }
}

extension Database {
  /// Deletes what was counted more than 90 days ago, error samples of more than 30, and answers from more than a day ago.
  func forgetCounts(before now: Int64) throws(StoreError) {
    let hour = now / 3_600_000 - 90 * 24
    try run("DELETE FROM poll_count WHERE hour < ?", hour)
    try run("DELETE FROM failure_hour WHERE hour < ?", hour)
    try run("DELETE FROM disk_hour WHERE hour < ?", hour)
    try run("DELETE FROM failure_count WHERE day < ?", now / 86_400_000 - 90)
    try forgetSamples(before: now)
    try forgetAnswers(now: now)
    try forgetActs(before: now)
  }

  /// The version that a reported version counts as.
  func counted(_ version: Int64, in channel: Int64) throws(StoreError) -> Int64 {
    if version == PollCount.none { return version }
    guard version > 0, try isKept(ManifestVersion(version), in: channel) else { return PollCount.other }
    return version
  }

  /// The version itself if it has a row in that hour or there may be another row, otherwise `other`.
  fileprivate func countedSeparately(_ version: Int64, _ hour: Int64, _ channel: Int64) throws(StoreError)
    -> Int64
  {
    guard version != PollCount.other else { return version }
    let known = try first(
      "SELECT count(*), count(*) FILTER (WHERE version = ?3) FROM poll_count WHERE channel_id = ?1 AND hour = ?2",
      channel, hour, version
    ) { (rows: $0.get(0, as: Int.self), own: $0.get(1, as: Int.self)) }
    guard let known, known.own == 0 else { return version }
    return known.rows < Store.maxSeparateVersions ? version : PollCount.other
  }
}
