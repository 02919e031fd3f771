import Manifests
import Values

extension Store {
  /// The most different samples that are kept of one version's page.
  package static let samplesOfPage = 20
  /// The most different samples that are kept of a channel: those of older versions go first.
  package static let samplesOfChannel = 500
  /// The most engines that are named with a sample.
  package static let enginesOfSample = 5
  /// How long after the last one of its kind a sample is forgotten, in days.
  package static let daysOfSamples: Int64 = 30

  /// Adds what devices reported, except for versions that aren't kept, for channels that have samples switched off, and for pages of hosts
  /// that aren't the channel's. The texts are stripped once more, by the URLs that the channel has.
  package func keep(_ samples: [ReportedSample]) throws(StoreError) {
    if samples.isEmpty { return }
    let now = clock()
    try connections.transaction { (db) throws(StoreError) in
      for sample in samples where try db.takesSamples(sample) {
        try db.keep(try db.stripped(sample), now: now)
      }
    }
  }

  /// Counts samples that weren't told apart, as those that aren't kept.
  package func countOthers(
    _ others: [(channel: Int64, version: ManifestVersion, count: Int)]
  ) throws(StoreError) {
    if others.isEmpty { return }
    let now = clock()
    try connections.transaction { (db) throws(StoreError) in
      for other in others where try db.takesSamples(of: other.channel, other.version) != nil {
        try db.addOthers(other.count, of: other.channel, other.version, page: "", now: now)
      }
    }
  }

  /// The samples of some versions.
  /// - Parameters:
  ///   - versions: the versions whose pages failed.
  ///   - page: only those of this page, as samples name it; nil for all.
  ///   - limit: the most samples to return.
  /// - Throws: `unknownVersion`.
  package func samples(
    of channel: ChannelInfo, versions: [ManifestVersion], page: String? = nil, limit: Int
  ) throws(StoreError) -> KeptSamples {
    try connections.reading { (db) throws(StoreError) in
      var samples: [KeptSample] = []
      var others = 0
      for version in Set(versions) {
        try db.requireKept(version, in: channel.id)
        samples += try db.samples(of: channel.id, version, page: page, limit: limit)
        others = others.addingClamped(try db.others(of: channel.id, version, page: page))
      }
      samples.sort { ($1.count, $1.lastAt, $0.sample.page) < ($0.count, $0.lastAt, $1.sample.page) }
      return KeptSamples(samples: Array(samples.prefix(limit)), others: others)
    }
  }
}

// MARK: - Forgetting

extension Database {
  /// Deletes all samples of a channel.
  /// - Returns: how many there were, counting those of one kind as one.
  func forgetSamples(of channel: Int64) throws(StoreError) -> Int {
    try run("DELETE FROM error_sample WHERE channel_id = ?", channel)
    let count = changedRows
    try run("DELETE FROM error_sample_others WHERE channel_id = ?", channel)
    return count
  }

  /// Deletes samples of which none came for 30 days.
  func forgetSamples(before now: Int64) throws(StoreError) {
    let last = now - Store.daysOfSamples * 86_400_000
    try run("DELETE FROM error_sample WHERE last_at < ?", last)
    try run("DELETE FROM error_sample_others WHERE last_at < ?", last)
  }
}

// MARK: - Which are kept

extension Database {
  /// The hosts of a channel that keeps samples of this version; nil if it keeps none.
  fileprivate func takesSamples(
    of channel: Int64, _ version: ManifestVersion
  ) throws(StoreError) -> HostList?? {
    try first(
      """
      SELECT c.hosts FROM channel AS c JOIN release AS r ON r.channel_id = c.id AND r.version = ?
      WHERE c.id = ? AND c.samples IS NULL AND c.removed_at IS NULL
      """, version.number, channel
    ) { (row) throws(StoreError) in try Stored.hosts(row.get(0, as: String?.self)) }
  }

  /// Whether the version is kept, and the page is one of the channel's.
  fileprivate func takesSamples(_ reported: ReportedSample) throws(StoreError) -> Bool {
    guard let hosts = try takesSamples(of: reported.channel, reported.version),
      let page = try? ResourceURL(reported.sample.page)
    else { return false }
    if let hosts, hosts.contains(page) { return true }
    // Listed pages, and those that a fallback covers, have the origin of a listed URL. `0` is the byte after `/`.
    let origin = "\(page.scheme)://\(page.authority)"
    return try value(
      Int64.self, "SELECT 1 FROM url WHERE channel_id = ? AND text >= ? AND text < ? LIMIT 1",
      reported.channel, origin + "/", origin + "0") != nil
  }

  /// Strips a sample's texts by the channel's URLs.
  fileprivate func stripped(_ reported: ReportedSample) throws(StoreError) -> ReportedSample {
    var failure: StoreError?
    let sample = reported.sample
    let stripped = ErrorSample(
      sample.kind, message: sample.message, page: sample.page, engine: sample.engine, stack: sample.stack
    ) { url in
      do throws(StoreError) {
        return try self.value(
          Int64.self, "SELECT 1 FROM url WHERE channel_id = ? AND text = ?", reported.channel, url) != nil
      } catch {
        failure = error
        return false
      }
    }
    if let failure { throw failure }
    var all = ReportedSample(channel: reported.channel, version: reported.version, sample: stripped)
    (all.engines, all.count) = (reported.engines, reported.count)
    return all
  }

  fileprivate func keep(_ reported: ReportedSample, now: Int64) throws(StoreError) {
    let (channel, version, sample) = (reported.channel, reported.version, reported.sample)
    let frame = sample.stack.first ?? ""
    let known = try first(
      """
      SELECT id, engines FROM error_sample
      WHERE channel_id = ? AND version = ? AND page = ? AND kind = ? AND message = ? AND frame = ?
      """, channel, version.number, sample.page, sample.kind.rawValue, sample.message, frame
    ) { row in (id: row.get(0, as: Int64.self), engines: row.get(1, as: String.self)) }
    if let known {
      return try add(reported, to: known.id, engines: SampleLines.read(known.engines), now: now)
    }
    guard try hasRoom(for: reported) else {
      return try addOthers(reported.count, of: channel, version, page: sample.page, now: now)
    }
    try run(
      """
      INSERT INTO error_sample
        (channel_id, version, page, kind, message, frame, stack, engines, count, first_at, last_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10)
      """, channel, version.number, sample.page, sample.kind.rawValue, sample.message, frame,
      SampleLines.text(sample.stack), SampleLines.text(reported.engines), reported.count, now)
  }

  private func add(
    _ reported: ReportedSample, to id: Int64, engines: [String], now: Int64
  ) throws(StoreError) {
    var all = reported
    all.engines = engines
    for engine in reported.engines { all.add(engine: engine, count: 0) }
    try run(
      """
      UPDATE error_sample SET count = min(count + ?2, ?3), engines = ?4, first_at = min(first_at, ?5), last_at = ?5
      WHERE id = ?1
      """, id, reported.count, Self.maxSamples, SampleLines.text(all.engines), now)
  }

  /// Whether another sample may be stored. One of an older version makes room for it, and for a listed page, if there is none, one of a
  /// page that isn't: what nobody published can be invented without end.
  private func hasRoom(for reported: ReportedSample) throws(StoreError) -> Bool {
    let (channel, version) = (reported.channel, reported.version)
    let ofPage =
      try value(
        Int.self, "SELECT count(*) FROM error_sample WHERE channel_id = ? AND version = ? AND page = ?",
        channel, version.number, reported.sample.page) ?? 0
    guard ofPage < Store.samplesOfPage else { return false }
    let all = try value(Int.self, "SELECT count(*) FROM error_sample WHERE channel_id = ?", channel) ?? 0
    guard all >= Store.samplesOfChannel else { return true }
    var oldest = try first(
      """
      SELECT id, version, page FROM error_sample WHERE channel_id = ? AND version < ?
      ORDER BY version, count, last_at LIMIT 1
      """, channel, version.number
    ) { row in
      (id: row.get(0, as: Int64.self), version: row.version(1), page: row.get(2, as: String.self))
    }
    if oldest == nil { oldest = try unlisted(for: reported) }
    guard let oldest else { return false }
    try run("DELETE FROM error_sample WHERE id = ?", oldest.id)
    // Nothing is kept of pages without samples, or their number would have no limit.
    try run(
      """
      DELETE FROM error_sample_others WHERE channel_id = ?1 AND version = ?2 AND page = ?3 AND NOT EXISTS (
        SELECT 1 FROM error_sample WHERE channel_id = ?1 AND version = ?2 AND page = ?3)
      """, channel, oldest.version.number, oldest.page)
    return true
  }

  /// The sample of an unlisted page, of no newer version, that makes room for one of a listed page; nil if there is none, or the new one's page isn't listed.
  private func unlisted(
    for reported: ReportedSample
  ) throws(StoreError) -> (id: Int64, version: ManifestVersion, page: String)? {
    try first(
      """
      SELECT s.id, s.version, s.page FROM error_sample AS s
      WHERE s.channel_id = ?1 AND s.version <= ?3
      AND EXISTS (SELECT 1 FROM url WHERE channel_id = ?1 AND text = ?2)
      AND NOT EXISTS (SELECT 1 FROM url WHERE channel_id = ?1 AND text = s.page)
      ORDER BY s.count, s.last_at LIMIT 1
      """, reported.channel, reported.sample.page, reported.version.number
    ) { row in
      (id: row.get(0), version: row.version(1), page: row.get(2))
    }
  }

  /// Counts samples that aren't kept: with their page, if another one of it is.
  fileprivate func addOthers(
    _ count: Int, of channel: Int64, _ version: ManifestVersion, page: String, now: Int64
  ) throws(StoreError) {
    try run(
      """
      INSERT INTO error_sample_others (channel_id, version, page, count, last_at)
      VALUES (?1, ?2, CASE WHEN EXISTS (
        SELECT 1 FROM error_sample WHERE channel_id = ?1 AND version = ?2 AND page = ?3) THEN ?3 ELSE '' END,
        min(?4, ?5), ?6)
      ON CONFLICT DO UPDATE SET count = min(count + excluded.count, ?5), last_at = excluded.last_at
      """, channel, version.number, page, count, Self.maxSamples, now)
  }

  /// The limit of a count: numbers in JSON are integers up to 2^53−1 (docs/protocol.md §1).
  private static let maxSamples: Int64 = 1 << 53 - 1
}

// MARK: - Reading

extension Database {
  fileprivate func samples(
    of channel: Int64, _ version: ManifestVersion, page: String?, limit: Int
  ) throws(StoreError) -> [KeptSample] {
    try all(
      """
      SELECT kind, message, page, stack, engines, count, first_at, last_at FROM error_sample
      WHERE channel_id = ?1 AND version = ?2 AND (?3 IS NULL OR page = ?3)
      ORDER BY count DESC, last_at DESC, page LIMIT ?4
      """, channel, version.number, page, limit
    ) { row in
      let kind =
        ErrorSample.Kind(rawValue: row.get(0))
        ?? row.damaged("error sample of kind \(row.get(0, as: String.self))", .script)
      let engines = SampleLines.read(row.get(4))
      let sample = ErrorSample(
        stored: kind, message: row.get(1), page: row.get(2), engine: engines.first ?? "",
        stack: SampleLines.read(row.get(3)))
      return KeptSample(
        version: version, sample: sample, engines: engines, count: row.get(5), firstAt: row.get(6),
        lastAt: row.get(7))
    }
  }

  fileprivate func others(
    of channel: Int64, _ version: ManifestVersion, page: String?
  ) throws(StoreError) -> Int {
    try value(
      Int.self,
      """
      SELECT coalesce(sum(count), 0) FROM error_sample_others
      WHERE channel_id = ?1 AND version = ?2 AND (?3 IS NULL OR page = ?3)
      """, channel, version.number, page) ?? 0
  }
}

/// Lists of texts in one column: stripped texts have no line breaks.
private enum SampleLines {
  static func text(_ lines: [String]) -> String { lines.joined(separator: "\n") }

  static func read(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }
}
