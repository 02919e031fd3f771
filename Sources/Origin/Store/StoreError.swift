import Archive
import CSQLite
import Manifests
import System
import Trust
import Values

/// Why the store couldn't or wouldn't do what it was asked; `description` says it to people.
package enum StoreError: Error, Sendable {
  // The data folder and its database.
  /// Thrown when another process holds the folder; with that process's id if it wrote one.
  case inUse(path: String, process: Int32?)
  /// Thrown when the folder doesn't exist and isn't to be created.
  case noDataFolder(path: String)
  /// Thrown when the data folder was replaced, or taken by another process, while this one had it.
  case lostFolder(path: String)
  /// Thrown when the folder has published files but no database.
  case lostDatabase(path: String)
  /// Thrown when the database belongs to another program.
  case foreignDatabase
  /// Thrown when the database has a migration that this program doesn't know.
  case newerDatabase(migration: String)
  /// Thrown when a program that may not change the database finds migrations missing.
  case olderDatabase
  /// Thrown when an applied migration differs from this program's.
  case alteredMigration(name: String)
  /// Thrown when a row holds a value that the store never writes.
  case corruptRow(String)
  /// What acts write can't be recorded as a changeset, or a changeset doesn't fit the database that it is applied to.
  case changeset(String)
  /// Thrown when a copy of the database fails SQLite's checks or doesn't match its own releases; with the findings.
  case damagedDatabase(path: String, [String])
  case database(SQLiteError)
  /// Thrown when a read was broken off, because nobody wants its result any more (`Cancellation`).
  case cancelled
  case system(SystemError)
  /// Thrown when the disk or a quota is full; nothing partial is left behind.
  case diskFull(String)

  // Blobs.
  /// Thrown when the bytes that arrived aren't the announced ones.
  case digestMismatch(announced: BlobClaim, received: FileDigest)
  /// Thrown when no bytes are stored under this digest.
  case unknownBlob(SHA256)
  /// Thrown when the stored bytes have another digest. The file was moved to quarantine, and can be sent again.
  case corruptBlob(SHA256)

  // Releases.
  case unknownApp(AppName)
  case unknownChannel(AppName, ChannelName)
  case unknownBundle(BundleName)
  /// Thrown when another app's name differs only in case.
  case appNameTaken(AppName, by: AppName)
  /// Thrown when a release was planned against a version of the bundle that is no longer kept.
  case unknownBase(BundleName, base: ManifestVersion)
  /// Thrown when a bundle changed after the version that the request allows.
  case changedSince(BundleName, limit: ManifestVersion, release: ReleaseStamp)
  /// Thrown when the channel's newest version isn't the one that the request says it replaces.
  case otherVersion(planned: ManifestVersion, newest: ManifestVersion)
  case urlConflicts([URLConflict])
  case duplicateURLs([URLDuplicate])
  /// Thrown when an act names URLs on hosts that its channel or its token doesn't allow.
  case foreignHosts(ForeignURLs)
  /// Thrown when bytes that the release names aren't stored; the publisher sends them and tries again.
  case missingBlobs([SHA256])
  /// Thrown when bytes that were purged are sent or released again.
  case purged([Purge])
  case notPurged(SHA256)
  /// Thrown when bytes to be purged were released once more meanwhile.
  case stillLive(SHA256)
  /// Thrown when the place of pushed files can't be looked through for purged bytes.
  case unseenPlace(place: String, reason: String)
  /// Thrown when nothing stored has this URL or digest.
  case unknownContent(String)
  /// Thrown when a URL has had several contents.
  case severalContents(String, [URLContent])
  /// Thrown when a request's MD5 or size of a blob differs from the stored bytes.
  case contentMismatch(url: ResourceURL, claimed: FileDigest, stored: FileDigest)
  /// Thrown when a request names one bundle twice, or none.
  case badRequest(ReleaseInput.Fault)
  case unknownVersion(ManifestVersion)
  /// Thrown when a version is above the newest one.
  case noVersion(ManifestVersion, newest: ManifestVersion)
  /// Thrown when a time is before the oldest release that is kept.
  case unknownMoment(oldestKept: ManifestVersion)
  /// Thrown when the document version of a time is older than the oldest one that is kept.
  case unknownDocument(ChannelDocument, oldestKept: Int64)
  /// Thrown when there are fewer distinct earlier states to go back to; names the bundle if there is only one.
  case tooManySteps(Int, kept: Int, of: BundleName? = nil)
  /// Thrown when the steps lead to this version, in which the bundle, or the whole channel, has no files.
  case nothingLeft(ManifestVersion, BundleName?)

  // Channels.
  /// Thrown when a channel accepts no releases.
  case frozen(AppName, ChannelName, ChannelFreeze)
  /// A channel has no such scheduled act.
  case unknownSchedule(AppName, ChannelName, Int64)
  /// A scheduled act doesn't wait any more.
  case scheduleOver(ScheduledAct)
  /// The token with which a release that waits would be carried out was revoked or expires before.
  case authorEnded(ScheduledAct)
  /// What is to be signed of a release that waits can't be read from the database.
  case scheduleDamaged(ScheduledAct)
  /// A scheduled act doesn't wait for signatures of this statement: its id, and the bundle.
  case notAwaited(AppName, ChannelName, Int64, BundleName)
  /// A channel has as many scheduled acts as may wait.
  case tooManySchedules(AppName, ChannelName)
  /// An act on a protected channel isn't carried out before others approve it: how many.
  case needsApproval(AppName, ChannelName, required: Int)
  /// Whoever wants to approve or reject an act may not.
  case mayNotApprove(ScheduledAct, ApprovalRefusal)
  /// A scheduled act takes no approval.
  case approvalNotNeeded(ScheduledAct)
  /// A freeze by calendar ends before it begins, or has ended; in milliseconds since 1970.
  case freezeOver(from: Int64, to: Int64)
  /// A channel has as many freezes by calendar as it may.
  case tooManyFreezes(AppName, ChannelName)
  /// A channel has no such freeze by calendar, or it is over.
  case unknownFreeze(AppName, ChannelName, Int64)
  case channelExists(AppName, ChannelName)
  /// Thrown when a release is for a removed channel.
  case channelRemoved(AppName, ChannelName)
  /// Thrown when a channel that is to be removed still holds resources.
  case channelHolds(AppName, ChannelName, resources: Int)

  // Rollouts.
  /// Thrown when an act isn't possible, or not wanted, while a rollout is open; with its candidate.
  case rolloutOpen(AppName, ChannelName, ManifestVersion)
  /// Thrown when a rollback isn't what ends an open rollout: it would give the candidate's content to all devices, or, with a
  /// number of steps, nothing earlier is kept. With the candidate.
  case haltInstead(AppName, ChannelName, ManifestVersion, steps: Int?)
  /// Thrown when no rollout is open; with the last one.
  case noRollout(AppName, ChannelName, last: Rollout?)
  /// Thrown when the open rollout is another one than the request is about.
  case otherRollout(wanted: ManifestVersion, known: Rollout?, open: Rollout)
  /// Thrown when a rollout that an alarm has paused would be resumed or completed by what was scheduled before, or completed by a release
  /// that has the candidate's content.
  case alarmed(AppName, ChannelName, ManifestVersion, at: Int64, isScheduled: Bool)
  /// Thrown when a prefetch config is to join the open rollout, and that goes to other devices.
  case otherAudience(Rollout)
  /// Thrown when a prefetch config is to join the open rollout, and that does other things by itself.
  case otherCourse(AppName, ChannelName, ManifestVersion)
  /// Thrown when a prefetch config is to go along with a candidate, and there is none: the release changes nothing.
  case noCandidate(AppName, ChannelName)
  /// Thrown when a token for some bundles would complete a rollout with a prefetch config, which is the whole channel's.
  case wholeChannel(AppName, ChannelName, ManifestVersion)
  /// Thrown when a channel's first release is to go to a part of the fleet: there is nothing for the others.
  case rolloutOfFirst

  // Trust (docs/protocol.md §14).
  /// Thrown when an app has no root.
  case noRoot(AppName)
  /// Thrown when devices wouldn't put a root in force, or it doesn't follow the one that is.
  case rootRefused(AppName, TrustFailure, inForce: RootNumber?)
  /// Thrown when devices would refuse bundles.
  case unsigned(AppName, [UnsignedBundle])
  /// Thrown when devices would refuse a prefetch config.
  case unsignedPrefetch(AppName, ChannelName, TrustFailure)
  /// Thrown when two bundles of a channel with a root hold one URL.
  case sharedURLs(AppName, [SharedURL])
  /// Thrown when a channel of an app with a root would have more bundles than devices take statements at once.
  case tooManyBundles(AppName, ChannelName, limit: Int)
  /// Thrown when bundles would have a floor above what the full version or the candidate beside it, whose number it is, has of them.
  case floorBesideRollout(AppName, ChannelName, ManifestVersion, [String])
  /// Thrown when the origin has none of the keys for heads that a root names.
  case noHeadKey(AppName)

  // Mirrors.
  /// Thrown when a lease has ended or never existed.
  case unknownLease(String)
  /// Thrown when a lease belongs to another token.
  case foreignLease(String)
  /// Thrown when a token has reached its limit of leases.
  case tooManyLeases(Int)
  /// Thrown when a lease has reached the age beyond which it can't be renewed.
  case leaseTooOld(hours: Int)
  /// Thrown when a mirror was registered with another token.
  case foreignMirror(String)
  /// Thrown when no mirror of that name is registered.
  case unknownMirror(String)
  /// Thrown when a token has reached its limit of mirrors.
  case tooManyMirrors(Int)
  /// Thrown when a token has done an act as often as it may on a day; with the act's name in the audit trail.
  case tooManyActs(String, limit: Int)
  /// Thrown when an origin is to be restored into a folder that already holds one.
  case notEmpty(path: String)
  /// Thrown when the place of a new origin's data has something else in it.
  case foreignFolder(path: String, name: String)
  /// Thrown when a zip of a channel's files can't be created.
  case archive(ArchiveError)

  // Retention.
  /// Thrown when a version isn't pinned.
  case notPinned(ManifestVersion)
  /// Thrown when someone is reading what gc would remove; with the readers.
  case leased(by: [String])
  /// Thrown when leases have delayed gc for so long that it runs before there is another one.
  case collectionOverdue
  /// Thrown when a folder holds no finished backup.
  case noBackup(path: String)
  /// Thrown when a backup would go into the data folder itself, or over another origin's backup.
  case foreignBackup(path: String, data: String? = nil)
  /// Thrown when a backup would go to a place that is in use or that others may read.
  case badBackupPlace(path: String, reason: String)
  /// Thrown when a release's files couldn't be pushed to where devices download them.
  case pushFailed(place: String, reason: String)
  /// Thrown when purged bytes are removed at the origin, but couldn't be where they were pushed to.
  case notWithdrawn(place: String, reason: String)
  /// Thrown when as many releases as allowed are already being pushed.
  case tooManyPushes
  /// Thrown when, each time a release's files had been pushed, another release had come first and changed them.
  case unpushed

  // Requests.
  /// Thrown when a request was carried out before; its answer is kept.
  case alreadyDone
  /// Thrown when a request uses another request's key.
  case requestKeyReused

  // Tokens.
  case tokenNameTaken(String)
  case unknownToken(String)
  /// Thrown when the token of a request was revoked or has expired.
  case tokenEnded(String)
  /// Thrown when a session is to be created for someone who may do nothing.
  case noGrants
  /// Thrown when a session would have more grants than it may; with their number.
  case tooManyGrants(Int, limit: Int)
  /// Thrown when an identity of that name is in use.
  case identityNameTaken(String)
  /// Thrown when no identity that wasn't removed has that name.
  case unknownIdentity(String)
  /// Thrown when there are as many identities as allowed.
  case tooManyIdentities(Int)
  /// Thrown when an ID token is of another issuer than the identity's, or its subject doesn't match; with the identity's name.
  case foreignIDToken(String)
  /// Thrown when an ID token has expired.
  case idTokenExpired
  /// Thrown when an ID token was traded before.
  case idTokenReplayed

  // Problems.
  /// Thrown when there is no problem of that code where it was named.
  case unknownProblem(String)

  // Webhooks.
  /// Thrown when no webhook has that id or URL.
  case unknownWebhook(String)
  /// Thrown when several webhooks have that URL; with their ids.
  case severalWebhooks([String])
  /// Thrown when there are as many webhooks as allowed.
  case tooManyWebhooks(Int)
  /// Thrown when nothing is sent to a webhook any more; with its id and the reason.
  case webhookDisabled(String, reason: String)

  init(_ error: SQLiteError) {
    switch error.primaryCode {
    case SQLITE_INTERRUPT: self = .cancelled
    case SQLITE_FULL: self = .diskFull("the database")
    // "SQLITE_IOERR_SHMSIZE … indicates an I/O error within the xShmMap method on the sqlite3_io_methods object while
    // trying to enlarge a "shm" file": the disk has no space for it.
    case SQLITE_IOERR where error.code == SQLITE_IOERR | 19 << 8: self = .diskFull("the database")
    default: self = .database(error)
    }
  }

  /// Creates the store's error for a failed system call.
  package init(_ error: SystemError) {
    self = error.isDiskFull ? .diskFull(error.subject ?? "the data folder") : .system(error)
  }

  /// Runs a call on the disk and throws its error as a `StoreError`.
  package static func disk<Result: ~Copyable>(_ body: () throws(SystemError) -> Result) throws(StoreError)
    -> Result
  {
    do {
      return try body()
    } catch {
      throw StoreError(error)
    }
  }
}
