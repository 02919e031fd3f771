import Platform

extension Store {
  /// Blobs whose bytes were found damaged or gone, and that wait to be sent again; normally none.
  package func damagedBlobs() throws(StoreError) -> [SHA256] {
    try connections.reading { (db) throws(StoreError) in
      try db.all("SELECT sha256 FROM blob WHERE quarantined_at IS NOT NULL ORDER BY sha256") { row in
        row.get(0, as: SHA256.self)
      }
    }
  }
}
