import Manifests
import System
import Values

extension StoreError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  package var description: String {
    switch self {
    case .inUse(let path, let process): Self.inUseMessage(path, process)
    case .noDataFolder(let path):
      "\(path) is not an xcache data folder; give the one that `xcache serve` uses"
    case .lostFolder(let path):
      "\(path) was replaced, or its lock file was taken by another process, while this one was using it; nothing is written any "
        + "more; restart this one once nothing else uses the folder"
    case .lostDatabase(let path):
      "\(path) has published files, but its database xcache.db is missing or empty; restore one from a backup or a static copy "
        + "into a new folder (`xcache restore`)"
    case .foreignDatabase: "xcache.db is another program's database; choose another folder with --data"
    case .newerDatabase(let migration):
      "the database was made by a newer xcache (it has \(migration)); run that version or a later one"
    case .cancelled: "the client went away before this was done"
    case .olderDatabase:
      "the database was made by an older xcache; start this version's `xcache serve` on it once, then try again"
    case .pushFailed(let place, let reason):
      "the release is staged, since its files could not be pushed to \(place): \(reason); the origin keeps trying "
        + "and shows it once they are there, unless it is restarted; publishing once more won't upload anything again"
    case .notWithdrawn(let place, let reason):
      "the bytes are removed from the origin, but not yet from \(place): \(reason); the origin tries again every minute, and logs "
        + "it when they are gone"
    case .tooManyPushes: "other releases are being pushed to the CDN; try again in a moment"
    case .unpushed: "other releases kept arriving while its files were pushed; publish again"
    case .foreignLease: "the lease was taken with another token; an unrestricted admin may end it"
    case .tooManyLeases(let limit):
      "the token holds \(limit) leases, which is the limit; wait for a mirror run to end, or use another token"
    case .leaseTooOld(let hours):
      "a lease lasts \(hours) hours at most; run it again, copied files are kept"
    case .foreignMirror(let name):
      "the mirror \(name) was registered with another token; use that one, an unrestricted admin token, or "
        + "another --name"
    case .unknownMirror(let name):
      "no mirror \(name) is registered; `xcache mirror list` names those that are"
    case .tooManyMirrors(let limit):
      "the token has registered \(limit) mirrors, which is the limit; forget one (`xcache mirror forget NAME`), or "
        + "use another token"
    case .tooManyActs(let act, let limit):
      "the token has done \(act) \(limit) times today, which is the limit; go on tomorrow (UTC), or use another token"
    case .collectionOverdue:
      "leases have kept gc from running for a day, so it runs before there is another one; try again in an hour"
    case .unknownLease:
      "the lease has ended, as a purge ends all of them; files read under it may have been removed, so run it again"
    case .foreignFolder(let path, let name):
      "\(path) has no xcache data, but something else in it, such as \(name); choose an empty folder, or one that doesn't exist, with --data"
    case .notEmpty(let path): "\(path) already contains an origin's data; choose a new folder with --data"
    case .alteredMigration(let name):
      "the database was made by an xcache whose \(name) differs from this one's; use the xcache that created it"
    case .corruptRow(let text):
      "the database holds a value that xcache never writes: \"\(text)\"; restore it from a backup"
    case .changeset(let text):
      "the changes of an act can't be passed on or taken over: \(text)"
    case .damagedDatabase(let path, let findings):
      "\(path) is damaged: \(findings.prefix(5).joined(separator: "; ")). An earlier backup is left as it was; "
        + "`xcache doctor --deep` says more, and `xcache restore` creates an origin from a backup or a static copy"
    case .database(let error) where error.isDamage:
      "the database xcache.db in the data folder is damaged (SQLite: \(error.message)); stop the server, keep the folder, and restore "
        + "a backup or a static copy into a new one (`xcache restore`)"
    case .database(let error): "SQLite: \(error.message) (code \(error.code)) in: \(error.statement)"
    case .system(let error): error.description
    case .diskFull(let place):
      """
      no space left on the disk for \(place); nothing was changed; free some space there, or run \
      `xcache gc`, and try again
      """
    case .digestMismatch(let announced, let received): Self.mismatchMessage(announced, received)
    case .unknownBlob(let sha256): "no stored file has sha256 \(sha256)"
    case .corruptBlob(let sha256):
      "the stored bytes of sha256 \(sha256) are damaged and were set aside; publish the file again"
    case .unknownApp(let app):
      "no app named \"\(app)\"; `xcache channel list --all` shows all apps, and an admin's publish --create makes one"
    case .unknownChannel(let app, let channel):
      "app \"\(app)\" has no channel named \"\(channel)\"; `xcache channel list\(Self.options(app))` shows its channels"
    case .unknownBundle(let bundle):
      "no bundle named \"\(bundle)\" in this channel; `xcache status` shows its bundles"
    case .appNameTaken(let app, let other):
      """
      no app \"\(app)\"; did you mean \"\(other)\"? Names that differ only in case aren't allowed
      """
    case .unknownBase(let bundle, let base):
      "version \(base) of bundle \"\(bundle)\" is not kept; read the bundle's entries and plan again"
    case .changedSince(let bundle, let limit, let release): Self.changedMessage(bundle, limit, release)
    case .otherVersion(let planned, let newest):
      "the release replaces version \(planned), but the newest is \(newest); plan it again"
    case .urlConflicts(let conflicts): Self.conflictMessage(conflicts)
    case .duplicateURLs(let duplicates):
      Self.list("the same resource under two spellings", duplicates) { "\($0.url) and \($0.other)" }
        + "\nrename one of each, or leave it out (--exclude)"
    case .foreignHosts(let foreign): Self.foreignMessage(foreign)
    case .missingBlobs(let digests):
      "the bytes of \(digests.count) files are not stored; upload them, then commit again"
    case .purged(let purges): Self.purgedMessage(purges)
    case .notPurged(let sha256): "\(sha256) isn't purged; `xcache purge list` shows what is"
    case .unseenPlace(let place, let reason):
      "\(place) can't be looked through for purged bytes: \(reason)"
    case .stillLive(let sha256):
      "\(sha256) was released again while it was being purged; run the same purge once more"
    case .unknownContent(let name):
      if let sha256 = SHA256(hex: name.lowercased()) {
        "no kept version has the bytes \(sha256), so nothing was removed; if a version that gc dropped had them, --unknown "
          + "(\"unknown\") removes them from where files are pushed to and from copies, and refuses them from then on"
      } else {
        "nothing that is stored has the URL \(name); give a URL as `xcache show` prints it, a download URL, or the file's sha256"
      }
    case .severalContents(let url, let contents):
      "\(url) has had \(Set(contents.map(\.sha256)).count) contents: give the sha256 of the one to purge:"
        + contents.map { "\n  \($0)" }.joined()
    case .contentMismatch(let url, let claimed, let stored): Self.contentMessage(url, claimed, stored)
    case .badRequest(let fault): fault.description
    case .unknownVersion(.none):
      "no release at that time; the first one came later (versions begin with 1)"
    case .unknownVersion(let version):
      "version \(version) is no longer kept: gc or a purge removed it; `xcache log` lists those that are kept"
    case .noVersion(let version, .none): "no version \(version): nothing is published yet"
    case .noVersion(let version, let newest):
      "no version \(version); the newest is \(newest), and `xcache log` lists those that are kept"
    case .unknownMoment(let oldest):
      "the version of that time is no longer kept; `xcache log` lists those that are, the oldest is \(oldest)"
    case .unknownDocument(let document, let oldest):
      "the \(document.rawValue) document of that time is no longer kept; the oldest version is \(oldest)"
    case .tooManySteps(let steps, let kept, let bundle): Self.stepsMessage(steps, kept, bundle)
    case .nothingLeft(let version, let bundle):
      "in the step before, version \(version), \(bundle.map { "bundle \($0)" } ?? "the channel") has no files, so nothing of it would "
        + "be left; choose a version of `xcache log`, and go back to it by "
        + "`xcache rollback V\(bundle.map { " --bundle \($0)" } ?? " --all-bundles")`"
    case .frozen(let app, let channel, let freeze): Self.frozenMessage(app, channel, freeze)
    case .noRoot(let app): Self.noRootMessage(app)
    case .rootRefused(let app, let failure, let inForce): Self.rootRefusedMessage(app, failure, inForce)
    case .unsigned(let app, let bundles): Self.unsignedMessage(app, bundles)
    case .unsignedPrefetch(let app, let channel, let failure):
      Self.unsignedPrefetchMessage(app, channel, failure)
    case .sharedURLs(let app, let shared): Self.sharedURLsMessage(app, shared)
    case .tooManyBundles(let app, let channel, let limit):
      "in an app with a root, a channel has at most \(limit) bundles with files, and \(channel) of \(app) would have more; put some of "
        + "them into one bundle, or unpublish what nobody needs; nothing was changed"
    case .floorBesideRollout(let app, let channel, let candidate, let bundles):
      Self.floorBesideRolloutMessage(app, channel, candidate, bundles)
    case .noHeadKey(let app): Self.noHeadKeyMessage(app)
    case .unknownSchedule(let app, let channel, let id):
      """
      channel "\(channel)" of app "\(app)" has no scheduled act \(id); \
      `xcache schedule list\(Self.options(app, channel))` lists them
      """
    case .scheduleOver(let act): Self.scheduleOverMessage(act)
    case .authorEnded(let act): Self.authorEndedMessage(act)
    case .scheduleDamaged(let act): Self.scheduleDamagedMessage(act)
    case .notAwaited(let app, let channel, let id, let bundle):
      Self.notAwaitedMessage(app, channel, id, bundle)
    case .tooManySchedules(let app, let channel): Self.tooManySchedulesMessage(app, channel)
    case .needsApproval(let app, let channel, let required):
      Self.needsApprovalMessage(app, channel, required)
    case .mayNotApprove(let act, let refusal): Self.mayNotApproveMessage(act, refusal)
    case .approvalNotNeeded(let act): Self.approvalNotNeededMessage(act)
    case .freezeOver(let from, let to):
      "a freeze from \(Timestamp.words(from)) to \(Timestamp.words(to)) would already be over; give a later end"
    case .tooManyFreezes(let app, let channel):
      """
      channel "\(channel)" of app "\(app)" has \(FreezePlan.maxPlanned) planned freezes, the most that it may have; \
      `xcache channel thaw\(Self.options(app, channel)) --planned ID` takes one back
      """
    case .unknownFreeze(let app, let channel, let id):
      """
      channel "\(channel)" of app "\(app)" has no planned freeze \(id), or it is over; \
      `xcache status\(Self.options(app, channel))` lists them
      """
    case .channelExists(let app, let channel):
      "app \"\(app)\" already has a channel \"\(channel)\"; `xcache channel list\(Self.options(app))` shows it"
    case .channelRemoved(let app, let channel):
      "channel \"\(channel)\" of app \"\(app)\" was removed; `xcache channel create\(Self.options(app)) --channel \(channel)` brings it back"
    case .channelHolds(let app, let channel, let resources):
      """
      channel "\(channel)" of app "\(app)" holds \(resources) \(resources == 1 ? "resource" : "resources"); unpublish its bundles first, so that devices \
      delete them
      """
    case .rolloutOpen(let app, let channel, let candidate):
      "a rollout is open in channel \"\(channel)\" of app \"\(app)\", with version \(candidate) as its candidate; nothing was changed. "
        + "`xcache rollout show\(Self.options(app)) --channel \(channel)` shows it; complete or halt ends it"
    case .haltInstead(let app, let channel, let candidate, let steps):
      (steps.map(Self.tooFar).map {
        "\($0): no earlier state is kept. A rollout is open, with version \(candidate) as its candidate"
      }
        ?? "that is the content of version \(candidate), the candidate of an open rollout, which all devices would get")
        + "; nothing was changed. `xcache rollout halt\(Self.options(app, channel)) -m \"reason\"` takes the candidate back, "
        + "`xcache rollout complete\(Self.options(app, channel))` makes it the version of all devices"
    case .noRollout(let app, let channel, nil):
      "no rollout is open in channel \"\(channel)\" of app \"\(app)\"; publish, promote, rollback and prefetch push begin one with --rollout 5%"
    case .noRollout(let app, let channel, let last?):
      "no rollout is open in channel \"\(channel)\" of app \"\(app)\": that of version \(last.candidate) was \(last.state.rawValue) by "
        + "\(last.changedBy), \(Timestamp.words(last.changedAt))\(last.reason.map { ": \($0)" } ?? ""); nothing was changed"
    case .otherRollout(let wanted, let known, let open): Self.otherRollout(wanted, known, open)
    case .alarmed(let app, let channel, let candidate, let at, let isScheduled):
      "version \(candidate) fails too often: an alarm has paused its rollout, \(Timestamp.words(at)), "
        + "\(isScheduled ? "after this was scheduled" : "and this release has its content"); nothing was changed. "
        + "`xcache rollout show\(Self.options(app, channel))` shows it; halt the rollout, or resume it"
        + (isScheduled ? "" : ", or complete it by `xcache rollout complete\(Self.options(app, channel))`")
    case .otherAudience(let open):
      "the open rollout, of version \(open.candidate), goes to other devices; nothing was changed. A prefetch config can go along with "
        + "it to the same ones: \(Self.options(open.audience))"
    case .otherCourse(let app, let channel, let candidate):
      "the open rollout, of version \(candidate), goes to these devices, but what is to be done by itself (--ramp, --auto-halt, "
        + "--network-cap) isn't what it does; nothing was changed. Leave these options out, and use "
        + "`xcache rollout set\(Self.options(app, channel))` for them"
    case .noCandidate(let app, let channel):
      "the release changes no file, so there is no candidate that the prefetch config could go along with; nothing was changed. "
        + "`xcache prefetch push FILE\(Self.options(app, channel)) --rollout 5%` makes one"
    case .wholeChannel(_, _, let candidate):
      "that would complete the rollout of version \(candidate), and its prefetch config concerns the whole channel, which a token for "
        + "some bundles may not change; nothing was changed"
    case .rolloutOfFirst:
      "a channel's first release goes to all devices: without it there is nothing for those that aren't in the rollout; leave --rollout and --ramp out"
    case .archive(let error): "a zip file of the channel can't be created: \(error)"
    case .notPinned(let version): "version \(version) is not pinned; `xcache pin list` shows the pinned ones"
    case .leased(let holders):
      "nothing was removed, because data is being read by \(holders.joined(separator: ", ")); try again later"
    case .noBackup(let path):
      "\(path) contains no complete backup"
    case .foreignBackup(let path, let data?):
      "\(path) is in \(data), the data folder itself, with which it would be lost; choose another folder, best on another disk"
    case .foreignBackup(let path, nil):
      "\(path) holds the data or a backup of another origin; choose another folder"
    case .badBackupPlace(let path, let reason):
      "no backup was made in \(path): \(reason); choose a new folder with --to"
    case .alreadyDone: "this request was already processed"
    case .requestKeyReused:
      "this Idempotency-Key belongs to another request; use a new one for each action, and repeat it only with the same "
        + "method, path and body"
    case .tokenNameTaken(let name):
      "a token named \"\(name)\" already exists; revoke it first or choose another name"
    case .unknownToken(let name):
      "no valid token or session has the id or name \"\(name)\"; `xcache token list` shows all tokens, with --sessions all sessions"
    case .unknownProblem(let code):
      "there is no problem \(code) here, or not any more; `xcache status` shows those that there are"
    case .tokenEnded(let name): "the token \"\(name)\" was revoked or has expired"
    case .noGrants, .tooManyGrants, .identityNameTaken, .unknownIdentity, .tooManyIdentities, .foreignIDToken,
      .idTokenExpired, .idTokenReplayed:
      signInMessage
    case .unknownWebhook(let name):
      "no webhook has the id or URL \"\(name)\"; `xcache webhook list` shows all webhooks"
    case .severalWebhooks(let ids):
      "several webhooks have this URL: \(ids.joined(separator: ", ")); name one by its id"
    case .tooManyWebhooks(let limit):
      "there are \(limit) webhooks already, as many as allowed; remove one first"
    case .webhookDisabled(let id, let reason):
      "nothing is sent to webhook \(id) any more, since \(reason); remove it, and add it again once its receiver is back"
    }
  }

  private static func inUseMessage(_ path: String, _ process: Int32?) -> String {
    let holder = process.map { "process \($0)" } ?? "another process"
    return "\(path) is in use by \(holder); stop it, or choose another folder with --data"
  }

  private static func mismatchMessage(_ announced: BlobClaim, _ received: FileDigest) -> String {
    """
    the bytes that arrived have sha256 \(received.sha256), md5 \(received.md5), \(received.size) bytes; \
    announced were sha256 \(announced.sha256), md5 \(announced.md5)\
    \(announced.size.map { ", \($0) bytes" } ?? ""); nothing was kept, send them again
    """
  }

  private static func changedMessage(_ bundle: BundleName, _ limit: ManifestVersion, _ release: ReleaseStamp)
    -> String
  {
    let author = release.author.isEmpty ? "" : " by \(release.author)"
    return
      "bundle \"\(bundle)\" changed after version \(limit): version \(release.version)\(author); see what changed with "
      + "`xcache diff \(limit) \(release.version)`, then give --if-version \(release.version)"
  }

  /// What became of the candidate that somebody meant, and who did that.
  private static func otherRollout(_ wanted: ManifestVersion, _ known: Rollout?, _ open: Rollout) -> String {
    let now = "the open rollout is that of version \(open.candidate)"
    guard let known else {
      return "\(now), by \(open.author), not that of version \(wanted); nothing was changed"
    }
    let what =
      switch known.state {
      case .remade:
        "version \(wanted) was made again, on top of a release of other bundles by \(known.changedBy)"
      case .open: "the rollout of version \(wanted) was changed by \(known.changedBy)"
      case .superseded: "another release, by \(known.changedBy), took the place of version \(wanted)"
      default: "the rollout of version \(wanted) was \(known.state.rawValue) by \(known.changedBy)"
      }
    return
      "\(what), \(Timestamp.words(known.changedAt)), and \(now); nothing was changed. `xcache rollout show` shows it, and "
      + "--candidate \(open.candidate) is about it"
  }

  private static func stepsMessage(_ steps: Int, _ kept: Int, _ bundle: BundleName?) -> String {
    let tooFar = Self.tooFar(steps)
    guard kept > 0 else {
      return
        "\(tooFar): no earlier state of it is kept; `xcache log` lists the versions that are, for `xcache rollback V`, and "
        + "`xcache unpublish --bundle \(bundle?.text ?? "NAME")` takes "
        + "\(bundle == nil ? "a" : "the") bundle out of the channel"
    }
    return """
      \(tooFar): only \(kept) earlier \(kept == 1 ? "state is" : "states are") kept; `xcache log` shows them; \
      choose one with --to
      """
  }

  private static func tooFar(_ steps: Int) -> String {
    "\(steps) step\(steps == 1 ? "" : "s") back is too far"
  }

  /// The options that name an audience to a command that makes a release.
  private static func options(_ audience: RolloutAudience) -> String {
    "--rollout \(ShareText.option(audience.share))" + audience.groups.map { " --group \($0)" }.joined()
      + (audience.app.map { " --app-version '\($0.text)'" } ?? "")
  }

  /// The options that name a channel to any command; `online` is the default.
  static func options(_ app: AppName, _ channel: ChannelName = .online) -> String {
    " --app \(app)\(channel == .online ? "" : " --channel \(channel)")"
  }

  private static func purgedMessage(_ purges: [Purge]) -> String {
    let first = purges.first.map {
      "\($0.sha256) was purged by \($0.author), \(Timestamp.words($0.at.milliseconds)): \($0.reason)"
    }
    let more = purges.count > 1 ? ", and \(purges.count - 1) more" : ""
    let lift = purges.first.map {
      "; an admin can allow these bytes again with `xcache purge lift \($0.sha256)`"
    }
    return "purged bytes aren't taken again: \(first ?? "")\(more)\(lift ?? "")"
  }

  private static func conflictMessage(_ conflicts: [URLConflict]) -> String {
    let fault = "already published by another bundle with other content, type, headers, fallbacks or \"lazy\""
    return list(fault, conflicts) { "\($0.url) (bundle \"\($0.bundle)\", sha256 \($0.sha256))" }
      + "\nexclude them (--exclude), or release them with the other bundle; "
      + "`xcache unpublish --bundle \(conflicts.first?.bundle.text ?? "NAME")` removes that bundle"
  }

  private static func foreignMessage(_ foreign: ForeignURLs) -> String {
    let (owner, remedy) =
      switch foreign.owner {
      case .channel(let name):
        (
          "channel \"\(name)\"",
          "an admin can set another list, which replaces this one, with `xcache channel set --hosts "
            + "\(ShellWord.quoted(foreign.wanted.joined(separator: ",")))\(name == .online ? "" : " --channel \(name)")`, or allow all with "
            + "--hosts '*'"
        )
      case .token(let name):
        (
          "token \"\(name)\"",
          "use another token: an admin makes one for more hosts by `xcache token create` with --hosts"
        )
      }
    let more = foreign.count - foreign.first.count
    return """
      \(owner) is limited to the hosts \(foreign.hosts.joined(separator: ", ")), and \(foreign.count) \
      URL\(foreign.count == 1 ? " has another one" : "s have others"): \
      \(foreign.first.map(\.text).joined(separator: ", "))\(more > 0 ? " and \(more) more" : ""); \(remedy)
      """
  }

  private static func contentMessage(_ url: ResourceURL, _ claimed: FileDigest, _ stored: FileDigest)
    -> String
  {
    """
    \(url): sha256 \(stored.sha256) is stored with md5 \(stored.md5) and \(stored.size) bytes, \
    not with md5 \(claimed.md5) and \(claimed.size) bytes
    """
  }

  private static func list<Item>(_ what: String, _ items: [Item], _ words: (Item) -> String) -> String {
    "\(what):\n" + items.map { "  " + words($0) }.joined(separator: "\n")
  }
}

extension ReleaseInput.Fault: CustomStringConvertible {
  /// What is wrong with the request.
  package var description: String {
    switch self {
    case .noBundle: "a release needs at least one bundle"
    case .bundleTwice(let bundle): "a release can name each bundle only once; given twice: \"\(bundle)\""
    case .setAndRemoved(let url): "\(url) is both set and removed"
    }
  }
}
