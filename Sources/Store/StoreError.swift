import Archive
import CSQLite
import Manifests
import System

/// Why the store could not or would not do what it was asked; `words` says it to people.
package enum StoreError: Error, Sendable {
  // The data folder and its database.
  /// Thrown when another process holds the folder; with its process id where it wrote one.
  case inUse(path: String, process: Int32?)
  /// Thrown when the folder isn't there and none was to be made.
  case noDataFolder(path: String)
  /// There are published files, and no database that knows them.
  case lostDatabase(path: String)
  /// Thrown when the file is a SQLite database of another program.
  case foreignDatabase
  /// Thrown when the database holds a migration that this program doesn't know.
  case newerDatabase(migration: String)
  /// Thrown when a program that may not change the database finds migrations missing in it.
  case olderDatabase
  /// Thrown when an applied migration differs from the one in this program.
  case alteredMigration(name: String)
  /// Thrown when a row holds a value that the store never writes.
  case corruptRow(String)
  /// Thrown when a copy of the database isn't what SQLite or the releases in it say it should be; with what is wrong.
  case damagedDatabase(path: String, [String])
  case database(SQLiteError)
  case system(SystemError)
  /// Thrown when the disk or a quota is full; nothing half done is left.
  case diskFull(String)

  // Blobs.
  /// Thrown when the bytes that arrived are not those that were announced.
  case digestMismatch(announced: BlobClaim, received: FileDigest)
  /// Thrown when no bytes are stored under this digest.
  case unknownBlob(SHA256)
  /// Thrown when the stored bytes have another digest; the file was set aside and can be sent again.
  case corruptBlob(SHA256)

  // Releases.
  case unknownApp(AppName)
  case unknownChannel(AppName, ChannelName)
  case unknownBundle(BundleName)
  /// Thrown when another app's name differs only in case.
  case appNameTaken(AppName, by: AppName)
  /// Thrown when a plan was made against a version of the bundle that is not kept.
  case unknownBase(BundleName, base: ManifestVersion)
  /// Thrown when a bundle changed after the version that the request allows.
  case changedSince(BundleName, limit: ManifestVersion, release: ReleaseStamp)
  /// Thrown when a release would replace another version of its channel than the one that its request names.
  case otherVersion(planned: ManifestVersion, newest: ManifestVersion)
  case urlConflicts([URLConflict])
  case duplicateURLs([URLDuplicate])
  /// Thrown when an act names URLs of hosts that its channel, or the token that it was asked for with, leaves out.
  case foreignHosts(ForeignURLs)
  /// Thrown when bytes that the release names are not stored; the publisher sends them and tries again.
  case missingBlobs([SHA256])
  /// Thrown when a request's md5 or size of a blob differs from the stored bytes.
  case contentMismatch(url: ResourceURL, claimed: FileDigest, stored: FileDigest)
  /// Thrown when a request names one bundle twice, or none.
  case badRequest(ReleaseInput.Fault)
  case unknownVersion(ManifestVersion)
  /// Thrown when a version is above the newest one.
  case noVersion(ManifestVersion, newest: ManifestVersion)
  /// Thrown when a moment lies before the oldest release that is kept.
  case unknownMoment(oldestKept: ManifestVersion)
  /// Thrown when a document's version of then lies before the oldest one that is kept.
  case unknownDocument(ChannelDocument, oldestKept: Int64)
  /// Thrown when there are fewer distinct contents to go back to.
  case tooManySteps(Int, kept: Int)

  // Channels.
  /// Thrown when a channel takes no releases.
  case frozen(AppName, ChannelName, ChannelFreeze)
  case channelExists(AppName, ChannelName)
  /// Thrown when a release is for a channel that was removed.
  case channelRemoved(AppName, ChannelName)
  /// Thrown when a channel is to be removed in which something is published.
  case channelHolds(AppName, ChannelName, resources: Int)

  // Mirrors.
  /// Thrown when a lease ended, or never was.
  case unknownLease(String)
  /// A lease that another token took.
  case foreignLease(String)
  /// A token has as many leases as it may have.
  case tooManyLeases(Int)
  /// A lease can't be renewed beyond so many hours.
  case leaseTooOld(hours: Int)
  /// A mirror that another token registered.
  case foreignMirror(String)
  /// No mirror of that name is registered.
  case unknownMirror(String)
  /// A token has registered as many mirrors as it may.
  case tooManyMirrors(Int)
  /// Thrown when an origin is restored into a folder that holds one already.
  case notEmpty(path: String)
  /// Thrown when a zip of a channel's files can't be made.
  case archive(ArchiveError)

  // Keeping.
  /// Thrown when a version is not pinned.
  case notPinned(ManifestVersion)
  /// Thrown when something reads what gc would remove; with who it is.
  case leased(by: [String])
  /// Thrown when a folder holds no backup that was finished.
  case noBackup(path: String)
  /// Thrown when a backup goes into the data folder itself, or into another origin's backup.
  case foreignBackup(path: String)
  /// Thrown when a backup would go where something else is, or where others may read it.
  case badBackupPlace(path: String, reason: String)
  /// Thrown when a release's files could not be brought to where devices download them.
  case pushFailed(place: String, reason: String)
  /// Thrown when as many releases are being pushed as may be at once.
  case tooManyPushes
  /// Thrown when a release came, each time that its files had been pushed, after another one that changed them.
  case unpushed

  // Requests.
  /// Thrown when a request was carried out before; its answer is kept.
  case alreadyDone
  /// Thrown when a request has the key of another one.
  case requestKeyReused

  // Tokens.
  case tokenNameTaken(String)
  case unknownToken(String)
  /// Thrown when the token that something was asked for with was revoked or has expired.
  case tokenEnded(String)

  init(_ error: SQLiteError) {
    switch error.primaryCode {
    case SQLITE_FULL: self = .diskFull("the database")
    // "SQLITE_IOERR_SHMSIZE … indicates an I/O error within the xShmMap method on the sqlite3_io_methods object while trying
    // to enlarge a "shm" file": there is no room for it.
    case SQLITE_IOERR where error.code == SQLITE_IOERR | 19 << 8: self = .diskFull("the database")
    default: self = .database(error)
    }
  }

  /// What a system call that failed means here.
  package init(_ error: SystemError) {
    self = error.isDiskFull ? .diskFull(error.subject ?? "the data folder") : .system(error)
  }

  /// Runs a call on the disk and says its error as this type.
  static func disk<Result: ~Copyable>(_ body: () throws(SystemError) -> Result) throws(StoreError) -> Result {
    do {
      return try body()
    } catch {
      throw StoreError(error)
    }
  }
}
