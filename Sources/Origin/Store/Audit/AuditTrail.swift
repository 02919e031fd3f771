import Manifests
import System

/// Selects rows of the audit trail; nil members match any row.
package struct AuditFilter: Sendable {
  /// The author.
  package var author: String?
  /// The kind of act, or its first part: `token` for `token.create` and `token.revoke`.
  package var act: String?
  /// The app concerned.
  package var app: String?
  /// The channel concerned.
  package var channel: String?
  /// Milliseconds since 1970, inclusive.
  package var since: Int64?
  /// Milliseconds since 1970, exclusive.
  package var until: Int64?

  /// Creates a filter that matches all rows.
  package init() {}
}

extension Store {
  /// The newest row of the audit trail.
  package func auditHead() throws(StoreError) -> AuditHead {
    try connections.reading { (db) throws(StoreError) in try db.auditHead() }
  }

  /// The newest `limit` rows below `before`, newest first.
  package func auditLog(limit: Int = 50, before: Int64? = nil) throws(StoreError) -> [AuditRow] {
    try connections.reading { (db) throws(StoreError) in
      try db.auditRows(before: before ?? .max, limit: max(0, limit))
    }
  }

  /// The newest `limit` rows below `before` that match a filter, newest first.
  package func auditLog(_ filter: AuditFilter, limit: Int, before: Int64? = nil) throws(StoreError)
    -> [AuditRow]
  {
    try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT id, at, author, address, act, app, channel, parameters, result, hash FROM audit
        WHERE id < ?1 AND (?3 IS NULL OR author = ?3)
          AND (?4 IS NULL OR act = ?4 OR substr(act, 1, length(?4) + 1) = ?4 || '.')
          AND (?5 IS NULL OR app = ?5) AND (?6 IS NULL OR channel = ?6)
          AND (?7 IS NULL OR at >= ?7) AND (?8 IS NULL OR at < ?8)
        ORDER BY id DESC LIMIT ?2
        """, before ?? .max, max(0, limit), filter.author, filter.act, filter.app, filter.channel,
        filter.since,
        filter.until, read: AuditRow.init)
    }
  }

  /// The row of a release; nil if the release came with a restore.
  package func row(of release: ReleaseRecord, in channel: ChannelInfo) throws(StoreError) -> AuditRow? {
    try connections.reading { (db) throws(StoreError) in
      try db.first(
        """
        SELECT id, at, author, address, act, app, channel, parameters, result, hash FROM audit WHERE app = ? AND channel = ? AND at >= ? AND act IN (?, ?)
          AND json_extract(result, '$.version') = ? ORDER BY at LIMIT 1
        """, channel.app.text, channel.name.text, release.at, release.kind.rawValue,
        release.kind == .rollback ? "rollout.halt" : release.kind.rawValue, release.version.text,
        read: AuditRow.init)
    }
  }

  /// Up to `limit` rows after row `after`, oldest first: a page of an export.
  package func auditRows(after: Int64, limit: Int) throws(StoreError) -> [AuditRow] {
    try connections.reading { (db) throws(StoreError) in try db.auditRows(after: after, limit: max(0, limit))
    }
  }

  /// Verifies the whole trail; returns what is wrong with it, and its newest correct row.
  package func verifyAudit(receipts: [AuditHead] = []) throws(StoreError) -> (AuditChain.Break?, AuditHead) {
    var chain = AuditChain(receipts: receipts)
    while chain.found == nil {
      let rows = try auditRows(after: chain.head.row, limit: 1000)
      if rows.isEmpty { break }
      for row in rows { chain.append(row) }
    }
    return (chain.finish(), chain.head)
  }
}

extension Database {
  /// The newest row of the trail.
  func auditHead() throws(StoreError) -> AuditHead {
    try first("SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1") {
      AuditHead(row: $0.get(0), hash: $0.hash(1))
    } ?? .none
  }

  /// Writes an act to the trail, and what webhooks are to be told of it, in the transaction that carries it out, so that
  /// none exists without the others.
  @discardableResult
  func audit(_ act: AuditEvent, by actor: Actor, now: Int64) throws(StoreError) -> AuditHead {
    let before = try auditHead()
    let id = before.row + 1
    var asked = act.parameters
    if let reason = actor.reason, var members = asked.object, members["reason"] == nil {
      members["reason"] = .string(reason)
      asked = .object(members)
    }
    let parameters = String(decoding: asked.canonical, as: UTF8.self)
    let result = String(decoding: act.result.canonical, as: UTF8.self)
    let hash = AuditRow(
      id: id, at: now, author: actor.name, address: actor.address, act: act.name, app: act.app?.text,
      channel: act.channel?.text, parameters: parameters, result: result, hash: before.hash
    ).hash(after: before.hash)
    try run(
      """
      INSERT INTO audit (id, at, author, address, act, app, channel, parameters, result, hash)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, id, now, actor.name, actor.address, act.name, act.app?.text, act.channel?.text, parameters, result,
      hash)
    let head = AuditHead(row: id, hash: hash)
    try announce(act.messages(by: actor, receipt: head), now: now)
    return head
  }

  func auditRows(after id: Int64, limit: Int) throws(StoreError) -> [AuditRow] {
    try all(
      """
      SELECT id, at, author, address, act, app, channel, parameters, result, hash FROM audit
      WHERE id > ? ORDER BY id LIMIT ?
      """, id, limit, read: AuditRow.init)
  }

  func auditRows(before id: Int64, limit: Int) throws(StoreError) -> [AuditRow] {
    try all(
      """
      SELECT id, at, author, address, act, app, channel, parameters, result, hash FROM audit
      WHERE id < ? ORDER BY id DESC LIMIT ?
      """, id, limit, read: AuditRow.init)
  }
}

extension AuditRow {
  /// - Parameter row: id, at, author, address, act, app, channel, parameters, result, hash.
  init(_ row: Statement) {
    self.init(
      id: row.get(0), at: row.get(1), author: row.get(2), address: row.get(3), act: row.get(4),
      app: row.get(5),
      channel: row.get(6), parameters: row.get(7), result: row.get(8), hash: row.hash(9))
  }
}

extension Statement {
  /// The hash of a row of the trail. A hash of another size, which only a damaged file holds, reads as zeros, which no row has.
  fileprivate func hash(_ column: Int32) -> SHA256 { withBytes(column) { SHA256(bytes: $0) } ?? .zero }
}
