import Manifests

/// Where a page of a channel's timeline ends. What happened at one moment is in the order of what it is, then of its number.
package struct TimelinePlace: Hashable, Sendable {
  /// Milliseconds since 1970.
  let at: Int64
  let rank: Int64
  let number: Int64

  /// The place after everything.
  static let end = TimelinePlace(at: .max, rank: .max, number: .max)

  /// As clients send it back.
  package var text: String { "\(at)-\(rank)-\(number)" }

  init(at: Int64, rank: Int64, number: Int64) {
    self.at = at
    self.rank = rank
    self.number = number
  }

  /// Nil for a text that no page ended with.
  package init?(text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
    guard parts.count == 3, let at = parts[0], let rank = parts[1], let number = parts[2] else { return nil }
    self.init(at: at, rank: rank, number: number)
  }
}

/// Something that happened in a channel.
package struct TimelineEntry: Sendable {
  /// What it is.
  package enum Event: Sendable {
    case release(ReleaseRecord)
    case document(ChannelDocument, DocumentRecord)
    /// Any other act, as in the audit trail.
    case act(AuditRow)
  }

  package let event: Event
  /// Where a page that ends with it ends.
  package let place: TimelinePlace
}

extension Store {
  /// What happened in a channel, newest first: its releases, the versions of its documents, and other acts that concern it.
  /// - Parameters:
  ///   - limit: at most so many entries.
  ///   - before: where the page before ended; nil: the newest.
  package func timeline(of channel: ChannelInfo, limit: Int, before: TimelinePlace? = nil) throws(StoreError)
    -> [TimelineEntry]
  {
    let (place, limit) = (before ?? .end, max(0, limit))
    return try connections.reading { (db) throws(StoreError) in
      var entries = try db.releases(of: channel.id, before: place, limit: limit)
      entries += try db.documents(.policy, rank: 1, of: channel.id, before: place, limit: limit)
      entries += try db.documents(.prefetch, rank: 2, of: channel.id, before: place, limit: limit)
      entries += try db.acts(in: channel, before: place, limit: limit)
      entries.sort { $1.place < $0.place }
      return Array(entries.prefix(limit))
    }
  }
}

extension TimelinePlace: Comparable {
  package static func < (a: Self, b: Self) -> Bool {
    (a.at, a.rank, a.number) < (b.at, b.rank, b.number)
  }
}

extension Database {
  /// The highest number that an entry of a rank may have at the moment of a place, exclusive.
  private func bound(_ place: TimelinePlace, rank: Int64) -> Int64 {
    rank < place.rank ? .max : rank == place.rank ? place.number : .min
  }

  fileprivate func releases(of channel: Int64, before place: TimelinePlace, limit: Int) throws(StoreError)
    -> [TimelineEntry]
  {
    let rank: Int64 = 3
    // Versions and times rise together.
    let newest = try value(
      Int64.self,
      """
      SELECT version FROM release WHERE channel_id = ?1 AND (at < ?2 OR at = ?2 AND version < ?3)
      ORDER BY version DESC LIMIT 1
      """, channel, place.at, bound(place, rank: rank))
    guard let newest else { return [] }
    var entries: [TimelineEntry] = []
    for row in try ReleaseRow.newest(limit, of: channel, below: newest + 1, in: self) {
      entries.append(
        TimelineEntry(
          event: .release(try ReleaseRecord(row, in: self)),
          place: TimelinePlace(at: row.at, rank: rank, number: row.version.number)))
    }
    return entries
  }

  fileprivate func documents(
    _ document: ChannelDocument, rank: Int64, of channel: Int64, before place: TimelinePlace, limit: Int
  ) throws(StoreError) -> [TimelineEntry] {
    let records = try all(
      """
      SELECT version, kind, source, at, author, message, manifest_version, '' FROM document
      WHERE channel_id = ?1 AND name = ?2 AND (at < ?3 OR at = ?3 AND version < ?4)
      UNION ALL
      SELECT version, 'push', NULL, at, author, message, candidate, '' FROM candidate_prefetch_state
      WHERE channel_id = ?1 AND ?2 = 'prefetch' AND (at < ?3 OR at = ?3 AND version < ?4)
      ORDER BY 4 DESC, 1 DESC LIMIT ?5
      """, channel, document.rawValue, place.at, bound(place, rank: rank), limit, read: DocumentRecord.init)
    return records.map {
      TimelineEntry(
        event: .document(document, $0), place: TimelinePlace(at: $0.at, rank: rank, number: $0.version))
    }
  }

  /// Acts that are no release and no version of a document, and that whoever may read the channel may know.
  fileprivate func acts(in channel: ChannelInfo, before place: TimelinePlace, limit: Int) throws(StoreError)
    -> [TimelineEntry]
  {
    let rows = try all(
      """
      SELECT id, at, author, address, act, app, channel, parameters, result, hash FROM audit
      WHERE app = ?1 AND channel = ?2 AND (at < ?3 OR at = ?3 AND id < ?4)
        AND act IN ('rollout.set', 'rollout.pause', 'rollout.resume', 'rollout.complete', 'channel.create',
          'channel.freeze', 'channel.thaw', 'channel.set', 'channel.protect', 'channel.remove', 'schedule.add',
          'schedule.cancel', 'schedule.fail', 'approval.give', 'approval.reject', 'pin', 'unpin',
          'problem.acknowledge', 'problem.unacknowledge')
      ORDER BY at DESC, id DESC LIMIT ?5
      """, channel.app.text, channel.name.text, place.at, bound(place, rank: 0), limit, read: AuditRow.init)
    return rows.map {
      TimelineEntry(event: .act($0), place: TimelinePlace(at: $0.at, rank: 0, number: $0.id))
    }
  }
}
