import Manifests
import System
import Values

extension Database {
  /// The newest version of a document; nil if there is none.
  func newest(_ document: ChannelDocument, of channel: Int64) throws(StoreError) -> DocumentRecord? {
    try first(
      """
      SELECT version, kind, source, at, author, message, manifest_version, content FROM document
      WHERE channel_id = ? AND name = ? ORDER BY version DESC LIMIT 1
      """, channel, document.rawValue, read: DocumentRecord.init)
  }

  /// The version that the next change of a document gets.
  func nextVersion(of document: ChannelDocument, in channel: Int64) throws(StoreError) -> Int64 {
    max(try highest(document, of: channel) + 1, try leastNext(document, of: channel))
  }

  /// The highest version of a document, whether or not it was a candidate's only; 0 if there is none.
  func highest(_ document: ChannelDocument, of channel: Int64) throws(StoreError) -> Int64 {
    (try value(
      Int64?.self,
      """
      SELECT max(version) FROM (
        SELECT version FROM document WHERE channel_id = ?1 AND name = ?2
        UNION ALL SELECT version FROM candidate_prefetch WHERE channel_id = ?1 AND ?2 = 'prefetch')
      """, channel, document.rawValue) ?? nil) ?? 0
  }

  /// The lowest version that the next change of a document may get; a restore leaves a gap above what it knows.
  func leastNext(_ document: ChannelDocument, of channel: Int64) throws(StoreError) -> Int64 {
    try value(
      Int64.self, "SELECT least_next FROM document_counter WHERE channel_id = ? AND name = ?", channel,
      document.rawValue) ?? 1
  }

  /// Raises the lowest version that the next change of a document may get.
  func raiseNext(_ document: ChannelDocument, of channel: Int64, to version: Int64) throws(StoreError) {
    try run(
      "INSERT INTO document_counter (channel_id, name, least_next) VALUES (?, ?, ?)", channel,
      document.rawValue, version)
  }

  /// Raises the lowest next version of every channel's documents by a gap above what is known.
  func leaveDocumentGaps(_ size: Int64) throws(StoreError) {
    try run(
      """
      INSERT INTO document_counter (channel_id, name, least_next)
      SELECT c.id, n.name, ? + max(coalesce(k.least_next, 1) - 1, coalesce((SELECT max(version) FROM document AS d
        WHERE d.channel_id = c.id AND d.name = n.name), 0), CASE n.name WHEN 'prefetch' THEN coalesce((
        SELECT max(version) FROM candidate_prefetch AS p WHERE p.channel_id = c.id), 0) ELSE 0 END)
      FROM channel AS c JOIN (SELECT 'policy' AS name UNION SELECT 'prefetch') AS n
      LEFT JOIN document_counter AS k ON k.channel_id = c.id AND k.name = n.name
      WHERE true ON CONFLICT DO UPDATE SET least_next = excluded.least_next
      """, size)
  }

  /// A version of a document, or of a candidate's prefetch config; nil if it isn't kept.
  func document(_ document: ChannelDocument, of channel: Int64, at version: Int64) throws(StoreError)
    -> DocumentRecord?
  {
    let record = try first(
      """
      SELECT version, kind, source, at, author, message, manifest_version, content FROM document
      WHERE channel_id = ? AND name = ? AND version = ?
      """, channel, document.rawValue, version, read: DocumentRecord.init)
    if record == nil, document == .prefetch { return try candidatePrefetch(of: channel, at: version) }
    return record
  }

  /// The newest `limit` versions of a document below `before`, newest first, without their contents.
  func documents(_ document: ChannelDocument, of channel: Int64, before: Int64, limit: Int) throws(StoreError)
    -> [DocumentRecord]
  {
    try all(
      """
      SELECT version, kind, source, at, author, message, manifest_version, '', NULL FROM document
      WHERE channel_id = ?1 AND name = ?2 AND version < ?3
      UNION ALL
      SELECT version, 'push', NULL, at, author, message, candidate, '', state
      FROM candidate_prefetch_state WHERE channel_id = ?1 AND ?2 = 'prefetch' AND version < ?3
      ORDER BY version DESC LIMIT ?4
      """, channel, document.rawValue, before, limit, read: DocumentRecord.withRollout)
  }

  /// The policy version that last decided whether interception is on; changes of bypasses and scripts don't.
  func lastSwitch(of channel: Int64) throws(StoreError) -> DocumentRecord? {
    try first(
      """
      SELECT version, kind, source, at, author, message, manifest_version, '' FROM document
      WHERE channel_id = ? AND name = 'policy' AND kind NOT IN ('bypass', 'script') ORDER BY version DESC LIMIT 1
      """, channel, read: DocumentRecord.init)
  }

  /// Inserts a version of a document.
  func insert(_ record: DocumentRecord, _ document: ChannelDocument, of channel: Int64) throws(StoreError) {
    try run(
      """
      INSERT INTO document (channel_id, name, version, kind, source, at, author, message, manifest_version, content)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, channel, document.rawValue, record.version, record.kind.rawValue, record.source, record.at,
      record.author, record.message, record.manifestVersion.number,
      String(decoding: record.content, as: UTF8.self))
  }

  /// Deletes all versions but the newest of each document.
  func deleteOlderDocuments(of channel: Int64) throws(StoreError) {
    try run(
      """
      DELETE FROM document WHERE channel_id = ?1 AND version < (SELECT max(version) FROM document AS newest
        WHERE newest.channel_id = ?1 AND newest.name = document.name)
      """, channel)
  }

  /// A channel's documents and settings besides its manifest.
  func extras(of channel: Int64) throws(StoreError) -> ChannelExtras {
    var extras = ChannelExtras()
    extras.policy = try newest(.policy, of: channel)
    extras.prefetch = try newest(.prefetch, of: channel)
    extras.candidatePrefetch = try candidatePrefetch(of: channel)
    let settings = try first(
      """
      SELECT poll_interval, reports, (SELECT max(number) FROM trust_root WHERE app_id = channel.app_id),
        samples IS NULL
      FROM channel WHERE id = ?
      """, channel
    ) { row in
      (
        row.get(0, as: Int?.self), row.get(1, as: Int?.self), row.get(2, as: Int64?.self),
        row.get(3, as: Int.self) == 1
      )
    }
    (extras.interval, extras.reports, extras.root, extras.takesSamples) = settings ?? (nil, nil, nil, true)
    if extras.root != nil, let trust = try trust(ofChannel: channel) {
      extras.prefetchTrust = try extras.prefetch.flatMap { (config) throws(StoreError) in
        try trust.statement(forPrefetch: config.content, in: self)?.envelope.bytes
      }
      extras.candidatePrefetchTrust = try extras.candidatePrefetch.flatMap { (config) throws(StoreError) in
        try trust.statement(forPrefetch: config.content, in: self)?.envelope.bytes
      }
    }
    return extras
  }
}

// Scripts that policies refer to by their hash (`policy_script`).
extension Database {
  /// Stores a script.
  /// - Returns: whether it is new.
  func keepScript(_ bytes: [UInt8], _ sha256: SHA256, now: Int64) throws(StoreError) -> Bool {
    // gc leaves a script alone that was stored a moment ago, whether or not it was there before.
    try run("UPDATE policy_script SET stored_at = ? WHERE sha256 = ?", now, sha256)
    return try value(
      Int64.self,
      """
      INSERT INTO policy_script (sha256, bytes, stored_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1
      """, sha256, bytes, now) != nil
  }

  /// A script's bytes; nil if it isn't stored.
  func script(_ sha256: SHA256) throws(StoreError) -> [UInt8]? {
    try value([UInt8].self, "SELECT bytes FROM policy_script WHERE sha256 = ?", sha256)
  }
}

extension DocumentRecord {
  /// Reads a row that has, last, the state of the rollout that it went along with; NULL for a config of the channel's.
  static func withRollout(_ row: Statement) throws(StoreError) -> DocumentRecord {
    var record = try DocumentRecord(row)
    record.rollout = row.get(8)
    return record
  }

  init(_ row: Statement) throws(StoreError) {
    guard let kind = Kind(rawValue: row.get(1)) else { throw .corruptRow(row.get(1)) }
    self.init(
      version: row.get(0), kind: kind, source: row.get(2), at: row.get(3), author: row.get(4),
      message: row.get(5), manifestVersion: row.version(6),
      content: Array(row.get(7, as: String.self).utf8))
  }

  fileprivate init(
    _ version: Int64, _ request: DocumentRequest, _ content: [UInt8], after newest: DocumentRecord?,
    at manifestVersion: ManifestVersion, now: Int64
  ) {
    self.init(
      version: version, kind: request.kind, source: request.source,
      // Times never go back, even if the clock does.
      at: max(now, newest?.at ?? 0), author: request.author, message: request.message,
      manifestVersion: manifestVersion, content: content)
  }
}

extension Database {
  /// Writes a new version of a document and its row in the audit trail. `more` adds parameters to that row.
  func make(
    _ request: DocumentRequest, _ content: [UInt8], after newest: DocumentRecord?, in channel: ChannelInfo,
    at manifestVersion: ManifestVersion, now: Int64, more: [JSONObject.Member] = []
  ) throws(StoreError) -> DocumentRecord {
    let record = DocumentRecord(
      try nextVersion(of: request.document, in: channel.id), request, content, after: newest,
      at: manifestVersion, now: now)
    try insert(record, request.document, of: channel.id)
    var act = request.act(record)
    act.parameters = .object(JSONObject((act.parameters.object?.members ?? []) + more))
    var result = act.result.object ?? JSONObject()
    result["changes"] = DocumentDifference(request.document, from: newest, to: record).json
    act.result = .object(result)
    try audit(act, by: Actor(name: request.author, address: request.address), now: now)
    return record
  }
}
