import Platform

extension Store {
  /// Tells this data folder from every other that may answer at the same address; never changes.
  ///
  /// Made of the random id of the folder's first token, whose row stays when it is revoked.
  package func identity() throws(StoreError) -> String {
    let id = try connections.reading { (db) throws(StoreError) in
      try db.value(String.self, "SELECT id FROM token ORDER BY created_at, id LIMIT 1")
    }
    return String(SHA256.of(Array((id ?? "").utf8)).hex.prefix(32))
  }
}
