import Manifests

/// What went wrong on a device.
package enum FailureReason: String, Sendable, CaseIterable {
  /// A file or document couldn't be fetched.
  case download
  /// The server answered that it doesn't exist.
  case notFound = "not-found"
  /// The bytes didn't have the size or hash in the manifest.
  case integrity
  /// A patch or delta didn't result in the promised digest.
  case patch
  /// A document couldn't be parsed.
  case manifest
  /// The device had no space.
  case storage
  case timeout
  case other
  // The step of a device's check that failed (docs/protocol.md §14, T-6).
  case trustRoot = "trust-root"
  case trustHead = "trust-head"
  case trustEntry = "trust-entry"
  case trustContent = "trust-content"
  case trustScope = "trust-scope"
  case trustFloor = "trust-floor"
  case trustPolicy = "trust-policy"
  case trustPrefetch = "trust-prefetch"
  /// The newest head that the device has seen has expired.
  case trustStale = "trust-stale"
  /// The device went back from the version by itself; the other three say why, and aren't sent as reasons.
  case returned
  /// Its first pages failed.
  case returnedPage = "returned-page"
  /// It ended the app's process at its start.
  case returnedStart = "returned-start"
  /// The app refused it.
  case returnedRejected = "returned-rejected"

  /// What devices send.
  package static let sent = allCases.filter {
    ![.returnedPage, .returnedStart, .returnedRejected].contains($0)
  }

  /// Reads what a device sent, with the member `cause` of the reason `returned`; nil for anything that isn't sent.
  package init?(sent reason: String, cause: String?) {
    guard let reason = Self(rawValue: reason), Self.sent.contains(reason) else { return nil }
    self = reason == .returned ? cause.flatMap { Self(rawValue: "returned-\($0)") } ?? reason : reason
  }
}

/// Failures of one kind that devices reported.
package struct FailureCount: Hashable, Sendable {
  /// The channel's id.
  package let channel: Int64
  /// The version that the device had or was updating to; as in `PollCount`.
  package let version: Int64
  /// What went wrong.
  package let reason: FailureReason
  /// The URL; empty if none was reported, or it isn't one of the channel's.
  package let url: String
  /// The number of failures.
  package let failures: Int

  /// Creates a count.
  package init(channel: Int64, version: Int64, reason: FailureReason, url: String, failures: Int) {
    self.channel = channel
    self.version = version
    self.reason = reason
    self.url = url
    self.failures = failures
  }
}

extension Store {
  /// The most URLs that are counted separately for each version, reason and day; others are counted together.
  package static let urlsOfFailures = 20

  /// Adds failures to the current day and hour.
  package func count(_ failures: [FailureCount]) throws(StoreError) {
    if failures.isEmpty { return }
    let now = clock()
    let day = now / 86_400_000
    try connections.transaction { (db) throws(StoreError) in
      for failure in failures {
        try db.run(
          """
          INSERT INTO failure_hour (channel_id, hour, reason, failures) VALUES (?, ?, ?, ?)
          ON CONFLICT DO UPDATE SET failures = failures + excluded.failures
          """, failure.channel, now / 3_600_000, failure.reason.rawValue, failure.failures)
        let version = try db.counted(failure.version, in: failure.channel)
        try db.run(
          """
          INSERT INTO failure_count (channel_id, day, version, reason, url, failures) VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT DO UPDATE SET failures = failures + excluded.failures
          """, failure.channel, day, version, failure.reason.rawValue,
          try db.countedURL(failure, version, day), failure.failures)
      }
    }
  }

  /// The failures of the last `days` days, newest version first, then the most frequent.
  package func failures(of channel: ChannelInfo, days: Int) throws(StoreError) -> [FailureCount] {
    let first = clock() / 86_400_000 - Int64(days) + 1
    return try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT version, reason, url, sum(failures) AS total FROM failure_count WHERE channel_id = ? AND day >= ?
        GROUP BY version, reason, url ORDER BY version DESC, total DESC, reason, url
        """, channel.id, first
      ) { row in
        FailureCount(
          channel: channel.id, version: row.get(0), reason: FailureReason(rawValue: row.get(1)) ?? .other,
          url: row.get(2), failures: row.get(3))
      }
    }
  }
}

extension Database {
  /// The URL that a failure is counted under: empty if it isn't one of the channel's or there are too many.
  fileprivate func countedURL(_ failure: FailureCount, _ version: Int64, _ day: Int64) throws(StoreError)
    -> String
  {
    if failure.url.isEmpty { return "" }
    let isKnown =
      try value(
        Int64.self, "SELECT 1 FROM url WHERE channel_id = ? AND text = ?", failure.channel, failure.url)
      != nil
    guard isKnown else { return "" }
    let others =
      try value(
        Int.self,
        """
        SELECT count(*) FROM failure_count
        WHERE channel_id = ? AND day = ? AND version = ? AND reason = ? AND url <> ?
        """, failure.channel, day, version, failure.reason.rawValue, failure.url) ?? 0
    return others < Store.urlsOfFailures ? failure.url : ""
  }
}
