import Platform

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

  /// Up to `limit` rows after row `after`, oldest first: a page of an export.
  package func auditRows(after: Int64, limit: Int) throws(StoreError) -> [AuditRow] {
    try connections.reading { (db) throws(StoreError) in try db.auditRows(after: after, limit: max(0, limit))
    }
  }

  /// Follows the whole trail; what is wrong with it, and the newest row that is right.
  package func verifyAudit(receipts: [AuditHead] = []) throws(StoreError) -> (AuditChain.Break?, AuditHead) {
    var chain = AuditChain(receipts: receipts)
    while chain.found == nil {
      let rows = try auditRows(after: chain.head.row, limit: 1000)
      if rows.isEmpty { break }
      for row in rows { chain.take(row) }
    }
    return (chain.finish(), chain.head)
  }
}
