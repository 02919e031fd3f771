import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// How long first packs are kept, and how much room they take.
@Suite struct FirstPackKeepingTests {
  private static let day: Int64 = 24 * 3_600_000

  /// Releases the sample, with other bytes in its larger files for each version, and makes the first pack.
  private static func make(_ origin: TestOrigin, _ version: Int) throws -> StoredPack {
    var files = FirstPackServingTests.files
    for name in ["main", "beta", "zeta", "alone"] where version > 1 {
      files["js/\(name).js"] = FirstPackServingTests.script(name, version)
    }
    try origin.publish(files)
    return try #require(try work(origin))
  }

  /// Makes the first pack of what there is, if one is wanted; returns what is named.
  private static func work(_ origin: TestOrigin) throws -> StoredPack? {
    let worker = FirstPackServingTests.worker(origin)
    let channel = try #require(origin.origin.catalog.current.channels.first?.channel)
    try worker.choose(channel)
    _ = try worker.work(channel) { true }
    guard case .stored(let pack) = origin.origin.builder.packs.firsts.choice(of: channel) else { return nil }
    return pack
  }

  private static func versions(_ origin: TestOrigin) throws -> [Int64] {
    try origin.store.derived.packs().filter { $0.pack.isFirst }.map(\.pack.version.number).sorted()
  }

  @Test func gcRemovesOneADayAfterAnotherTookItsPlace() throws {
    let now = Locked<Int64>(1_763_500_000_000)
    let origin = try TestOrigin(clock: { now.withLock { $0 } })
    _ = try Self.make(origin, 1)
    now.withLock { $0 += 100 * Self.day }
    _ = try origin.store.collect()
    #expect(try Self.versions(origin) == [1])
    _ = try Self.make(origin, 2)
    now.withLock { $0 += Self.day - 1 }
    #expect(try origin.store.collect(dryRun: true).derived.count == 0)
    _ = try origin.store.collect()
    #expect(try Self.versions(origin) == [1, 2])
    now.withLock { $0 += 1 }
    let forecast = try origin.store.collect(dryRun: true).derived.count
    let report = try origin.store.collect().derived.count
    #expect(forecast >= 1 && report == forecast)
    #expect(try Self.versions(origin) == [2])
    now.withLock { $0 += 100 * Self.day }
    _ = try origin.store.collect()
    #expect(try Self.versions(origin) == [2])
    // Beside the pack of the update.
    #expect(FirstPackServingTests.packNames(origin).count { $0.hasPrefix("0-") } == 1)
  }

  /// It goes with the version that it was made for, and another one is made.
  @Test func gcRemovesThatOfARemovedVersion() throws {
    let lines = Locked<[String]>([])
    let origin = try TestOrigin { $0.log = { line in lines.withLock { $0.append(line) } } }
    _ = try Self.make(origin, 1)
    try origin.publish(["long/about.html": "<title>about us</title>"])
    #expect(try Self.work(origin)?.version == ManifestVersion(1))
    var policy = RetentionPolicy()
    (policy.versions, policy.days) = (1, 0)
    _ = try origin.store.collect(policy)
    #expect(try Self.versions(origin).isEmpty && origin.origin.builder.packs.firsts.named(1).isEmpty)
    #expect(lines.withLock { $0.count { $0.contains("first pack") } } == 0)
    #expect(try Self.work(origin)?.version == ManifestVersion(2))
  }

  @Test func purgeRemovesIt() throws {
    let origin = try TestOrigin()
    let pack = try Self.make(origin, 1)
    let channel = try #require(try origin.store.channels().first)
    try origin.publish([:], remove: ["long/about.html"])
    let sha256 = SHA256.of(Array("<title>about</title>".utf8))
    let plan = try origin.store.purgePlan(sha256)
    #expect(plan.downloads.contains(pack.offer(of: channel).download))
    let actor = Actor(name: "admin", address: "")
    try origin.store.forbid(sha256, reason: "a key", by: actor)
    #expect(try Self.work(origin)?.version == ManifestVersion(1))
    // No manifest names it before its file goes.
    let moments = Locked<[[Bool]]>([])
    let (firsts, file) = (
      origin.origin.builder.packs.firsts, origin.store.derived.packFile(pack, of: channel)
    )
    origin.store.changes.subscribe {
      let isThere = ((try? Kernel.status(file)) ?? nil) != nil
      moments.withLock { $0.append([firsts.named(1).isEmpty, isThere]) }
    }
    _ = try origin.store.erase(plan, reason: "a key", by: actor)
    #expect(moments.withLock { $0.first == [true, true] && $0.last == [true, false] })
    #expect(try Self.versions(origin).isEmpty && FirstPackServingTests.packNames(origin).isEmpty)
    #expect(try Self.work(origin)?.version == ManifestVersion(2))
  }

  /// One that was replaced makes room, the newest one stays.
  @Test func quotaIsRespected() throws {
    let origin = try TestOrigin()
    for version in 1...2 { _ = try Self.make(origin, version) }
    let store = origin.store
    for pack in try store.derived.packs() where !pack.pack.isFirst {
      try store.derived.drop(pack.pack, of: pack.channel)
    }
    let all = try store.derived.packs().reduce(0) { $0 + $1.pack.size }
    #expect(try store.hasPackSpace(all, for: 1) && !store.hasPackSpace(all, for: all))
    #expect(try store.firstPackRoom(all, of: 1) == all && store.firstPackRoom(all, of: 2) < all)
    #expect(try store.makePackSpace(all, for: 1))
    #expect(try Self.versions(origin) == [2])
    #expect(try !store.makePackSpace(all, for: all))
    #expect(try Self.versions(origin) == [2])
    #expect(try store.makePackSpace(all, for: all, first: 1))
    #expect(try Self.versions(origin).isEmpty)
  }

  @Test func checkupCountsAndChecksThem() throws {
    let origin = try TestOrigin()
    let pack = try Self.make(origin, 1)
    #expect(try origin.store.checkup(deep: true).packs == 1)
    #expect(try origin.store.checkup(deep: true).isClean)
    let channel = try #require(try origin.store.channels().first)
    try flip(origin.store.derived.packFile(pack, of: channel))
    #expect(try origin.store.checkup(deep: true).findings.map(\.code) == ["pack"])
  }

  /// Of what was pushed, only the newest one is expected there.
  @Test func pushedOnesAreListedWhileTheyAreNamed() throws {
    let origin = try TestOrigin()
    for version in 1...2 {
      let pack = try Self.make(origin, version)
      try origin.store.derived.notePushed(pack, of: 1)
    }
    let pushed = try origin.store.pushedFiles().map(\.path).filter { $0.contains("/pack/0-") }
    #expect(pushed.count == 1 && pushed[0].hasPrefix("xcache/shop/pack/0-2-"))
    let known = try origin.store.packsOfKeptVersions()[1] ?? []
    #expect(known.filter(\.isFirst).map(\.version.number).sorted() == [1, 2])
  }

  /// What a version lacks and what it has in vain together decide.
  @Test(arguments: [
    (800, 0, true), (700, 0, true), (699, 0, false), (800, 100, true), (800, 101, false), (750, 50, true),
    (750, 51, false),
  ])
  func packsServeUpToAnEighth(common: Int64, vain: Int64, serves: Bool) throws {
    var (need, packed) = (FirstPackNeed(), FirstPackNeed())
    func digest(_ number: UInt8) -> SHA256 { SHA256.of([number]) }
    #expect(need.add(digest(1), size: common) && !need.add(digest(1), size: common))
    _ = packed.add(digest(1), size: common)
    if common < 800 { _ = need.add(digest(2), size: 800 - common) }
    if vain > 0 { _ = packed.add(digest(3), size: vain) }
    #expect(need.bytes == 800)
    #expect(need.isServed(by: packed) == serves)
  }
}
