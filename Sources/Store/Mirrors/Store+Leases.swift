import Platform

/// A reader's claim that nothing be removed while it reads (DESIGN §4).
package struct Lease: Hashable, Sendable {
  package let id: String
  package let holder: String
  /// Milliseconds since 1970.
  package let takenAt: Int64
  package let expiresAt: Int64
}

extension Store {
  /// Seconds for which a lease may be asked for at once; its holder renews it.
  package static let leaseSeconds = 10...3600

  /// Takes a lease. It ends by itself after `seconds`, so that a reader that died holds nothing for long.
  package func takeLease(holder: String, seconds: Int) throws(StoreError) -> Lease {
    let now = clock()
    let lease = Lease(
      id: Hex.encode(Secrets.random(16).span.bytes), holder: holder, takenAt: now,
      expiresAt: now + Int64(seconds) * 1000)
    try connections.writing { (db) throws(StoreError) in
      try db.write { () throws(StoreError) in
        try db.run("DELETE FROM lease WHERE expires_at <= ?", now)
        try db.run(
          "INSERT INTO lease (id, holder, taken_at, expires_at) VALUES (?, ?, ?, ?)", lease.id, holder, now,
          lease.expiresAt)
      }
    }
    return lease
  }

  /// Lets a lease last `seconds` from now.
  /// - Throws: `unknownLease` where it ended.
  package func renewLease(_ id: String, seconds: Int) throws(StoreError) {
    let now = clock()
    let isLive = try connections.writing { (db) throws(StoreError) in
      try db.value(
        Int64.self, "UPDATE lease SET expires_at = ? WHERE id = ? AND expires_at > ? RETURNING 1",
        now + Int64(seconds) * 1000, id, now) != nil
    }
    guard isLive else { throw .unknownLease(id) }
  }

  /// Ends a lease; one that ended already is no error.
  package func endLease(_ id: String) throws(StoreError) {
    try connections.writing { (db) throws(StoreError) in try db.run("DELETE FROM lease WHERE id = ?", id) }
  }

  /// The leases that last: while there is one, nothing that a version names may be removed.
  package func leases() throws(StoreError) -> [Lease] {
    let now = clock()
    return try connections.reading { (db) throws(StoreError) in
      try db.all(
        "SELECT id, holder, taken_at, expires_at FROM lease WHERE expires_at > ? ORDER BY taken_at", now
      ) {
        Lease(id: $0.get(0), holder: $0.get(1), takenAt: $0.get(2), expiresAt: $0.get(3))
      }
    }
  }
}
