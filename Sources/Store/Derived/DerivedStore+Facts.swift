import Manifests
import Platform

extension DerivedStore {
  /// The stored sketches of blobs, as they were kept; those that were never made are left out.
  package func sketches(of digests: [SHA256], cut: Int) throws(StoreError) -> [SHA256: [UInt8]] {
    try work { (db) throws(StoreError) in
      var found: [SHA256: [UInt8]] = [:]
      for sha256 in digests {
        found[sha256] = try db.value(
          [UInt8].self, "SELECT hashes FROM sketch WHERE sha256 = ? AND cut = ?", sha256, cut)
      }
      return found
    }
  }

  package func keep(sketches: [SHA256: [UInt8]], cut: Int) throws(StoreError) {
    if sketches.isEmpty { return }
    try work { (db) throws(StoreError) in
      try db.write { () throws(StoreError) in
        for (sha256, hashes) in sketches {
          try db.run(
            "INSERT OR REPLACE INTO sketch (sha256, cut, hashes) VALUES (?, ?, ?)", sha256, cut, hashes)
        }
      }
    }
  }

  /// Bytes of a blob's best plain body; nil where that was never worked out.
  package func plainSize(of sha256: SHA256, coded: Bool) throws(StoreError) -> Int64? {
    try work { (db) throws(StoreError) in
      try db.value(
        Int64.self, "SELECT size FROM plain WHERE sha256 = ? AND coded = ?", sha256, coded ? 1 : 0)
    }
  }

  package func keep(plainSize size: Int64, of sha256: SHA256, coded: Bool) throws(StoreError) {
    try work { (db) throws(StoreError) in
      try db.run(
        "INSERT OR REPLACE INTO plain (sha256, coded, size) VALUES (?, ?, ?)", sha256, coded ? 1 : 0, size)
    }
  }

  /// Whether every delta from `base` to `version` was made or found not worth making.
  package func isDone(_ channel: Int64, from base: ManifestVersion, to version: ManifestVersion)
    throws(StoreError) -> Bool
  {
    try work { (db) throws(StoreError) in
      try db.value(
        Int64.self, "SELECT 1 FROM done WHERE channel_id = ? AND base = ? AND version = ?", channel,
        base.number, version.number) != nil
    }
  }

  package func markDone(_ channel: Int64, from base: ManifestVersion, to version: ManifestVersion)
    throws(StoreError)
  {
    try work { (db) throws(StoreError) in
      try db.run(
        "INSERT OR REPLACE INTO done (channel_id, base, version) VALUES (?, ?, ?)", channel, base.number,
        version.number)
    }
  }

  // MARK: - The census

  /// Adds sampled polls of one day; days before `oldest` are forgotten.
  package func count(_ polls: [(channel: Int64, version: Int64, polls: Int)], day: Int64, oldest: Int64)
    throws(StoreError)
  {
    try work { (db) throws(StoreError) in
      try db.write { () throws(StoreError) in
        for poll in polls {
          try db.run(
            """
            INSERT INTO census (channel_id, version, day, polls) VALUES (?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET polls = polls + excluded.polls
            """, poll.channel, poll.version, day, poll.polls)
        }
        try db.run("DELETE FROM census WHERE day < ?", oldest)
      }
    }
  }

  /// The versions that at least one in a hundred of a channel's polls reported, newest first.
  package func commonVersions(of channel: Int64) throws(StoreError) -> [ManifestVersion] {
    try work { (db) throws(StoreError) in
      try db.all(
        """
        SELECT version FROM census WHERE channel_id = ?1 GROUP BY version
        HAVING sum(polls) * 100 >= (SELECT sum(polls) FROM census WHERE channel_id = ?1)
        ORDER BY version DESC
        """, channel
      ) { row in ManifestVersion(row.get(0)) }
    }
  }
}
