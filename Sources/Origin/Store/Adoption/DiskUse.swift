import Manifests
import System

extension Store {
  /// The current state of the disk.
  package func diskUse() throws(StoreError) -> DiskUse {
    let space: DiskSpace
    do {
      space = try blobs.disk.space(folder.path)
    } catch {
      throw StoreError(error)
    }
    return DiskUse(
      at: Moment(milliseconds: clock()), size: space.size, available: space.available,
      stored: try scrubState().bytes)
  }

  /// Records the current state of the disk for this hour.
  package func recordDiskUse() throws(StoreError) {
    let use = try diskUse()
    try connections.transaction { (db) throws(StoreError) in
      try db.run(
        """
        INSERT INTO disk_hour (hour, size, available, stored) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET size = excluded.size, available = excluded.available, stored = excluded.stored
        """, use.at.milliseconds / 3_600_000, use.size, use.available, use.stored)
    }
  }

  /// The recorded states of the disk in the last `hours` hours, oldest first.
  package func diskUses(hours: Int) throws(StoreError) -> [DiskUse] {
    let first = clock() / 3_600_000 - Int64(hours) + 1
    return try connections.reading { (db) throws(StoreError) in
      try db.all("SELECT hour, size, available, stored FROM disk_hour WHERE hour >= ? ORDER BY hour", first) {
        DiskUse(
          at: Moment(milliseconds: $0.get(0, as: Int64.self) * 3_600_000), size: $0.get(1),
          available: $0.get(2), stored: $0.get(3))
      }
    }
  }
}
