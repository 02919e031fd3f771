import Manifests

/// `GET /audit`: rows of the trail, the newest first; `GET /audit/export`: the oldest first.
package struct AuditRows: Codable, Sendable {
  /// As the trail has them: each row's hash is made of these bytes.
  package let rows: [JSONValue]

  package init(rows: [JSONValue]) { self.rows = rows }
}

/// `GET /audit/verify`: whether each row of the trail follows the one before it.
package struct AuditVerification: Codable, Sendable {
  /// The newest row that is right, as receipts have it.
  package let head: String
  /// Rows that are right.
  package let rows: Int64
  /// What is wrong, in a sentence, and the row where it shows; nil: nothing.
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
  /// - Parameter before: only rows below this one.
  package func audit(limit: Int, before: Int? = nil) throws(OriginError) -> OriginAnswer<AuditRows> {
    try get("audit?limit=\(limit)\(before.map { "&before=\($0)" } ?? "")")
  }

  /// A part of the whole trail.
  /// - Parameter after: only rows above this one.
  package func auditExport(after: Int64) throws(OriginError) -> AuditRows {
    var call = OriginCall("GET", "audit/export?after=\(after)")
    call.limit = 256 << 20
    return try send(call).value
  }
}
