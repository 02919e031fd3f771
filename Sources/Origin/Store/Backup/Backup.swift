import System
import Values

/// What a backup or a restore copied.
package struct BackupReport: Sendable {
  /// Files that were copied.
  package internal(set) var copied = 0
  /// The bytes of the copied files.
  package internal(set) var copiedBytes: Int64 = 0
  /// Files that existed from an earlier run.
  package internal(set) var kept = 0
  /// Files of an earlier run that were no longer needed and were removed.
  package internal(set) var removed = 0
  /// The size of the database in bytes.
  package internal(set) var databaseBytes: Int64 = 0
  /// Files of an earlier run that were read back.
  package internal(set) var verified = 0
  /// Files among them that were bad and were copied again.
  package internal(set) var repaired = 0
  /// Files that were missing or damaged at the source and were left out.
  package internal(set) var damaged: [SHA256] = []
  /// The live URLs that have those bytes. Publishing them again restores the bytes.
  package internal(set) var damagedURLs: [DamagedURL] = []
  /// The keys for heads that were copied.
  package internal(set) var keys = 0
  /// Those that were left out: of a backup that wasn't asked for them, or of a restore without their passphrase.
  package internal(set) var keysLeft = 0
  /// The scheduled acts that waited in a backup that was restored, as they are now: cancelled, or waiting.
  package internal(set) var scheduled: [ScheduledAct] = []
}

extension Store {
  /// Copies everything that can't be rebuilt to `path`; an earlier backup there is updated.
  ///
  /// It can run alongside the process that has the data folder. A lease keeps gc from removing what is copied; copied
  /// files never change, so no read transaction is needed. Files are cloned if the file system supports that and copied
  /// otherwise, never hard-linked: a write to one copy must not reach the other.
  ///
  /// Each copy is read back. Files from an earlier run are read back again within a week (``RecheckPlan``), and copied
  /// again if they are bad. A file that is bad at the source is left out, and a good copy of it stays.
  ///
  /// - Parameters:
  ///   - path: the backup's folder.
  ///   - verify: whether to read back all files from an earlier run.
  ///   - keys: how to copy the keys for heads; nil leaves them out.
  ///   - progress: called with the bytes done, and of how many.
  /// - Throws: `foreignBackup`, `inUse`, `damagedDatabase`, `diskFull`, …; the earlier backup is still complete then.
  package func backUp(
    to path: String, verify: Bool = false, keys: KeyProtection? = nil,
    progress: (_ done: Int64, _ all: Int64) -> Void = { _, _ in }
  ) throws(StoreError) -> BackupReport {
    let target = BackupFolder(path)
    try refuseForeign(target)
    let lock = try target.lock()
    defer { withExtendedLifetime(lock) {} }
    if let id = try target.originID(), try id != originID() { throw .foreignBackup(path: path) }
    try target.removePartialDatabase()
    var lease = try LeaseRenewer(self, holder: "backup")
    do {
      var report = try copyAll(to: target, verify: verify, &lease, progress)
      // Last: the folder is known to be a backup by then.
      if let keys {
        report.keys = try KeyBackup.copy(from: folder, to: target.folder, keys)
      } else {
        report.keysLeft = try KeyBackup.count(in: folder)
      }
      try lease.end()
      return report
    } catch {
      try? lease.end()
      throw error
    }
  }

  private func copyAll(
    to target: BackupFolder, verify: Bool, _ lease: inout LeaseRenewer, _ progress: (Int64, Int64) -> Void
  ) throws(StoreError) -> BackupReport {
    var report = BackupReport()
    let now = clock()
    // The rows first: every file that they name stays as long as the lease does.
    try connections.reading { (db) throws(StoreError) in try db.copy(to: target.partialDatabase) }
    let copy = try Database(path: target.partialDatabase, .writing)
    try copy.refuseDamaged(folder.database)
    try copy.deleteLeases()
    let blobs = try BlobFile.all(in: copy)
    let all = blobs.reduce(0) { $0 + $1.size }
    let plan = RecheckPlan(try target.checks(), at: now, all: verify)
    var done: Int64 = 0
    var batch = FileBatch()
    // A single transaction; a run that ends before the commit leaves the earlier backup.
    try copy.run("BEGIN")
    try copy.closeEvidence()
    for blob in blobs {
      try lease.renewIfDue()
      try step("backup")
      let checkedAt = try copyBlob(blob, to: target, plan, &batch, &report)
      try BlobRow.mark(blob.sha256, isWhole: checkedAt != nil, at: checkedAt ?? now, in: copy)
      done += blob.size
      progress(done, all)
    }
    try copy.run("COMMIT")
    report.damagedURLs = try copy.damagedURLs(of: report.damaged)
    try copyZips(to: target, &batch, &report)
    try step("backup")
    try StoreError.disk { () throws(SystemError) in
      try batch.finish(in: target) { () throws(SystemError) in
        try self.blobs.disk.before("backup", target.folder.path)
      }
    }
    try copy.close()
    // The copy has what was purged meanwhile, or lacks it as if it were damaged.
    if try hasPurged(anyOf: blobs.map(\.sha256)) { throw .unknownLease("backup") }
    try step("backup")
    try target.install()
    try step("backup")
    let damaged = Set(report.damaged)
    report.removed = try target.sweep(keeping: Set(blobs.map(\.sha256).filter { !damaged.contains($0) }))
    report.databaseBytes = try StoreError.disk { () throws(SystemError) in
      try Kernel.status(target.folder.database)?.size ?? 0
    }
    try note(report, target, blobs.count, all)
    return report
  }

  /// Whether some of these bytes have been purged, and are gone.
  private func hasPurged(anyOf digests: [SHA256]) throws(StoreError) -> Bool {
    let purged = Set(try purges().map(\.sha256)).intersection(digests)
    return try connections.reading { (db) throws(StoreError) in
      for sha256 in purged where try BlobRow.find(sha256, in: db) == nil { return true }
      return false
    }
  }

  /// Copies a file if necessary, and returns when its copy was read back; nil if neither file is whole.
  private func copyBlob(
    _ blob: BlobFile, to target: BackupFolder, _ plan: RecheckPlan, _ batch: inout FileBatch,
    _ report: inout BackupReport
  ) throws(StoreError) -> Int64? {
    let path = target.folder.blob(blob.sha256)
    let now = clock()
    do {
      if let kept = try Kernel.status(path), kept.size == blob.size {
        if let checkedAt = plan.checkedAt(blob.sha256, modified: kept.modified / 1_000_000) {
          report.kept += 1
          return checkedAt
        }
        report.verified += 1
        if try target.isWhole(blob.sha256) {
          report.kept += 1
          return now
        }
        report.repaired += 1
      }
      let source = try FileBatch.open(folder.blob(blob.sha256))
      if let source, try Kernel.status(source).size == blob.size,
        try batch.copy(source, to: path, isRight: { $0 == blob.sha256 }) != nil
      {
        report.copied += 1
        report.copiedBytes += blob.size
        return now
      }
    } catch {
      throw StoreError(error)
    }
    report.damaged.append(blob.sha256)
    return nil
  }

  /// Zips of updates are copied, because they are never rebuilt.
  private func copyZips(to target: BackupFolder, _ batch: inout FileBatch, _ report: inout BackupReport)
    throws(StoreError)
  {
    do {
      try ZipCopy.copy(from: folder, to: target.folder, &batch, &report)
    } catch {
      throw StoreError(error)
    }
  }

  private func refuseForeign(_ target: BackupFolder) throws(StoreError) {
    let (own, other) = try StoreError.disk { () throws(SystemError) -> (String, String) in
      // A folder that doesn't exist yet is located by its first existing parent.
      var path = target.folder.path
      while try Kernel.status(path) == nil { path = DurableFile.parent(of: path) }
      return (try Kernel.realPath(folder.path), try Kernel.realPath(path))
    }
    if own == other || other.hasPrefix(own + "/") {
      throw .foreignBackup(path: target.folder.path, data: folder.path)
    }
    try target.refuseUnrelatedFiles()
  }

  private func note(_ report: BackupReport, _ target: BackupFolder, _ count: Int, _ bytes: Int64)
    throws(StoreError)
  {
    let notes: JSONValue = [
      "at": .integer(clock()), "blobs": .integer(count), "bytes": .integer(bytes),
      "damaged": .strings(report.damaged.map(\.hex)), "origin": .string(try originID()),
    ]
    try StoreError.disk { () throws(SystemError) in
      try DurableFile.write(notes.canonical + [UInt8(ascii: "\n")], to: target.notes)
    }
  }
}

extension Database {
  /// - Throws: `damagedDatabase`, with the path of the file that this is a copy of.
  func refuseDamaged(_ path: String) throws(StoreError) {
    var found = try structureFindings(deep: true).map(\.text)
    // Rows of a damaged file may be anything.
    if found.isEmpty { found = try digestFindings() + scriptFindings().map(\.text) }
    if !found.isEmpty { throw .damagedDatabase(path: path, found) }
  }
}
