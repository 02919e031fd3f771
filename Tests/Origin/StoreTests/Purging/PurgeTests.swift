import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// Purged bytes are removed with every version that had them, and can't be published again.
@Suite struct PurgeTests {
  private static let actor = Actor(name: "lead", address: "")
  private static let secret = Sample("secret")

  /// Versions 1 to 4; the secret is in 2 and 3.
  private static func made(_ scratch: Scratch) throws -> Store {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("1")])
    try store.publish(base: 1, set: ["a": secret])
    try store.publish(base: 2, set: ["b": Sample("2")])
    try store.publish(base: 3, set: ["a": Sample("3")])
    return store
  }

  private static func digest() throws -> SHA256 { try secret.content.sha256 }

  @Test func versionsAndFilesAreRemoved() throws {
    let scratch = Scratch()
    let store = try Self.made(scratch)
    let sha256 = try Self.digest()
    let channel = try store.channel(AppName("shop"), .online)
    _ = try store.pin(ManifestVersion(3), of: channel, reason: "shipped", by: Self.actor)
    _ = try store.acquireLease(holder: "a mirror", seconds: 600)
    let plan = try store.purgePlan(sha256)
    #expect(
      plan.uses.count == 1 && plan.uses[0].versions.map(\.number) == [2, 3] && plan.uses[0].live.isEmpty)
    #expect(plan.uses[0].pinned.map(\.number) == [3] && plan.size == 6)
    try store.forbid(sha256, reason: "a key", by: Self.actor)
    _ = try store.erase(plan, reason: "a key", by: Self.actor)
    #expect(
      try store.connections.reading { (db) throws(StoreError) in try db.versions(of: channel.id) }.map(
        \.number) == [1, 4])
    #expect(try store.leases().isEmpty && store.pins(of: channel).isEmpty)
    #expect(throws: StoreError.self) { _ = try store.open(sha256) }
    #expect(try Kernel.status(store.folder.blob(sha256)) == nil)
    // The remaining versions are unchanged, and so are the changes between them.
    #expect(
      try store.manifest(channel, at: ManifestVersion(1)).map(\.entry.sha256) == [
        try Sample("1").content.sha256
      ])
    let changes = try store.changes(
      store.channel(AppName("shop"), .online), from: ManifestVersion(1), to: ManifestVersion(4))
    #expect(changes.count == 2)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test func purgedBytesAreRefusedUntilThePurgeIsLifted() throws {
    let scratch = Scratch()
    let sha256 = try Self.digest()
    do {
      let store = try Self.made(scratch)
      try store.forbid(sha256, reason: "a key", by: Self.actor)
      _ = try store.erase(try store.purgePlan(sha256), reason: "a key", by: Self.actor)
    }
    // Also after a restart, in every way of uploading and releasing.
    let store = try scratch.open()
    func isPurged(_ body: () throws -> Void) -> Bool {
      do { try body() } catch StoreError.purged(let purges) { return purges.map(\.sha256) == [sha256] } catch
      {}
      return false
    }
    #expect(isPurged { _ = try store.missing(of: [sha256]) })
    #expect(isPurged { try store.send([Self.secret]) })
    #expect(
      isPurged { try store.receive([SmallFile(claim: Self.secret.claim, bytes: Self.secret.bytes[...])]) })
    #expect(isPurged { try store.publish(base: 4, set: ["c": Self.secret], sends: false) })
    #expect(isPurged { try store.publish(base: 4, set: ["c": Self.secret], dryRun: true, sends: false) })
    _ = try store.liftPurge(sha256, by: Self.actor)
    #expect(throws: StoreError.self) { try store.liftPurge(sha256, by: Self.actor) }
    try store.publish(base: 4, set: ["c": Self.secret])
  }

  @Test func liveBytesAreKept() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Self.secret, "b": Self.secret, "c": Sample("1")])
    let plan = try store.purgePlan(Self.digest())
    #expect(plan.uses[0].live.map(\.urls.count) == [2])
    #expect {
      _ = try store.erase(plan, reason: "a key", by: Self.actor)
    } throws: { if case StoreError.stillLive = $0 { true } else { false } }
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test func rollbackToPurgedBytesIsRefused() throws {
    let scratch = Scratch()
    let store = try Self.made(scratch)
    try store.forbid(Self.digest(), reason: "a key", by: Self.actor)
    let input = RollbackInput(
      app: try AppName("shop"), channel: .online, bundle: nil, to: .version(.number(ManifestVersion(3))),
      by: Self.actor, message: "", ifVersion: nil, breakGlass: nil, dryRun: false)
    #expect(throws: StoreError.self) { try store.rollback(input) }
    #expect(try store.channel(AppName("shop"), .online).version.number == 4)
  }

  /// Every URL at which a CDN may have the bytes, or what was made of them.
  @Test func everyURLIsListed() throws {
    let scratch = Scratch()
    let store = try Self.made(scratch)
    _ = try store.rebase(
      RebaseInput(
        app: try AppName("shop"), channel: .online, publicURL: try BaseURL("https://two.example.com"),
        by: Self.actor))
    let downloads = try store.purgePlan(Self.digest()).downloads
    let zips = ["2", "3", "1-2", "1-3", "2-3", "2-4", "3-5"].map { "/bundle/\($0).zip" }
    for base in ["https://cdn.example.com/x", "https://two.example.com"] {
      for ending in zips + ["/bundle/1-2.delta.zip"] {
        #expect(downloads.contains { $0.hasPrefix(base) && $0.hasSuffix(ending) }, "\(base) \(ending)")
      }
    }
    #expect(!downloads.contains { $0.hasSuffix("/1-4.zip") } && Set(downloads).count == downloads.count)
  }

  @Test func finishedPurgeListsItsURLsAgain() throws {
    let scratch = Scratch()
    let (sha256, page, download): (SHA256, String, String)
    let before: [String]
    do {
      let store = try scratch.open()
      try store.publish(base: 0, set: ["key.txt": Self.secret, "a": Sample("1")])
      let entry = try store.manifest(store.shop(), at: ManifestVersion(1))[1]
      (sha256, page, download) = (try Self.digest(), entry.url.text, entry.entry.download)
      try store.publish(base: 1, remove: ["key.txt"])
      let plan = try store.purgePlan(sha256)
      before = plan.downloads
      try store.forbid(sha256, reason: "a key", by: Self.actor)
      _ = try store.erase(plan, reason: "a key", by: Self.actor)
    }
    let store = try scratch.open()
    #expect(before.contains(download))
    for name in [page, download, before.last ?? ""] {
      #expect(try store.content(named: name) == sha256, "\(name)")
    }
    let plan = try store.purgePlan(sha256)
    #expect(plan.uses.isEmpty && Set(plan.downloads) == Set(before))
    // A lifted purge is removed with its URLs.
    _ = try store.liftPurge(sha256, by: Self.actor)
    #expect(try store.purgePlan(sha256).downloads.isEmpty)
    #expect(throws: StoreError.self) { try store.content(named: page) }
  }

  @Test func targetsOfAPurge() throws {
    let scratch = Scratch()
    let store = try Self.made(scratch)
    let channel = try store.channel(AppName("shop"), .online)
    let entry = try #require(try store.manifest(channel, at: ManifestVersion(3)).first)
    #expect(try store.content(named: entry.entry.download) == Self.digest())
    #expect(try store.content(named: Self.digest().hex) == Self.digest())
    #expect { _ = try store.content(named: entry.url.text) } throws: {
      guard case StoreError.severalContents(_, let contents) = $0 else { return false }
      return contents.map(\.sha256) == [
        try Sample("3").content.sha256, try Self.digest(), try Sample("1").content.sha256,
      ]
        && "\(contents[0])".hasSuffix("1 bytes, app shop, channel online, version 4, live")
        && "\(contents[1])".hasSuffix("6 bytes, app shop, channel online, versions 2–3")
    }
    #expect(throws: StoreError.self) { try store.content(named: "https://m.example.com/none") }
  }

  /// The number of zips grows with the square of the versions, and a million URLs can't be purged one by one.
  @Test func patternReplacesManyZips() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Self.secret])
    for version in 1..<120 { try store.publish(base: Int64(version), set: ["b": Sample("\(version)")]) }
    let few = try store.purgePlan(try Sample("119").content.sha256)
    #expect(few.uses[0].zips.count == 1 + 2 * 119)
    let many = try store.purgePlan(try Self.digest())
    #expect(many.uses[0].zips.count == 1)
    #expect(many.downloads.contains { $0.hasSuffix("/xcache/shop/bundle/*") })
  }

  /// As after a kill between transaction and removal of the files.
  @Test func interruptedPurgeIsFinished() throws {
    let scratch = Scratch()
    let sha256 = try Self.digest()
    do {
      let store = try Self.made(scratch)
      try store.forbid(sha256, reason: "a key", by: Self.actor)
      let plan = try store.purgePlan(sha256)
      try store.connections.transaction { (db) throws(StoreError) in try db.erase(plan) }
    }
    let store = try scratch.open()
    #expect(try Kernel.status(store.folder.blob(sha256)) != nil)
    #expect(try store.unfinishedPurges() == [sha256])
    try store.removeFiles(of: [sha256])
    #expect(try Kernel.status(store.folder.blob(sha256)) == nil)
    try store.endPurge(sha256)
    #expect(try store.unfinishedPurges().isEmpty)
  }

  @Test func purgeLiftedMeanwhileRemovesNothing() throws {
    let scratch = Scratch()
    let store = try Self.made(scratch)
    let sha256 = try Self.digest()
    try store.forbid(sha256, reason: "a key", by: Self.actor)
    let plan = try store.purgePlan(sha256)
    _ = try store.liftPurge(sha256, by: Self.actor)
    #expect {
      _ = try store.erase(plan, reason: "a key", by: Self.actor)
    } throws: {
      if case StoreError.notPurged = $0 { true } else { false }
    }
    #expect(try Kernel.status(store.folder.blob(sha256)) != nil)
  }

  /// The rest of a purge is removed by a list that was read before: bytes published again meanwhile are kept.
  @Test func bytesNoLongerPurgedAreKept() throws {
    let scratch = Scratch()
    let store = try Self.made(scratch)
    let sha256 = try Self.digest()
    try store.removeFiles(of: [sha256])
    #expect(try Kernel.status(store.folder.blob(sha256)) != nil)
    try store.forbid(sha256, reason: "a key", by: Self.actor)
    try store.removeFiles(of: [sha256])
    #expect(try Kernel.status(store.folder.blob(sha256)) != nil, "a version has them")
    _ = try store.erase(try store.purgePlan(sha256), reason: "a key", by: Self.actor)
    #expect(try Kernel.status(store.folder.blob(sha256)) == nil)
    _ = try store.liftPurge(sha256, by: Self.actor)
    #expect(throws: StoreError.self) { try store.note(pushed: ["xcache/1/1/1/u/x"], with: sha256) }
  }

  /// The number of a refused release is reused by the next one, to which a pack of the refused one doesn't lead.
  @Test func packOfARefusedReleaseIsRemoved() throws {
    let scratch = Scratch()
    let store = try Self.made(scratch)
    let channel = try store.channel(AppName("shop"), .online)
    let (three, four) = (ManifestVersion(3), ManifestVersion(4))
    let base = try #require(try store.digest(channel, at: three))
    let right = PackEnds(
      base: three, baseDigest: base, version: four, digest: try #require(try store.digest(channel, at: four)))
    let wrong = PackEnds(base: three, baseDigest: base, version: four, digest: SHA256.of([1]))
    #expect(try store.wants(right, of: channel.id) && !store.wants(wrong, of: channel.id))
    let coming = PackEnds(
      base: four, baseDigest: right.digest, version: ManifestVersion(5), digest: SHA256.of([1]))
    #expect(try store.wants(coming, of: channel.id))
    for (ends, isKept) in [(wrong, false), (right, true)] {
      let parts = PackParts(head: [1, 2], records: [], frames: ScratchFile(in: store.derived))
      let pack = try store.derived.keep(parts, ends, of: channel.id)
      #expect(try store.packsOfKeptVersions()[channel.id] == (isKept ? [pack] : nil))
      _ = try store.removeUnneededDerived()
      #expect(try (Kernel.status(store.derived.packFile(pack, of: channel)) != nil) == isKept)
    }
  }

  @Test func deltaFinishedAfterThePurgeIsNotStored() throws {
    let scratch = Scratch()
    let store = try Self.made(scratch)
    let (sha256, other) = (try Self.digest(), try Sample("1").content.sha256)
    #expect(try store.keep([1, 2, 3], of: sha256, on: other))
    #expect(try Kernel.status(store.derived.deltaFile(sha256, on: other)) != nil)
    try store.forbid(sha256, reason: "a key", by: Self.actor)
    for (target, base) in [(sha256, other), (other, sha256)] {
      #expect(try !store.keep([1, 2, 3], of: target, on: base))
      #expect(try Kernel.status(store.derived.deltaFile(target, on: base)) == nil)
    }
  }

  @Test func purgeIsReopenedForPushedFiles() throws {
    let scratch = Scratch()
    let store = try Self.made(scratch)
    let sha256 = try Self.digest()
    try store.reopen([sha256])
    #expect(try store.unfinishedPurges().isEmpty)
    try store.forbid(sha256, reason: "a key", by: Self.actor)
    try store.reopen([])
    #expect(try store.unfinishedPurges().isEmpty)
    try store.reopen([sha256])
    try store.reopen([sha256])
    #expect(try store.unfinishedPurges() == [sha256])
    let channel = try #require(try store.channels().first)
    try store.note(pushed: ["\(channel.name.space)/1/1/1/u/x", "xcache_new/1/1/1/u/x"], with: sha256)
    #expect(
      try store.purgePlan(sha256).earlier
        == ["\(channel.name.space)/1/1/1/u/x", "xcache_new/1/1/1/u/x"].map { "\(channel.publicURL)/\($0)" }
        .sorted())
    _ = try store.liftPurge(sha256, by: Self.actor)
    #expect(try store.unfinishedPurges().isEmpty)
  }

  /// A purge that was interrupted before its releases leaves the versions; a rollback to them is refused with the reason.
  @Test func rollbackDuringAPurgeIsRefused() throws {
    let scratch = Scratch()
    let store = try Self.made(scratch)
    try store.forbid(try Self.digest(), reason: "a key", by: Self.actor)
    func rollback(to version: Int64, dryRun: Bool) throws {
      var request = RollbackInput(
        app: try AppName("shop"), channel: .online, bundle: try BundleName("main"),
        to: .version(.number(ManifestVersion(version))), by: Self.actor, message: "")
      request.dryRun = dryRun
      _ = try store.rollback(request)
    }
    for dryRun in [true, false] {
      #expect {
        try rollback(to: 2, dryRun: dryRun)
      } throws: {
        if case StoreError.purged(let purges) = $0 {
          purges.map(\.sha256) == [try Self.digest()]
        } else {
          false
        }
      }
    }
    try rollback(to: 1, dryRun: false)
  }

  /// A concurrent backup would contain the purged bytes, or report them as damaged.
  @Test func backupDuringAPurgeStartsOver() throws {
    let scratch = Scratch()
    let store = try Self.made(scratch)
    let backup = scratch.path + "/backup"
    let plan = try store.purgePlan(try Self.digest())
    var isPurged = false
    #expect {
      _ = try store.backUp(to: backup) { _, _ in
        if isPurged { return }
        isPurged = true
        _ = try? store.forbid(plan.sha256, reason: "a key", by: Self.actor)
        _ = try? store.erase(plan, reason: "a key", by: Self.actor)
      }
    } throws: {
      if case StoreError.unknownLease = $0 { true } else { false }
    }
    #expect(try Kernel.status(backup + "/xcache.db") == nil)
    #expect(try store.backUp(to: backup).damaged.isEmpty)
  }

  @Test func partialFilesAreRemovedAtTheNextStart() throws {
    let scratch = Scratch()
    let part: String
    do {
      let store = try Self.made(scratch)
      part = "\(store.folder.packs)/1/0123456789ab.part"
      try Kernel.makeFolder(DurableFile.parent(of: part))
      try DurableFile.write(Self.secret.bytes, to: part)
    }
    _ = try scratch.open()
    #expect(try Kernel.status(part) == nil)
  }
}
