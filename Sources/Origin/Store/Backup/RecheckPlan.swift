import System

/// Which files of an earlier run a backup reads back.
///
/// Each is read back at least once a week however often backups run. A run reads the share of all bytes that the time
/// since the previous run is of a week, starting with the files that have waited longest, and every file whose week is
/// over. A file that was written to since it was read back is read, too. The times are in the backup's database.
struct RecheckPlan {
  /// A file of the backup, and when it was last read back, in milliseconds since 1970.
  struct Check {
    let sha256: SHA256
    let size: Int64
    let at: Int64
  }

  static let week: Int64 = 7 * 24 * 3600 * 1000

  /// When the files that needn't be read now were read back.
  private var notDue: [SHA256: Int64] = [:]

  /// - Parameters:
  ///   - checks: the files of the previous run.
  ///   - now: milliseconds since 1970.
  ///   - all: whether to read everything.
  init(_ checks: [Check], at now: Int64, all: Bool) {
    guard !all, let last = checks.map(\.at).max() else { return }
    let bytes = checks.reduce(0.0) { $0 + Double($1.size) }
    var due = bytes * min(1, Double(max(0, now - last)) / Double(Self.week))
    for check in checks.sorted(by: { $0.at < $1.at }) {
      // A time in the future, from before the clock was set back, says nothing.
      let isOver = now - check.at > Self.week || check.at > now
      if isOver || due > 0 {
        due -= Double(check.size)
      } else {
        notDue[check.sha256] = check.at
      }
    }
  }

  /// When a file was read back, unless it was modified since; nil if it has to be read now. Times are in milliseconds since 1970.
  func checkedAt(_ sha256: SHA256, modified: Int64) -> Int64? {
    notDue[sha256].flatMap { modified <= $0 + Self.slack ? $0 : nil }
  }

  /// A file is renamed after it was read back, and file system clocks are coarse.
  private static let slack: Int64 = 5000
}

extension BackupFolder {
  /// When the files of the previous run were read back; empty if there was none, or its database can't tell.
  func checks() throws(StoreError) -> [RecheckPlan.Check] {
    guard try StoreError.disk({ () throws(SystemError) in try Kernel.status(folder.database) }) != nil else {
      return []
    }
    do {
      let database = try Database(path: folder.database, .reading)
      let isOlder =
        try database.value(Int64.self, "SELECT count(*) FROM sqlite_schema WHERE name = 'blob_check'") == 0
      // An older xcache made the backup: step 37 moved the times.
      if isOlder {
        return try database.all(
          "SELECT sha256, size, checked_at FROM blob WHERE quarantined_at IS NULL",
          read: RecheckPlan.Check.init)
      }
      return try database.all(
        "SELECT b.sha256, b.size, c.checked_at FROM blob_check AS c JOIN blob AS b ON b.id = c.blob_id",
        read: RecheckPlan.Check.init)
    } catch {
      // The database is older than these times, or damaged: everything is read.
      return []
    }
  }

  /// Whether a file's bytes match its name.
  func isWhole(_ sha256: SHA256) throws(SystemError) -> Bool {
    do throws(SystemError) {
      return switch try DiskDigest.of(folder.blob(sha256), shouldContinue: { _ in true }) {
      case .read(sha256, _): true
      default: false
      }
    } catch  where error.isOfFile {
      return false
    }
  }
}

extension RecheckPlan.Check {
  fileprivate init(_ row: Statement) { (sha256, size, at) = (row.get(0), row.get(1), row.get(2)) }
}
