import Glibc
import Manifests
import Platform

extension Store {
  /// Copies everything that can't be made again into `path`; an earlier backup there becomes this one.
  ///
  /// It runs beside the process that has the data folder. A lease keeps gc from removing what is copied; nothing
  /// that is copied ever changes, so no read transaction is needed. Files are shared where the file system can do
  /// that and copied elsewhere, never linked: a write into one copy must not reach the other.
  /// - Parameter progress: is told bytes done, and of how many.
  /// - Throws: `foreignBackup`, `inUse`, `diskFull`, …; the backup from before is whole then.
  package func backUp(to path: String, progress: (_ done: Int64, _ all: Int64) -> Void = { _, _ in })
    throws(StoreError) -> BackupReport
  {
    let target = BackupFolder(path)
    try refuseForeign(target)
    let lock = try target.take()
    defer { withExtendedLifetime(lock) {} }
    if let id = try target.originID(), try id != originID() { throw .foreignBackup(path: path) }
    try target.removePartialDatabase()
    var lease = try LeaseKeeper(self, holder: "backup")
    do {
      let report = try copyAll(to: target, &lease, progress)
      try lease.end()
      return report
    } catch {
      try? lease.end()
      throw error
    }
  }

  private func copyAll(
    to target: BackupFolder, _ lease: inout LeaseKeeper, _ progress: (Int64, Int64) -> Void
  ) throws(StoreError) -> BackupReport {
    var report = BackupReport()
    // The rows first: every file that they name stays as long as the lease does.
    try connections.reading { (db) throws(StoreError) in try db.copy(to: target.partialDatabase) }
    let copy = try Database(path: target.partialDatabase, .writing)
    try copy.run("DELETE FROM lease")
    let blobs = try copy.blobList()
    let all = blobs.reduce(0) { $0 + $1.size }
    var done: Int64 = 0
    var batch = FileBatch()
    for (sha256, size) in blobs {
      try lease.goOn()
      try step("backup")
      try copyBlob(sha256, size, to: target, &batch, &report)
      done += size
      progress(done, all)
    }
    try copyZips(to: target, &batch, &report)
    try step("backup")
    try StoreError.disk { () throws(SystemError) in
      try batch.finish(in: target) { () throws(SystemError) in
        try self.blobs.disk.before("backup", target.folder.path)
      }
    }
    guard try copy.structureFindings(deep: false).isEmpty else { throw .corruptRow("xcache.db") }
    try copy.close()
    try step("backup")
    try target.install()
    try step("backup")
    report.removed = try target.sweep(keeping: Set(blobs.map(\.sha256)))
    report.databaseBytes = try StoreError.disk { () throws(SystemError) in
      try Kernel.status(target.folder.database)?.size ?? 0
    }
    try note(report, target, blobs.count, all)
    return report
  }

  private func copyBlob(
    _ sha256: SHA256, _ size: Int64, to target: BackupFolder, _ batch: inout FileBatch,
    _ report: inout BackupReport
  ) throws(StoreError) {
    let path = target.folder.blob(sha256)
    do {
      if try Kernel.status(path)?.size == size {
        report.kept += 1
        return
      }
      guard let file = try Kernel.openExisting(folder.blob(sha256), O_RDONLY) else {
        report.damaged.append(sha256)
        return
      }
      guard try batch.copy(file, to: path) == size else {
        try batch.drop()
        report.damaged.append(sha256)
        return
      }
    } catch {
      throw StoreError(error)
    }
    report.copied += 1
    report.copiedBytes += size
  }

  /// Zips of updates are kept since they are never made again.
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
      // A folder that is still to be made is where its first one above is.
      var path = target.folder.path
      while try Kernel.status(path) == nil { path = DurableFile.parent(of: path) }
      return (try Kernel.realPath(folder.path), try Kernel.realPath(path))
    }
    if own == other || other.hasPrefix(own + "/") { throw .foreignBackup(path: target.folder.path) }
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

/// Copies the zips of updates, which have the names that they were given for good.
enum ZipCopy {
  static func copy(
    from source: DataFolder, to target: DataFolder, _ batch: inout FileBatch, _ report: inout BackupReport
  ) throws(SystemError) {
    guard try Kernel.status(source.zips) != nil else { return }
    for channel in try Folder.textNames(source.zips) {
      for name in try Folder.textNames("\(source.zips)/\(channel)") where name.isZipOfUpdate {
        let path = "\(target.zips)/\(channel)/\(name)"
        guard try Kernel.status(path) == nil,
          let file = try Kernel.openExisting("\(source.zips)/\(channel)/\(name)", O_RDONLY)
        else { continue }
        try Kernel.makeFolder(DurableFile.parent(of: path), mode: 0o750)
        report.copiedBytes += try batch.copy(file, to: path)
        report.copied += 1
      }
    }
  }
}

extension String {
  /// `552-553.<key>.<tag>.zip`
  var isZipOfUpdate: Bool { hasSuffix(".zip") && prefix { $0 != "." }.contains("-") }
}

extension Database {
  /// Every blob that counts as good.
  func blobList() throws(StoreError) -> [(sha256: SHA256, size: Int64)] {
    try all("SELECT sha256, size FROM blob WHERE quarantined_at IS NULL ORDER BY id") {
      (sha256: $0.get(0), size: $0.get(1))
    }
  }
}

extension BackupFolder {
  /// Removes files that `keeping` doesn't name.
  /// - Returns: how many.
  func sweep(keeping: Set<SHA256>) throws(StoreError) -> Int {
    var removed = 0
    try StoreError.disk { () throws(SystemError) in
      for prefix in try Folder.textNames(folder.blobs) {
        for name in try Folder.textNames("\(folder.blobs)/\(prefix)") {
          if let sha256 = SHA256(hex: prefix + name), keeping.contains(sha256) { continue }
          try Kernel.remove("\(folder.blobs)/\(prefix)/\(name)")
          removed += 1
        }
      }
    }
    return removed
  }
}
