import Manifests

/// How much manifest history stays for no other reason than that it is recent.
package struct KeepPolicy: Hashable, Sendable {
  /// The newest releases of each channel.
  package var versions = 50
  /// Days for which a version stays after a device reported it.
  package var days = 90

  package init() {}
}

/// Why a version is kept.
package enum KeepReason: Hashable, Sendable {
  /// Devices get it now.
  case live
  /// It is one of the newest of its channel.
  case recent
  /// Devices reported it; polls in the time that the policy looks back, and when the last one came.
  case reported(polls: Int, last: Int64)
  case pinned(author: String, reason: String)
  /// A registered mirror names it.
  case mirrored(String)
  /// Its channel was removed, and should it be made again, its numbers go on from here.
  case lastNumber
}

/// A version that stays, and every reason for it.
package struct KeptVersion: Hashable, Sendable {
  package let version: ManifestVersion
  package let reasons: [KeepReason]
}

extension Database {
  /// Who still needs which versions of a channel. What this doesn't name, gc drops.
  func keepers(of channel: Int64, _ policy: KeepPolicy, now: Int64) throws(StoreError) -> [KeptVersion] {
    // Nobody can look back in a removed channel, and nobody is answered for it; but a mirror may still stand.
    var reasons: [Int64: [KeepReason]] =
      try isRemoved(channel) ? lastNumber(of: channel) : users(of: channel, policy, now)
    try each(
      """
      SELECT v.version, m.name FROM mirror_version AS v JOIN mirror AS m ON m.id = v.mirror_id
      WHERE v.channel_id = ? ORDER BY m.name
      """, channel
    ) { row in reasons[row.get(0), default: []].append(.mirrored(row.get(1))) }
    var kept: [KeptVersion] = []
    // Devices and mirrors may name versions that went long ago.
    for (version, why) in reasons where try isKept(ManifestVersion(version), in: channel) {
      kept.append(KeptVersion(version: ManifestVersion(version), reasons: why))
    }
    return kept.sorted { $0.version < $1.version }
  }

  private func lastNumber(of channel: Int64) throws(StoreError) -> [Int64: [KeepReason]] {
    let newest = try value(
      Int64.self, "SELECT version FROM release WHERE channel_id = ? ORDER BY version DESC LIMIT 1", channel)
    return newest.map { [$0: [.lastNumber]] } ?? [:]
  }

  private func users(of channel: Int64, _ policy: KeepPolicy, _ now: Int64) throws(StoreError)
    -> [Int64: [KeepReason]]
  {
    var reasons: [Int64: [KeepReason]] = [:]
    var isFirst = true
    try each(
      "SELECT version FROM release WHERE channel_id = ? ORDER BY version DESC LIMIT ?", channel,
      max(1, policy.versions)
    ) { row in
      reasons[row.get(0), default: []].append(isFirst ? .live : .recent)
      isFirst = false
    }
    try each(
      """
      SELECT version, sum(polls), max(hour) FROM poll_count
      WHERE channel_id = ? AND hour > ? AND version > 0 GROUP BY version
      """, channel, now / 3_600_000 - Int64(policy.days) * 24
    ) { row in
      let last = row.get(2, as: Int64.self) * 3_600_000
      reasons[row.get(0), default: []].append(.reported(polls: row.get(1), last: last))
    }
    try each("SELECT version, author, reason FROM pin WHERE channel_id = ?", channel) { row in
      reasons[row.get(0), default: []].append(.pinned(author: row.get(1), reason: row.get(2)))
    }
    return reasons
  }

  /// Who reads just now what gc would remove.
  func leaseHolders(now: Int64) throws(StoreError) -> [String] {
    try all("SELECT holder FROM lease WHERE expires_at > ? ORDER BY taken_at", now) { $0.get(0) }
  }
}
