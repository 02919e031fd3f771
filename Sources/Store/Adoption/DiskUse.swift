import System

/// The disk under a data folder at one moment, in bytes.
package struct DiskUse: Hashable, Sendable {
  /// Milliseconds since 1970.
  package let at: Int64
  /// Of the file system.
  package let size: Int64
  /// What is free of it for the server.
  package let available: Int64
  /// Of files that releases name, and of what was made of them.
  package let stored: Int64
}

extension Store {
  /// The disk as it is now.
  package func diskUse() throws(StoreError) -> DiskUse {
    let space: DiskSpace
    do {
      space = try blobs.disk.space(folder.path)
    } catch {
      throw StoreError(error)
    }
    return DiskUse(
      at: clock(), size: space.size, available: space.available, stored: try scrubState().bytes)
  }

  /// Notes the disk as it is now for its hour.
  package func noteDiskUse() throws(StoreError) {
    let use = try diskUse()
    try connections.transaction { (db) throws(StoreError) in
      try db.run(
        """
        INSERT INTO disk_hour (hour, size, available, stored) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET size = excluded.size, available = excluded.available, stored = excluded.stored
        """, use.at / 3_600_000, use.size, use.available, use.stored)
    }
  }

  /// The disk of the last `hours` hours, oldest first, as far as it was noted.
  package func diskUses(hours: Int) throws(StoreError) -> [DiskUse] {
    let first = clock() / 3_600_000 - Int64(hours) + 1
    return try connections.reading { (db) throws(StoreError) in
      try db.all("SELECT hour, size, available, stored FROM disk_hour WHERE hour >= ? ORDER BY hour", first) {
        DiskUse(
          at: $0.get(0, as: Int64.self) * 3_600_000, size: $0.get(1), available: $0.get(2), stored: $0.get(3))
      }
    }
  }
}
