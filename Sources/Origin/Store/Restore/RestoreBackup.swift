import Manifests
import System

/// How far the versions of manifests and documents jump in a restore: devices may have seen versions that neither a
/// mirror nor a backup has, and no version may be used twice.
enum RestoreGap {
  static let size: Int64 = 1000
  /// Versions stay exact integers in JavaScript.
  private static let limit: Int64 = 1 << 53

  /// The version that comes next, given the newest known one and the lowest that the next one could have had.
  static func next(after newest: Int64, atLeast least: Int64) throws(StoreError) -> Int64 {
    guard newest < limit, least < limit else { throw .corruptRow("version \(max(newest, least))") }
    return max(newest, least - 1, 0) + size
  }
}

/// Creates a data folder from a backup.
package enum Restore {
  /// Whether all keys for heads in a backup can be read with a passphrase.
  package static func takesKeys(backup path: String, passphrase: [UInt8]) throws(StoreError) -> Bool {
    try KeyBackup.read(DataFolder(path: path), passphrase: passphrase).left == 0
  }

  /// Copies a backup into a new data folder, checking every byte.
  ///
  /// A file that is missing or damaged in the backup is left out and its row marked, so that it counts as missing and
  /// comes back with the next publish; the report names it.
  ///
  /// The newest version of each channel keeps its number and bytes. The next one is at least 1,000 higher, because
  /// devices may have seen versions that the backup doesn't have.
  ///
  /// Scheduled acts that wait in the backup are cancelled: its origin may have carried them out since, or be running beside this one.
  ///
  /// - Parameters:
  ///   - path: the backup.
  ///   - data: the new data folder.
  ///   - keepsScheduled: whether they go on waiting instead.
  ///   - keyPassphrase: the passphrase of the keys for heads in the backup; without it they are left out.
  ///   - progress: called with the bytes done, and of how many.
  /// - Throws: `noBackup`, `notEmpty`, `damagedDatabase`, …; an interrupted restore into the same folder can be repeated.
  package static func restore(
    backup path: String, to data: String, keepsScheduled: Bool = false, keyPassphrase: [UInt8]? = nil,
    progress: (_ done: Int64, _ all: Int64) -> Void = { _, _ in }
  ) throws(StoreError) -> BackupReport {
    let source = BackupFolder(path)
    let target = BackupFolder(data)
    guard let id = try source.originID(), !id.isEmpty else { throw .noBackup(path: path) }
    let taken = try StoreError.disk { () throws(SystemError) in try Kernel.status(target.folder.database) }
    if taken != nil { throw .notEmpty(path: data) }
    let (keys, keysLeft) = try KeyBackup.read(source.folder, passphrase: keyPassphrase)
    let lock = try target.lock()
    defer { withExtendedLifetime(lock) {} }
    try target.removePartialDatabase()
    var report = BackupReport()
    let copy = try copyDatabase(source, target)
    report.scheduled = try copy.waitingActs()
    if !keepsScheduled { report.scheduled = try cancel(report.scheduled, in: copy, madeAt: source.madeAt()) }
    try copyBlobs(copy, source, target, &report, progress)
    try copy.close()
    try KeyBackup.write(keys, to: target.folder)
    (report.keys, report.keysLeft) = (keys.count, keysLeft)
    try target.install()
    report.databaseBytes = try StoreError.disk { () throws(SystemError) in
      try Kernel.status(target.folder.database)?.size ?? 0
    }
    return report
  }

  private static func copyDatabase(_ source: BackupFolder, _ target: BackupFolder) throws(StoreError)
    -> Database
  {
    try Database(path: source.folder.database, .reading).copy(to: target.partialDatabase)
    let copy = try Database(path: target.partialDatabase, .writing)
    let found = try copy.structureFindings(deep: true)
    if !found.isEmpty { throw .damagedDatabase(path: source.folder.database, found.map(\.text)) }
    try Migrations.embedded.apply(to: copy)
    try copy.write { () throws(StoreError) in
      try copy.deleteLeases()
      // Those that were revoked since the backup aren't to come back. Whoever is still someone signs in anew.
      try copy.endSessions(now: Clock.unixMilliseconds())
      // The place that releases are pushed to may have lost files since.
      try copy.forgetPushes()
      // Publishers cache what they know of an origin under its id; they know nothing of this one yet.
      try copy.run("UPDATE origin SET id = lower(hex(randomblob(16)))")
      try ChannelRow.leaveGaps(RestoreGap.size, in: copy)
      try copy.leaveDocumentGaps(RestoreGap.size)
      try RestoredNumbers.take(of: nil, by: "xcache restore", now: Clock.unixMilliseconds(), in: copy)
    }
    return copy
  }

  private static func cancel(_ acts: [ScheduledAct], in copy: Database, madeAt: Int64) throws(StoreError)
    -> [ScheduledAct]
  {
    let (actor, now) = (Actor(name: "xcache restore", address: ""), Clock.unixMilliseconds())
    let reason = "restored from a backup made at \(Timestamp.text(madeAt))"
    return try copy.write { () throws(StoreError) in
      var cancelled: [ScheduledAct] = []
      for act in acts {
        try copy.end(act.id, .cancelled, at: now, by: actor.name, code: "restored", reason: reason)
        try copy.audit(act.cancellation(because: reason), by: actor, now: now)
        if let ended = try copy.scheduledAct(act.id) { cancelled.append(ended) }
      }
      return cancelled
    }
  }

  private static func copyBlobs(
    _ copy: Database, _ source: BackupFolder, _ target: BackupFolder, _ report: inout BackupReport,
    _ progress: (Int64, Int64) -> Void
  ) throws(StoreError) {
    let blobs = try BlobFile.all(in: copy)
    let all = blobs.reduce(0) { $0 + $1.size }
    let now = Clock.unixMilliseconds()
    var done: Int64 = 0
    var batch = FileBatch()
    // A single transaction; a run that ends before the commit starts anew.
    try copy.run("BEGIN")
    for blob in blobs {
      let bytes = try StoreError.disk { () throws(SystemError) -> Int64? in
        guard let file = try source.openBlob(blob.sha256) else { return nil }
        return try batch.copy(file, to: target.folder.blob(blob.sha256)) { $0 == blob.sha256 }
      }
      try BlobRow.mark(blob.sha256, isWhole: bytes != nil, at: now, in: copy)
      if let bytes {
        report.copiedBytes += bytes
        report.copied += 1
      } else {
        report.damaged.append(blob.sha256)
      }
      done += blob.size
      progress(done, all)
    }
    try copy.run("COMMIT")
    report.damagedURLs = try copy.damagedURLs(of: report.damaged)
    try StoreError.disk { () throws(SystemError) in
      try ZipCopy.copy(from: source.folder, to: target.folder, &batch, &report)
      try batch.finish(in: target)
    }
  }
}
