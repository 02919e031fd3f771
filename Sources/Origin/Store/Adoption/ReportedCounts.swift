import Manifests

/// What devices counted while they had one version of a channel.
package struct ReportedCounts: Hashable, Sendable {
  /// The channel's id.
  package let channel: Int64
  /// The version that the devices had.
  package let version: ManifestVersion
  /// The sums over all devices.
  package let counts: DeviceCounts

  /// Creates counts of a version.
  package init(channel: Int64, version: ManifestVersion, counts: DeviceCounts) {
    self.channel = channel
    self.version = version
    self.counts = counts
  }
}

extension Store {
  /// The limit of a count: numbers in JSON are integers up to 2^53−1 (docs/protocol.md §1).
  private static let maxCount: Int64 = 1 << 53 - 1

  /// Adds what devices counted, except for versions that aren't kept. Counts are deleted with their version.
  package func count(_ reports: [ReportedCounts]) throws(StoreError) {
    if reports.isEmpty { return }
    try connections.transaction { (db) throws(StoreError) in
      for report in reports {
        guard try db.isRelease(report.version, of: report.channel) else { continue }
        for (count, times) in report.counts.all {
          try db.run(
            """
            INSERT INTO device_count (channel_id, version, name, count) VALUES (?1, ?2, ?3, min(?4, ?5))
            ON CONFLICT DO UPDATE SET count = min(count + excluded.count, ?5)
            """, report.channel, report.version.number, count.name, times, Self.maxCount)
        }
      }
    }
  }

  /// What devices counted, newest version first.
  /// - Parameters:
  ///   - channel: the channel.
  ///   - limit: the most versions to return.
  package func reported(of channel: ChannelInfo, limit: Int) throws(StoreError) -> [ReportedCounts] {
    let rows = try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT version, name, count FROM device_count WHERE channel_id = ?1 AND version IN (
          SELECT DISTINCT version FROM device_count WHERE channel_id = ?1 ORDER BY version DESC LIMIT ?2)
        """, channel.id, limit
      ) { (version: $0.version(0), name: $0.get(1, as: String.self), count: $0.get(2, as: Int64.self)) }
    }
    var reported: [ManifestVersion: DeviceCounts] = [:]
    for row in rows {
      // Only a newer program knows this name.
      guard let count = DeviceCount(name: row.name) else { continue }
      reported[row.version, default: DeviceCounts()].add(count, row.count)
    }
    return reported.sorted { $0.key > $1.key }.map {
      ReportedCounts(channel: channel.id, version: $0.key, counts: $0.value)
    }
  }
}

extension Database {
  fileprivate func isRelease(_ version: ManifestVersion, of channel: Int64) throws(StoreError) -> Bool {
    try value(
      Int64.self, "SELECT 1 FROM release WHERE channel_id = ? AND version = ?", channel, version.number)
      != nil
  }
}
