import Manifests

/// How much manifest history stays for no other reason than that it is recent.
package struct RetentionPolicy: Hashable, Sendable {
  /// The newest releases of each channel.
  package var versions = 50
  /// Days for which a version stays after devices used it, as their polls tell.
  package var days = 90

  // Anybody may poll as anything, so that one poll of each version must not keep them all. Devices come again: a version
  // is in use that a share of a day's polls reported, or polls in several hours.

  /// Of a day's polls, one in so many makes a version one in use, where these are not but a few, and where devices came
  /// again in another hour;
  package static let share = 1000
  /// in how many hours;
  package static let shareHours = 2
  /// how many polls are not but a few;
  package static let fewPolls = 10
  /// one in so many does it in a single hour.
  package static let largeShare = 100
  /// Polls in so many different hours make a version one in use, too.
  package static let hours = 3
  /// Versions that polls alone keep: those reported in the most hours first, then by the most polls. Who polls
  /// everything every hour keeps that much and no more.
  package static let usedVersions = 100

  /// What `xcache serve` goes by unless it is told otherwise.
  package init() {}
}

/// Why a version is kept.
package enum RetentionReason: Hashable, Sendable {
  /// Devices get it now.
  case live
  /// It is one of the newest of its channel.
  case recent
  /// Devices use it: polls in the time that the policy looks back, in how many hours, and when the last one came.
  case reported(polls: Int, hours: Int, last: Int64)
  case pinned(author: String, reason: String)
  /// A registered mirror names it.
  case mirrored(String)
  /// Its channel was removed, and should it be made again, its numbers go on from here.
  case lastNumber
}

/// A version that stays, and every reason for it.
package struct RetainedVersion: Hashable, Sendable {
  /// The version.
  package let version: ManifestVersion
  /// At least one.
  package let reasons: [RetentionReason]
}

extension Database {
  /// Who still needs which versions of a channel. What this doesn't name, gc drops.
  func retainedVersions(of channel: Int64, _ policy: RetentionPolicy, now: Int64) throws(StoreError)
    -> [RetainedVersion]
  {
    // Nobody can look back in a removed channel, and nobody is answered for it; but a mirror may still stand.
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
    // Devices and mirrors may name versions that went long ago.
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
    for (version, reason) in try reported(in: channel, policy, now, recent: Set(reasons.keys)) {
      reasons[version, default: []].append(reason)
    }
    try each("SELECT version, author, reason FROM pin WHERE channel_id = ?", channel) { row in
      reasons[row.get(0), default: []].append(.pinned(author: row.get(1), reason: row.get(2)))
    }
    return reasons
  }

  /// The versions that devices use, by what their polls reported.
  private func reported(in channel: Int64, _ policy: RetentionPolicy, _ now: Int64, recent: Set<Int64>)
    throws(StoreError) -> [(version: Int64, reason: RetentionReason)]
  {
    var used: [(version: Int64, reason: RetentionReason)] = []
    var places = RetentionPolicy.usedVersions
    try each(
      """
      WITH daily AS (
        SELECT version, hour / 24 AS day, sum(polls) AS polls, sum(max(hours, 1)) AS hours, max(hour) AS last
        FROM poll_count WHERE channel_id = ?1 AND hour > ?2 GROUP BY version, day),
      shares AS (SELECT *, sum(polls) OVER (PARTITION BY day) AS all_polls FROM daily)
      SELECT version, sum(polls), sum(hours), max(last), max(polls >= ?3 AND polls >= all_polls / ?4),
        max(polls >= ?3 AND polls >= all_polls / ?5)
      FROM shares WHERE version > 0 GROUP BY version
      HAVING EXISTS (SELECT 1 FROM release AS r WHERE r.channel_id = ?1 AND r.version = shares.version)
      ORDER BY max(polls >= ?3 AND polls >= all_polls / ?4) DESC, sum(polls) DESC, version DESC
      """, channel, now / 3_600_000 - Int64(policy.days) * 24, RetentionPolicy.fewPolls,
      RetentionPolicy.share,
      RetentionPolicy.largeShare
    ) { row in
      let (version, hours) = (row.get(0, as: Int64.self), row.get(2, as: Int.self))
      let (hasShare, hasLargeShare) = (row.get(4, as: Int64.self) != 0, row.get(5, as: Int64.self) != 0)
      guard hours >= RetentionPolicy.hours || hasLargeShare || hasShare && hours >= RetentionPolicy.shareHours
      else {
        return
      }
      // Those that stay anyway take no place of another one.
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
