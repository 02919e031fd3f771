import Manifests
import Values

/// A channel with what monitoring needs to know.
package struct ChannelHealth: Sendable {
  /// The channel.
  package let channel: ChannelInfo
  /// The freeze; nil if the channel accepts releases.
  package let freeze: ChannelFreeze?
  /// The channel's other documents and settings.
  package let extras: ChannelExtras
  /// If interception is off, the policy version that switched it off, even if the policy changed since.
  package let killed: DocumentRecord?
  /// The author of its newest release; nil if there is none.
  package let author: String?
  /// Polls of this clock hour and the previous one, by the version that devices reported.
  package var polls: [Int64: Int] = [:]
  /// What these numbers were worked out from.
  package var sample = PollSample.none
  /// Failures of this clock hour and the previous one.
  package var failures = 0
  /// Failures of the last 24 clock hours.
  package var failuresOfDay = 0
  /// The scheduled acts that wait, and when the first of them is due, in milliseconds since 1970; nil if none waits.
  package var scheduled: (count: Int, next: Int64)?
  /// The scheduled acts that lack approvals or signatures, and since when the first of them has, in milliseconds since 1970; nil if none
  /// does.
  package var awaiting: (count: Int, since: Int64)?
  /// The scheduled acts that failed or were missed in the last week.
  package var failedActs = 0
  /// The freezes by calendar that haven't begun.
  package var plannedFreezes = 0
  /// What the open rollout does by itself; nil if none is open.
  package var plan: RolloutPlan?
}

extension Store {
  /// The health of all channels of all apps, oldest first.
  package func channelHealth() throws(StoreError) -> [ChannelHealth] {
    let now = clock()
    let hour = now / 3_600_000
    return try connections.reading { (db) throws(StoreError) in
      var indices: [Int64: Int] = [:]
      var all: [ChannelHealth] = []
      for channel in try db.channels() {
        indices[channel.id] = all.count
        let author = try db.value(
          String.self, "SELECT author FROM release WHERE channel_id = ? AND version = ?", channel.id,
          channel.full.version.number)
        let extras = try db.extras(of: channel.id)
        let isOff = extras.policy?.policy.intercept == false
        all.append(
          ChannelHealth(
            channel: channel, freeze: try db.freeze(of: channel.id, at: now), extras: extras,
            killed: isOff ? try db.lastSwitch(of: channel.id) : nil, author: author))
        if let rollout = channel.rollout {
          all[all.count - 1].plan = try db.plan(of: rollout.seed, in: channel.id)
        }
      }
      try db.each(
        """
        SELECT channel_id, version, sum(polls), sum(batches), sum(squares) FROM poll_count
        WHERE hour >= ? GROUP BY channel_id, version
        """, hour - 1
      ) { row in
        guard let index = indices[row.get(0)] else { return }
        all[index].polls[row.get(1)] = row.get(2)
        all[index].sample.add(PollSample(batches: row.get(3), squares: row.get(4)))
      }
      try db.each(
        """
        SELECT channel_id, sum(failures), sum(CASE WHEN hour >= ?2 THEN failures ELSE 0 END) FROM failure_hour
        WHERE hour >= ?1 GROUP BY channel_id
        """, hour - 23, hour - 1
      ) { row in
        guard let index = indices[row.get(0)] else { return }
        (all[index].failuresOfDay, all[index].failures) = (row.get(1), row.get(2))
      }
      try db.each(
        "SELECT channel_id, count(*), min(due_at) FROM scheduled_act WHERE state = 'waiting' GROUP BY channel_id"
      ) { row in
        guard let index = indices[row.get(0)] else { return }
        all[index].scheduled = (row.get(1), row.get(2))
      }
      for act in try db.awaitingActs() {
        guard
          let index = all.firstIndex(where: { $0.channel.app == act.app && $0.channel.name == act.channel })
        else { continue }
        let known = all[index].awaiting ?? (0, act.at)
        all[index].awaiting = (known.count + 1, min(known.since, act.at))
      }
      try db.each(
        """
        SELECT channel_id, count(*) FROM scheduled_act WHERE state IN ('failed', 'missed') AND ended_at > ?
        GROUP BY channel_id
        """, now - ScheduleLimits.reportedFor
      ) { row in
        guard let index = indices[row.get(0)] else { return }
        all[index].failedActs = row.get(1)
      }
      try db.each(
        "SELECT channel_id, count(*) FROM planned_freeze WHERE starts_at > ? GROUP BY channel_id", now
      ) {
        (row) in
        guard let index = indices[row.get(0)] else { return }
        all[index].plannedFreezes = row.get(1)
      }
      return all
    }
  }

  /// A URL's manifest entry in a kept version; nil if that version doesn't have the URL.
  /// - Throws: `unknownVersion`.
  package func entry(_ url: ResourceURL, of channel: ChannelInfo, at version: ManifestVersion)
    throws(StoreError) -> Entry?
  {
    try connections.reading { (db) throws(StoreError) in
      try db.requireKept(version, in: channel.id)
      return try db.entry(url, of: channel, at: version)
    }
  }
}

extension Database {
  fileprivate func entry(_ url: ResourceURL, of channel: ChannelInfo, at version: ManifestVersion)
    throws(StoreError) -> Entry?
  {
    try first(
      """
      SELECT b.md5, b.sha256, b.size, t.text, t.headers, t.fallback, t.lazy, r.version, r.brought_in, p.text, n.name
      FROM url AS u
      JOIN entry AS e ON e.url_id = u.id AND e.since <= ?3 AND (e.until IS NULL OR e.until > ?3)
      JOIN bundle AS n ON n.id = e.bundle_id
      JOIN resource AS r ON r.id = e.resource_id
      JOIN blob AS b ON b.id = r.blob_id
      JOIN content_type AS t ON t.id = r.content_type_id
      JOIN public_url AS p ON p.id = r.public_url_id
      WHERE u.channel_id = ?1 AND u.text = ?2 LIMIT 1
      """, channel.id, url.text, version.number
    ) { (row) throws(StoreError) in
      let name: Int32? = channel.namesBundles(at: version) ? 10 : nil
      return try ManifestRow(row, from: 0, namedIn: name).entry(url, in: channel)
    }
  }
}
