import Glibc
import Manifests
import Platform

/// How far the numbers jump after a restore, of manifests and of documents: devices may have seen versions that neither
/// a mirror nor a backup knows, and no number may come twice (DESIGN §2).
enum RestoreGap {
  static let size: Int64 = 1000
  /// Versions stay whole numbers in JavaScript.
  private static let limit: Int64 = 1 << 53

  /// The number that comes next where these are the newest one that is known, and the lowest that the next one might
  /// have had.
  static func next(after newest: Int64, atLeast least: Int64) throws(StoreError) -> Int64 {
    guard newest < limit, least < limit else { throw .corruptRow("version \(max(newest, least))") }
    return max(newest, least - 1, 0) + size
  }
}

/// Makes a data folder of a backup.
package enum Restore {
  /// Copies a backup into a new data folder, checking every byte.
  ///
  /// The newest version of each channel keeps its number and bytes; the next one is at least 1,000 higher, since
  /// devices may have seen versions that the backup doesn't know (DESIGN §2).
  /// - Throws: `noBackup`, `notEmpty`, `corruptBlob`, …; a folder that was begun can be restored into again.
  package static func restore(
    backup path: String, to data: String, progress: (_ done: Int64, _ all: Int64) -> Void = { _, _ in }
  ) throws(StoreError) -> BackupReport {
    let source = BackupFolder(path)
    let target = BackupFolder(data)
    guard let id = try source.originID(), !id.isEmpty else { throw .noBackup(path: path) }
    let taken = try StoreError.disk { () throws(SystemError) in try Kernel.status(target.folder.database) }
    if taken != nil { throw .notEmpty(path: data) }
    let lock = try target.take()
    defer { withExtendedLifetime(lock) {} }
    try target.removePartialDatabase()
    var report = BackupReport()
    let blobs = try copyDatabase(source, target)
    try copyBlobs(blobs, source, target, &report, progress)
    try target.install()
    report.databaseBytes = try StoreError.disk { () throws(SystemError) in
      try Kernel.status(target.folder.database)?.size ?? 0
    }
    return report
  }

  private static func copyDatabase(_ source: BackupFolder, _ target: BackupFolder) throws(StoreError)
    -> [(sha256: SHA256, size: Int64)]
  {
    try Database(path: source.folder.database, .reading).copy(to: target.partialDatabase)
    let copy = try Database(path: target.partialDatabase, .writing)
    guard try copy.structureFindings(deep: true).isEmpty else { throw .corruptRow("xcache.db") }
    try Migrations.embedded.apply(to: copy)
    try copy.write { () throws(StoreError) in
      try copy.run("DELETE FROM lease")
      // Publishers keep what they know of an origin under its id; of this one they know nothing yet.
      try copy.run("UPDATE origin SET id = lower(hex(randomblob(16)))")
      try copy.run(
        """
        UPDATE channel SET least_next = ? + max(least_next - 1,
          (SELECT coalesce(max(version), 0) FROM release WHERE channel_id = channel.id))
        """, RestoreGap.size)
      try copy.run(
        """
        INSERT INTO document_counter (channel_id, name, least_next)
        SELECT c.id, n.name, ? + max(coalesce(k.least_next, 1) - 1, coalesce((SELECT max(version) FROM document AS d
          WHERE d.channel_id = c.id AND d.name = n.name), 0))
        FROM channel AS c JOIN (SELECT 'policy' AS name UNION SELECT 'prefetch') AS n
        LEFT JOIN document_counter AS k ON k.channel_id = c.id AND k.name = n.name
        WHERE true ON CONFLICT DO UPDATE SET least_next = excluded.least_next
        """, RestoreGap.size)
    }
    let blobs = try copy.blobList()
    try copy.close()
    return blobs
  }

  private static func copyBlobs(
    _ blobs: [(sha256: SHA256, size: Int64)], _ source: BackupFolder, _ target: BackupFolder,
    _ report: inout BackupReport, _ progress: (Int64, Int64) -> Void
  ) throws(StoreError) {
    let all = blobs.reduce(0) { $0 + $1.size }
    var done: Int64 = 0
    var batch = FileBatch()
    for (sha256, size) in blobs {
      let copied = try StoreError.disk { () throws(SystemError) -> Int64? in
        guard let file = try Kernel.openExisting(source.folder.blob(sha256), O_RDONLY),
          try BlobStore.digest(of: file).sha256 == sha256
        else { return nil }
        return try batch.copy(file, to: target.folder.blob(sha256))
      }
      guard let copied else { throw .corruptBlob(sha256) }
      report.copiedBytes += copied
      report.copied += 1
      done += size
      progress(done, all)
    }
    try StoreError.disk { () throws(SystemError) in
      try ZipCopy.copy(from: source.folder, to: target.folder, &batch, &report)
      try batch.finish(in: target)
    }
  }
}
