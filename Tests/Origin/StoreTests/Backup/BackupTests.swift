import Glibc
import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct BackupTests {
  let scratch = Scratch()
  private var target: String { scratch.path + "/backup" }

  private func restored(_ name: String = "restored") throws -> Store {
    let path = scratch.path + "/" + name
    _ = try Restore.restore(backup: target, to: path)
    return try Store(path: path)
  }

  @Test func backupIsADataFolderWithTheSameContent() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b")])
    try store.publish(base: 1, set: ["a.js": Sample("a2")])
    let report = try store.backUp(to: target)
    #expect(report.copied == 3 && report.kept == 0 && report.damaged.isEmpty)
    var options = Store.Options()
    options.isSecondary = true
    #expect(try Store(path: target, options: options).checkup(deep: true).findings.isEmpty)
    // The backup has its own files, not hard links.
    let blob = Sample("a").claim.sha256
    let own = try #require(try Kernel.status(store.folder.blob(blob)))
    let copy = try #require(try Kernel.status(DataFolder(path: target).blob(blob)))
    #expect(own.inode != copy.inode)
    #expect(try store.leases().isEmpty)
  }

  @Test func secondBackupCopiesNewFiles() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b")])
    _ = try store.backUp(to: target)
    try store.publish(base: 1, set: ["c.js": Sample("c")])
    let report = try store.backUp(to: target)
    #expect(report.copied == 1 && report.kept == 2 && report.removed == 0)
    #expect(try restored().shop().version == ManifestVersion(2))
  }

  /// The original origin may have carried them out since, or may still run and do so.
  @Test func restoreCancelsScheduledActs() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    let actor = Actor(name: "ci", address: "10.0.0.7")
    func schedule(_ summary: String) throws -> ScheduledAct {
      var input = ScheduleInput(
        app: try AppName("shop"), channel: .online, act: "rollback", summary: summary,
        due: store.now + 3_600_000, token: "0", actor: actor, route: "rollback", request: Array("{}".utf8))
      input.versions = [(channel: try store.shop().id, version: ManifestVersion(1))]
      return try store.schedule(input)
    }
    let (act, gone) = (try schedule("rollback to 1"), try schedule("cancelled before"))
    _ = try store.cancelSchedule(gone.id, of: try AppName("shop"), .online, by: actor)
    _ = try store.backUp(to: target)
    let path = scratch.path + "/restored"
    let report = try Restore.restore(backup: target, to: path)
    #expect(report.scheduled.map(\.id) == [act.id] && report.scheduled.first?.state == .cancelled)
    let again = try Store(path: path)
    let acts = try again.scheduledActs(of: again.shop())
    let ended = try #require(acts.first { $0.id == act.id })
    #expect(
      ended.state == .cancelled && ended.code == "restored" && ended.end?.by == "xcache restore", "\(ended)")
    #expect(ended.reason?.hasPrefix("restored from a backup made at 20") == true, "\(ended)")
    #expect(acts.first { $0.id == gone.id }?.reason == nil)
    let row = try #require(try again.auditRows(after: 0, limit: 100).last)
    #expect(row.act == "schedule.cancel" && row.author == "xcache restore", "\(row)")
    #expect(row.result.contains("restored from a backup made at 20") && row.parameters.contains("\(act.id)"))
    #expect(try again.verifyAudit().0 == nil && again.checkup(deep: true).findings.isEmpty)
    // An origin that is moved keeps them.
    let kept = scratch.path + "/kept"
    #expect(try Restore.restore(backup: target, to: kept, keepsScheduled: true).scheduled == [act])
    let moved = try Store(path: kept)
    #expect(try moved.scheduledAct(act.id, of: moved.shop()).state == .waiting)
    // The backup and the original origin are unchanged.
    #expect(try store.scheduledAct(act.id, of: store.shop()).state == .waiting)
  }

  @Test func restoreKeepsTheNewestVersionAndSkipsNumbers() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    try store.publish(base: 1, set: ["a.js": Sample("a2")])
    _ = try store.backUp(to: target)
    let again = try restored()
    let (old, new) = (try store.shop(), try again.shop())
    #expect(new.version == old.version && new.digest == old.digest)
    #expect(
      try again.manifest(new, at: new.version).map(\.entry)
        == store.manifest(old, at: old.version).map(\.entry))
    #expect(try again.originID() != store.originID())
    let next = try again.publish(base: 2, set: ["a.js": Sample("a3")])
    #expect(next.version.number >= 1002)
    #expect(try again.checkup(deep: true).findings.isEmpty)
  }

  @Test func existingFilesAreNeverOverwritten() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    _ = try store.backUp(to: target)
    #expect(throws: StoreError.self) { _ = try Restore.restore(backup: target, to: scratch.data) }
    #expect(throws: StoreError.self) { _ = try store.backUp(to: scratch.data) }
    #expect(throws: StoreError.self) { _ = try store.backUp(to: scratch.data + "/inside") }
    let other = try Store(path: scratch.path + "/other")
    #expect(throws: StoreError.self) { _ = try other.backUp(to: target) }
    #expect(throws: StoreError.self) {
      _ = try Restore.restore(backup: scratch.path + "/none", to: scratch.path + "/x")
    }
  }

  /// Damage of a file at the source or in a backup.
  enum Harm: CaseIterable { case gone, shorter, otherByte }

  private func harm(_ path: String, _ harm: Harm) throws {
    switch harm {
    case .gone: try Kernel.remove(path)
    case .shorter: try DurableFile.write([1], to: path)
    case .otherByte:
      var bytes = try #require(try DurableFile.read(path))
      bytes[bytes.count / 2] ^= 0x10
      let file = try Kernel.open(path, .write)
      try Kernel.write(bytes.span.bytes, to: file)
    }
  }

  @Test(arguments: Harm.allCases) func damageAtTheSourceIsNamedAndTheRestRestored(_ harm: Harm) throws {
    let store = try scratch.open()
    let (bad, good) = (Sample("a file of bytes").claim.sha256, Sample("b").claim.sha256)
    try store.publish(base: 0, set: ["a.js": Sample("a file of bytes"), "b.js": Sample("b")])
    try self.harm(store.folder.blob(bad), harm)
    let report = try store.backUp(to: target)
    #expect(report.copied == 1 && report.damaged == [bad])
    let again = try restored()
    #expect(try again.missing(of: [bad, good]) == [bad])
    #expect(try again.shop().digest == store.shop().digest)
    _ = try again.open(good)
    #expect(throws: StoreError.self) { _ = try again.open(bad) }
    try again.send([Sample("a file of bytes")])
    _ = try again.open(bad)
  }

  @Test(arguments: Harm.allCases) func intactFilesOfADamagedBackupAreRestored(_ harm: Harm) throws {
    let store = try scratch.open()
    let (bad, good) = (Sample("a file of bytes").claim.sha256, Sample("b").claim.sha256)
    try store.publish(base: 0, set: ["a.js": Sample("a file of bytes"), "b.js": Sample("b")])
    _ = try store.backUp(to: target)
    try self.harm(DataFolder(path: target).blob(bad), harm)
    let again = try restored()
    #expect(try again.missing(of: [bad, good]) == [bad])
    #expect(try again.shop().digest == store.shop().digest)
  }

  /// A store with a clock that the test sets.
  private func aged(_ now: Locked<Int64>) throws -> Store {
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    return try scratch.open(options)
  }

  @Test func copiedFilesAreVerifiedWithinAWeek() throws {
    let now = Locked(Clock.unixMilliseconds())
    let store = try aged(now)
    var set: [String: Sample] = [:]
    for number in 0..<14 { set["f\(number)"] = Sample("ten bytes \(10 + number)") }
    try store.publish(base: 0, set: set)
    _ = try store.backUp(to: target)
    let bad = try #require(set["f3"]).claim.sha256
    try harm(DataFolder(path: target).blob(bad), .otherByte)
    // As on a failing disk: the modification time doesn't change.
    try Kernel.setModified(DataFolder(path: target).blob(bad), to: now.withLock { $0 } - 1000)
    #expect(try store.backUp(to: target).verified == 0)
    var reports: [BackupReport] = []
    for _ in 0..<7 {
      now.withLock { $0 += 24 * 3600 * 1000 }
      reports.append(try store.backUp(to: target))
    }
    // A seventh each day, every file once.
    #expect(reports.map(\.verified).allSatisfy { (2...3).contains($0) })
    #expect(reports.map(\.repaired).reduce(0, +) == 1)
    #expect(reports.allSatisfy { $0.damaged.isEmpty })
    #expect(try restored().missing(of: [bad]).isEmpty)
  }

  @Test func modifiedFilesAreVerifiedAtOnce() throws {
    let now = Locked(Clock.unixMilliseconds())
    let store = try aged(now)
    let sample = Sample("a file of bytes")
    try store.publish(base: 0, set: ["a.js": sample, "b.js": Sample("b")])
    _ = try store.backUp(to: target)
    let copy = DataFolder(path: target).blob(sample.claim.sha256)
    try harm(copy, .otherByte)
    try Kernel.setModified(copy, to: now.withLock { $0 } + 60_000)
    let report = try store.backUp(to: target)
    #expect(report.verified == 1 && report.repaired == 1 && report.copied == 1)
    try harm(copy, .otherByte)
    try Kernel.setModified(copy, to: now.withLock { $0 } - 60_000)
    #expect(try store.backUp(to: target).repaired == 0)
    #expect(try store.backUp(to: target, verify: true).repaired == 1)
    #expect(try store.backUp(to: target, verify: true).repaired == 0)
  }

  @Test func intactCopyOutlivesItsSource() throws {
    let store = try scratch.open()
    let sample = Sample("a file of bytes")
    try store.publish(base: 0, set: ["a.js": sample])
    _ = try store.backUp(to: target)
    try harm(store.folder.blob(sample.claim.sha256), .otherByte)
    #expect(try store.scrub { _ in true } == [sample.claim.sha256])
    // Set aside at the source: the backup keeps its copy, and restores it.
    #expect(try store.backUp(to: target).damaged.isEmpty)
    let again = try restored()
    #expect(try again.missing(of: [sample.claim.sha256]).isEmpty)
    #expect(try again.checkup(deep: true).findings.isEmpty)
  }

  @Test func damagedDatabaseKeepsThePreviousBackup() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b")])
    _ = try store.backUp(to: target)
    try store.connections.writing { (db) throws(StoreError) in
      try db.script("DROP TRIGGER release_is_immutable")
      try db.script("UPDATE release SET digest = zeroblob(32)")
    }
    #expect {
      _ = try store.backUp(to: target)
    } throws: { if case StoreError.damagedDatabase = $0 { true } else { false } }
    #expect(try restored().checkup(deep: true).findings.isEmpty)
  }

  @Test func intactUpdateZipsAreCopied() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    let folder = "\(store.folder.zips)/1"
    try Kernel.makeFolder(folder)
    let tag = SHA256.of([1, 2, 3]).hex.prefix(32)
    try DurableFile.write([1, 2, 3], to: "\(folder)/1-2.key.\(tag).zip")
    try DurableFile.write([1, 2, 3], to: "\(folder)/1-2.delta.key.\(tag).zip")
    try DurableFile.write([1, 2, 4], to: "\(folder)/1-3.key.\(tag).zip")
    // Marks a zip that is never made again.
    try DurableFile.write([], to: "\(folder)/1-4.key\(ZipFile.droppedEnding)")
    _ = try store.backUp(to: target)
    let zips = try Folder.textNames("\(try restored().folder.zips)/1").sorted()
    #expect(zips == ["1-2.delta.key.\(tag).zip", "1-2.key.\(tag).zip", "1-4.key\(ZipFile.droppedEnding)"])
  }

  @Test func filesOfOthersAreKept() throws {
    let store = try scratch.open()
    let sample = Sample("a file of bytes")
    try store.publish(base: 0, set: ["a.js": sample])
    // Files in `blobs` that aren't from a backup: no backup is begun there.
    try Kernel.makeFolder(target + "/blobs/aa")
    try DurableFile.write([1], to: target + "/blobs/aa/mine.txt")
    #expect {
      _ = try store.backUp(to: target)
    } throws: { if case StoreError.badBackupPlace = $0 { true } else { false } }
    #expect(try Folder.textNames(target) == ["blobs"])
    try Kernel.remove(target + "/blobs/aa/mine.txt")
    _ = try store.backUp(to: target)
    // In an existing backup they are ignored, and leftovers of backups are removed.
    let hex = SHA256.of([7]).hex
    let old = "\(target)/blobs/\(hex.prefix(2))/\(hex.dropFirst(2))"
    for path in ["\(target)/blobs/aa/mine.txt", "\(target)/blobs/readme", old, old + ".part"] {
      try DurableFile.write([1], to: path)
    }
    #expect(try store.backUp(to: target).removed == 2)
    #expect(try Kernel.status(old) == nil && Kernel.status(old + ".part") == nil)
    #expect(try DurableFile.read(target + "/blobs/aa/mine.txt") == [1])
    #expect(try DurableFile.read(target + "/blobs/readme") == [1])
  }

  @Test func interruptedFirstBackupContinues() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b")])
    _ = try store.backUp(to: target)
    let folder = DataFolder(path: target)
    try Kernel.rename(folder.database, to: folder.database + ".part")
    try Kernel.remove(target + "/backup.json")
    #expect(try store.backUp(to: target).damaged.isEmpty)
  }

  @Test func backupIntoAMirrorIsRefused() throws {
    let store = try scratch.open()
    let www = scratch.path + "/www"
    try Kernel.makeFolder(www)
    try DurableFile.write([1], to: www + "/mirror.json")
    for place in [www, www + "/below/it"] {
      #expect {
        _ = try store.backUp(to: place)
      } throws: { if case StoreError.badBackupPlace = $0 { true } else { false } }
    }
    #expect(try Folder.textNames(www) == ["mirror.json"])
  }

  @Test(arguments: [true, false]) func folderInPlaceOfAFileLosesOnlyThatFile(isEmpty: Bool) throws {
    let store = try scratch.open()
    let (bad, good) = (Sample("a file of bytes").claim.sha256, Sample("b").claim.sha256)
    try store.publish(base: 0, set: ["a.js": Sample("a file of bytes"), "b.js": Sample("b")])
    _ = try store.backUp(to: target)
    let path = DataFolder(path: target).blob(bad)
    try Kernel.remove(path)
    try Kernel.makeFolder(path)
    if !isEmpty { try DurableFile.write([1], to: path + "/mine") }
    let restored = try restored()
    #expect(try restored.missing(of: [bad, good]) == [bad])
    let report = try store.backUp(to: target)
    #expect(report.copied == 1 && report.damaged.isEmpty)
    #expect(try self.restored("again").missing(of: [bad, good]).isEmpty)
    let aside = try Folder.textNames(DurableFile.parent(of: path)).filter { $0.contains(".aside-") }
    #expect(aside.count == 1)
    #expect(try Folder.textNames(DurableFile.parent(of: path) + "/" + aside[0]).count == (isEmpty ? 0 : 1))
  }

  @Test func urlsOfDamagedFilesAreNamed() throws {
    let store = try scratch.open()
    let bad = Sample("a file of bytes")
    try store.publish(base: 0, set: ["a.js": bad, "b.js": Sample("b")])
    try harm(store.folder.blob(bad.claim.sha256), .gone)
    let place = DamagedURL(
      sha256: bad.claim.sha256, app: "shop", channel: "online", bundle: "main",
      url: "https://m.example.com/a.js")
    #expect(try store.backUp(to: target).damagedURLs == [place])
    let report = try Restore.restore(backup: target, to: scratch.path + "/named")
    #expect(report.damaged == [bad.claim.sha256] && report.damagedURLs == [place])
  }
}

/// Backups usually go to another disk, and so to another file system.
@Suite struct OtherFileSystemTests {
  private static let areTwo: Bool = {
    guard access("/dev/shm", W_OK) == 0 else { return false }
    return (try? Kernel.status("/dev/shm")?.device != Kernel.status("/tmp")?.device) ?? false
  }()

  @Test(.enabled(if: areTwo)) func backupToAnotherFileSystem() throws {
    let (here, there) = (Scratch(), try Scratch(in: "/tmp"))
    let store = try here.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b")])
    let target = there.path + "/backup"
    let report = try store.backUp(to: target)
    #expect(report.copied == 2 && report.damaged.isEmpty)
    let path = here.path + "/restored"
    _ = try Restore.restore(backup: target, to: path)
    let again = try Store(path: path)
    #expect(try again.checkup(deep: true).findings.isEmpty)
    #expect(try again.shop().digest == store.shop().digest)
  }
}
