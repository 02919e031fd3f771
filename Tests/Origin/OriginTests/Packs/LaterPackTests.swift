import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// Packs that can't be made or pushed at first, and are retried.
@Suite struct LaterPackTests {
  /// A script with little in common with those of other names.
  private static func script(_ name: String, _ version: Int) -> String {
    let text = (0..<2000).map {
      "let \(name)\($0) = '\(SHA256.of(Array("\(name)\($0)".utf8)).hex.prefix(9))';"
    }
    return text.joined(separator: "\n") + "let version = \(SHA256.of([UInt8(version)]).hex);"
  }

  /// A script with nothing in common with its other versions, so that its pack is as large as itself.
  private static func unrelated(_ version: Int) -> String { script("v\(version)", version) }

  private static func poll(_ channel: String, _ base: Int) -> String {
    "/xcache\(channel == "online" ? "" : "_\(channel)")/shop/configure.json?version=\(base)&patch=1&pack=1"
  }

  /// A pack without room is made when another channel's frees its room, and not tried before.
  @Test func packWithoutRoomIsMadeOnceThereIsSome() throws {
    // Room for one pack, but not for two.
    var room: Int64 = 0
    do {
      let origin = try TestOrigin()
      for version in 1...2 { try origin.publish(["a.js": Self.unrelated(version)]) }
      room = try #require(try origin.store.derived.packs().first?.pack.size)
      room += room / 2
    }
    let origin = try TestOrigin { $0.packs.quota = room }
    for channel in ["online", "test"] {
      for version in 1...2 { try origin.publish(["a.js": Self.unrelated(version)], channel: channel) }
    }
    #expect(try origin.store.derived.packs().count == 1)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    let service = origin.origin.api.releases.deltas
    #expect(try PackServingTests.becomesTrue { service.backlog.pending == 0 })
    // Nothing to do now, and the pack isn't forgotten.
    let metrics = try origin.ask("GET", "/metrics").text
    #expect(metrics.contains("xcache_packs_without_room_total 1\n"))
    #expect(try PackServingTests.pack(origin, Self.poll("test", 1)) == nil)
    // A release that removes the other channel's files has no pack, and makes the old one unused.
    let gone: JSONValue = ["bundles": [["bundle": "main", "unpublish": true]]]
    #expect(try origin.api("POST", "apps/shop/channels/online/releases", gone).status == 201)
    #expect(
      try PackServingTests.becomesTrue { try PackServingTests.pack(origin, Self.poll("test", 1)) != nil })
    #expect(try PackServingTests.becomesTrue { service.backlog.pending == 0 })
  }

  /// A push that fails is retried without another release; deltas don't wait for it.
  @Test func failedPushIsRetried() throws {
    let attempts = Locked<[Int64]>([])
    let fails = Locked(true)
    let lines = Locked<[String]>([])
    let origin = try TestOrigin { options in
      options.log = { line in lines.withLock { $0.append(line) } }
      options.push = ReleasePush(names: { ["\($0.version)"] }, push: { _ in }) {
        (pack, _) throws(StoreError) in
        attempts.withLock { $0.append(pack.base.number) }
        if fails.withLock({ $0 }) { throw .pushFailed(place: "there", reason: "a test") }
      }
    }
    for version in 1...3 { try origin.publish(["a.js": Self.script("a", version)]) }
    attempts.withLock { $0 = [] }
    lines.withLock { $0 = [] }
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    let service = origin.origin.api.releases.deltas
    // Both bases, the newer one first; then the rest of the work is done, and status shows what is left.
    let channel = try #require(try origin.store.channels().first)
    #expect(try PackServingTests.becomesTrue { service.backlog.progress(of: channel.id)?.failing == 2 })
    #expect(attempts.withLock { Array($0.prefix(2)) } == [2, 1])
    let state = try origin.api("GET", "apps/shop/channels/online").json["deltas"]
    #expect(state?["pending"]?.integer == 2 && state?["failing"]?.integer == 2)
    #expect(state?["fault"]?.string?.contains("could not be pushed to there: a test") == true)
    #expect(!service.backlog.isBusy(channel.id, at: channel.version))
    let deltas = try origin.ask("GET", Self.poll("online", 1)).json["data"]?["deltas"]
    #expect(deltas?.object?.members.count == 1)
    // Logged once, and not as if a release waited for it.
    #expect(
      lines.withLock { $0.filter { $0.contains("pushed") } } == [
        "error: deltas and packs of shop online 3 could not be pushed to there: a test; they will be tried again, and "
          + "devices download whole files meanwhile"
      ])
    fails.withLock { $0 = false }
    for base in 1...2 {
      #expect(
        try PackServingTests.becomesTrue {
          try PackServingTests.pack(origin, Self.poll("online", base)) != nil
        })
    }
    #expect(attempts.withLock { Array($0.suffix(2)) } == [2, 1])
    #expect(try PackServingTests.becomesTrue { service.backlog.pending == 0 })
    #expect(
      try origin.store.derived.packs().filter { $0.pack.version.number == 3 }.allSatisfy { $0.pack.isPushed })
  }

  @Test func retryIntervalsGrow() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "1"])
    let channel = try #require(try origin.store.channels().first)
    let base = ManifestVersion(0)
    var later = PostponedBases()
    #expect(later.pause == .infinity && !later.holds(channel, base))
    later.note(channel, base, .push("no way"))
    #expect(later.holds(channel, base) && later.pause > 1 && later.pause <= 2)
    #expect(!later.holds(channel.at(ManifestVersion(2), digest: SHA256.of([])), base))
    #expect(later.removeDue { _ in true }.isEmpty)
    later.note(channel, base, .space(10))
    #expect(later.removeDue { $0 < 10 }.isEmpty && later.holds(channel, base))
    #expect(later.faults(of: channel).count == 0)
    #expect(later.removeDue { $0 <= 10 } == [channel.id] && !later.holds(channel, base))
    // Each failed base waits independently.
    later.note(channel, base, .error("one"))
    later.note(channel, ManifestVersion(1), .error("two"))
    #expect(later.pause > 1 && later.pause <= 2 && later.removeDue { _ in true }.isEmpty)
    #expect(later.faults(of: channel).count == 2 && later.faults(of: channel).newest == "two")
    later.succeeded(channel, base)
    #expect(!later.holds(channel, base) && later.faults(of: channel).count == 1)
  }

  /// The drafts of a dry run expire, even if no other release is planned.
  @Test func draftsOfDryRunsExpire() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script("a", 1)])
    let channel = try #require(try origin.store.channels().first)
    _ = try PackCostTests.prepare(origin, try origin.release(["a.js": Self.script("a", 2)]))
    let service = origin.origin.api.releases.deltas
    #expect(service.packDrafts(of: channel.id).count == 1)
    service.dropDrafts()
    #expect(service.packDrafts(of: channel.id).count == 1)
    service.dropDrafts(olderThan: 0)
    #expect(service.packDrafts(of: channel.id).isEmpty)
  }

  /// A large pack is assembled before the transaction of its release, so that other releases needn't wait for it.
  @Test(arguments: [true, false]) func largePackIsAssembledBeforeTheTransaction(isLarge: Bool) throws {
    let folder = Locked("")
    let peak = Locked(0)
    let clock: @Sendable () -> Int64 = {
      // The clock is read within the transaction.
      let path = folder.withLock { $0 }
      let names = path.isEmpty ? [] : (try? Folder.textNames("\(path)/derived/packs/1")) ?? []
      peak.withLock { $0 = max($0, names.filter { $0.hasSuffix(".xpk") }.count) }
      return 1_763_500_000_000
    }
    let origin = try TestOrigin({ $0.packs.preassemblyThreshold = isLarge ? 1000 : 1 << 20 }, clock: clock)
    try origin.publish(["a.js": Self.unrelated(1)])
    let release = try origin.release(["a.js": Self.unrelated(2)])
    folder.withLock { $0 = origin.folder }
    #expect(try origin.api("POST", "apps/shop/channels/online/releases", release).status == 201)
    #expect(peak.withLock { $0 } == (isLarge ? 1 : 0))
    #expect(try PackServingTests.pack(origin, Self.poll("online", 1)) != nil)
    #expect(try origin.store.derived.packs().count == 1)
  }
}
