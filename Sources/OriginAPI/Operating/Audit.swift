import Manifests

/// `GET /audit`: rows of the trail, newest first; `GET /audit/export`: oldest first.
package struct AuditRows: Codable, Sendable {
  /// As stored in the trail: each row's hash is computed over these bytes.
  package let rows: [JSONValue]

  package init(rows: [JSONValue]) { self.rows = rows }
}

/// `GET /audit/verify`: whether each row of the trail follows the one before it.
package struct AuditVerification: Codable, Sendable {
  /// The newest valid row, as written in receipts.
  package let head: String
  /// The number of valid rows.
  package let rows: Int64
  /// What is wrong, as a sentence, and the row where it shows; nil if the trail is intact.
  @OrNull package var broken: String?
  @OrNull package var row: Int64?

  package init(head: String, rows: Int64, broken: String?, row: Int64?) {
    self.head = head
    self.rows = rows
    self.broken = broken
    self.row = row
  }
}

extension OriginClient {
  /// Returns the newest `limit` rows of the trail; if `before` is given, only rows below it.
  package func audit(limit: Int, before: Int? = nil) throws(OriginError) -> OriginAnswer<AuditRows> {
    try get("audit?limit=\(limit)\(before.map { "&before=\($0)" } ?? "")")
  }

  /// Returns the next part of the whole trail, which starts above the row `after`.
  package func auditExport(after: Int64) throws(OriginError) -> AuditRows {
    var call = OriginCall("GET", "audit/export?after=\(after)")
    call.limit = 256 << 20
    return try send(call).value
  }
}
