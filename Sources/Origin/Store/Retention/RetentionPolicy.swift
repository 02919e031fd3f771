import Manifests

/// How much manifest history is kept only because it is recent or in use.
package struct RetentionPolicy: Hashable, Sendable {
  /// The number of the newest releases kept per channel.
  package var versions = 50
  /// The days for which a version is kept after devices used it, according to their polls.
  package var days = 90

  // Anyone may poll with any version, so a single poll of each version must not keep them all. Devices poll repeatedly:
  // a version is in use if a share of a day's polls reported it, or polls in several hours did.

  /// A version is in use if one in this many of a day's polls reported it, in at least `shareHours` hours and with at
  /// least `minPolls` polls.
  package static let share = 1000
  /// The hours in which a `share` of the polls has to come.
  package static let shareHours = 2
  /// The fewest polls for a share to count.
  package static let minPolls = 10
  /// One in this many of a day's polls is enough even within a single hour.
  package static let largeShare = 100
  /// Polls in this many different hours are also enough, whatever their share.
  package static let hours = 3
  /// Where polls are worked out from batches of counts, one batch in this many days is enough, also if `days` are fewer: a device sends
  /// one of a hundred or fewer, so a version with few devices may have none for days.
  package static let batchDays = 30
  /// The most versions that polls alone can keep: those with a share first, then those with the most batches, then those with the most
  /// polls. Whoever polls everything every hour, or reports a batch of everything, keeps no more than these.
  package static let usedVersions = 100

  /// Creates the default policy of `xcache serve`.
  package init() {}
}

/// Why a version is kept.
package enum RetentionReason: Hashable, Sendable {
  /// Devices get it now.
  case live
  /// It is one of its channel's newest.
  case recent
  /// Devices use it: the polls in the policy's days or of batches, the number of hours in which they came, and the time of the last one.
  case reported(polls: Int, hours: Int, last: Int64)
  case pinned(author: String, reason: String)
  /// A scheduled act needs its content.
  case scheduled(Int64)
  /// A registered mirror refers to it.
  case mirrored(String)
  /// Its channel was removed; if it is created again, its versions continue from here.
  case lastNumber
}

/// A kept version, with all the reasons.
package struct RetainedVersion: Hashable, Sendable {
  /// The version.
  package let version: ManifestVersion
  /// The reasons, at least one.
  package let reasons: [RetentionReason]
}

extension Database {
  /// The versions of a channel that are needed, and why. gc removes all others.
  func retainedVersions(of channel: Int64, _ policy: RetentionPolicy, now: Int64) throws(StoreError)
    -> [RetainedVersion]
  {
    // A removed channel has no readers and answers no requests, but a mirror of it may still exist.
    var reasons: [Int64: [RetentionReason]] =
      try isRemoved(channel) ? lastNumber(of: channel) : users(of: channel, policy, now)
    let mirrors = try bindingMirrors(now: now)
    try each(
      """
      SELECT v.version, m.name, m.id FROM mirror_version AS v JOIN mirror AS m ON m.id = v.mirror_id
      WHERE v.channel_id = ? ORDER BY m.name
      """, channel
    ) { row in
      guard mirrors.contains(row.get(2)) else { return }
      reasons[row.get(0), default: []].append(.mirrored(row.get(1)))
    }
    var kept: [RetainedVersion] = []
    // Devices and mirrors may refer to versions that were removed long ago.
    for (version, why) in reasons where try isKept(ManifestVersion(version), in: channel) {
      kept.append(RetainedVersion(version: ManifestVersion(version), reasons: why))
    }
    return kept.sorted { $0.version < $1.version }
  }

  private func lastNumber(of channel: Int64) throws(StoreError) -> [Int64: [RetentionReason]] {
    let newest = try newestVersions(of: channel, limit: 1).first
    return newest.map { [$0.number: [.lastNumber]] } ?? [:]
  }

  private func users(of channel: Int64, _ policy: RetentionPolicy, _ now: Int64) throws(StoreError)
    -> [Int64: [RetentionReason]]
  {
    var reasons: [Int64: [RetentionReason]] = [:]
    for version in try newestVersions(of: channel, limit: max(1, policy.versions)) {
      reasons[version.number] = [reasons.isEmpty ? .live : .recent]
    }
    // The others get it beside the candidate, which is the newest.
    if let rollout = try openRollout(of: channel) { reasons[rollout.full.number] = [.live] }
    for (version, reason) in try reported(in: channel, policy, now, recent: Set(reasons.keys)) {
      reasons[version, default: []].append(reason)
    }
    try each("SELECT version, author, reason FROM pin WHERE channel_id = ?", channel) { row in
      reasons[row.get(0), default: []].append(.pinned(author: row.get(1), reason: row.get(2)))
    }
    try each(
      "SELECT version, act_id FROM scheduled_version WHERE channel_id = ? ORDER BY act_id", channel
    ) { row in
      reasons[row.get(0), default: []].append(.scheduled(row.get(1)))
    }
    return reasons
  }

  /// The versions that devices use, according to their polls in the policy's days and to batches of 30 days.
  private func reported(in channel: Int64, _ policy: RetentionPolicy, _ now: Int64, recent: Set<Int64>)
    throws(StoreError) -> [(version: Int64, reason: RetentionReason)]
  {
    var used: [(version: Int64, reason: RetentionReason)] = []
    var places = RetentionPolicy.usedVersions
    try each(
      """
      WITH daily AS (
        SELECT version, hour / 24 AS day, sum(polls) AS polls, sum(max(hours, 1)) AS hours, max(hour) AS last,
          sum(CASE WHEN hour > ?6 THEN batches ELSE 0 END) AS batches
        FROM poll_count WHERE channel_id = ?1 AND hour > min(?2, ?6) AND (hour > ?2 OR batches > 0)
        GROUP BY version, day),
      shares AS (SELECT *, sum(polls) OVER (PARTITION BY day) AS all_polls FROM daily)
      SELECT version, sum(polls), sum(hours), max(last), max(polls >= ?3 AND polls >= all_polls / ?4),
        max(polls >= ?3 AND polls >= all_polls / ?5), sum(batches)
      FROM shares WHERE version > 0 GROUP BY version
      HAVING EXISTS (SELECT 1 FROM release AS r WHERE r.channel_id = ?1 AND r.version = shares.version)
      ORDER BY max(polls >= ?3 AND polls >= all_polls / ?4) DESC, sum(batches) DESC, sum(polls) DESC, version DESC
      """, channel, now / 3_600_000 - Int64(policy.days) * 24, RetentionPolicy.minPolls,
      RetentionPolicy.share,
      RetentionPolicy.largeShare, now / 3_600_000 - Int64(RetentionPolicy.batchDays) * 24
    ) { row in
      let (version, hours) = (row.get(0, as: Int64.self), row.get(2, as: Int.self))
      let (hasShare, hasLargeShare) = (row.get(4, as: Int64.self) != 0, row.get(5, as: Int64.self) != 0)
      let hasBatch = row.get(6, as: Int64.self) > 0
      guard
        hasBatch || hours >= RetentionPolicy.hours || hasLargeShare
          || hasShare && hours >= RetentionPolicy.shareHours
      else { return }
      // Versions that are kept anyway don't use up the limit.
      if !recent.contains(version) {
        guard places > 0 else { return }
        places -= 1
      }
      let reason = RetentionReason.reported(
        polls: row.get(1), hours: hours, last: row.get(3, as: Int64.self) * 3_600_000)
      used.append((version, reason))
    }
    return used
  }
}
