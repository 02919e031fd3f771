import Values

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
