import Glibc
import Manifests
import Platform

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

  private static let jump: Int64 = 1000

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
        UPDATE channel SET least_next = max(least_next,
          (SELECT coalesce(max(version), 0) FROM release WHERE channel_id = channel.id) + ?)
        """, jump)
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
    do {
      for (sha256, size) in blobs {
        guard let file = try Kernel.openExisting(source.folder.blob(sha256), O_RDONLY),
          try BlobStore.digest(of: file).sha256 == sha256
        else { throw StoreError.corruptBlob(sha256) }
        report.copiedBytes += try batch.copy(file, to: target.folder.blob(sha256))
        report.copied += 1
        done += size
        progress(done, all)
      }
      try ZipCopy.copy(from: source.folder, to: target.folder, &batch, &report)
      try batch.finish(in: target)
    } catch let error as SystemError {
      throw StoreError(error)
    } catch let error as StoreError {
      throw error
    } catch {
      fatalError("an error of no known type: \(error)")
    }
  }
}
