import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// How long packs are kept, and how much room they take.
@Suite struct PackKeepingTests {
  private static let day: Int64 = 24 * 3_600_000

  /// Three versions of a script, each renamed.
  private static func publish(_ origin: TestOrigin, upTo last: Int) throws {
    for version in 1...last {
      let script = PackServingTests.old + "let version = \(version);\n"
      try origin.publish(["v\(version).js": script], remove: version > 1 ? ["v\(version - 1).js"] : [])
    }
  }

  private static func paths(_ origin: TestOrigin) throws -> [String] {
    let channel = try #require(try origin.store.channels().first)
    return try origin.store.derived.packs().map { $0.pack.path(of: channel).text }.sorted()
  }

  private static func answers(_ origin: TestOrigin, _ path: String) throws -> Int {
    try origin.onAnotherLoop().ask("GET", "/\(path)").status
  }

  @Test func gcRemovesPacksThatWereReplacedADayAgo() throws {
    let now = Locked<Int64>(1_763_500_000_000)
    let origin = try TestOrigin(clock: { now.withLock { $0 } })
    try Self.publish(origin, upTo: 3)
    let packs = try Self.paths(origin)
    #expect(packs.count == 2)
    now.withLock { $0 += Self.day - 1 }
    #expect(try origin.store.collect(dryRun: true).derived.count == 0)
    _ = try origin.store.collect()
    for pack in packs { #expect(try Self.answers(origin, pack) == 200) }
    now.withLock { $0 += 1 }
    let forecast = try origin.store.collect(dryRun: true).derived
    let report = try origin.store.collect().derived
    #expect(report.count == 1 && forecast.count == 1 && report.bytes == forecast.bytes)
    #expect(try Self.paths(origin) == [packs[1]])
    #expect(try Self.answers(origin, packs[0]) == 404 && Self.answers(origin, packs[1]) == 200)
    now.withLock { $0 += 100 * Self.day }
    _ = try origin.store.collect()
    #expect(try Self.paths(origin) == [packs[1]])
  }

  @Test func gcRemovesPacksOfRemovedBases() throws {
    let now = Locked<Int64>(1_763_500_000_000)
    let origin = try TestOrigin(clock: { now.withLock { $0 } })
    try Self.publish(origin, upTo: 2)
    var policy = RetentionPolicy()
    (policy.versions, policy.days) = (1, 0)
    now.withLock { $0 += Self.day }
    _ = try origin.store.collect(policy)
    #expect(try Self.paths(origin).isEmpty)
  }

  /// Unused packs are removed to make room; a pack without room isn't made, and the release succeeds.
  @Test func quotaIsRespected() throws {
    let origin = try TestOrigin()
    try Self.publish(origin, upTo: 3)
    let packs = try origin.store.derived.packs().map(\.pack)
    let sizes = packs.map(\.size)
    let all = sizes.reduce(0, +)
    #expect(try origin.store.makePackSpace(all, for: 0))
    #expect(try origin.store.derived.packs().count == 2)
    #expect(try origin.store.makePackSpace(all, for: 1))
    #expect(try origin.store.derived.packs().map(\.pack.version) == [ManifestVersion(3)])
    #expect(try !origin.store.makePackSpace(all, for: all))
    #expect(try origin.store.derived.packs().count == 1)
    let small = try TestOrigin { $0.packs.quota = 10 }
    try Self.publish(small, upTo: 2)
    #expect(try small.store.derived.packs().isEmpty)
    let answer = try small.ask("GET", "/configure.json?app=shop&version=1&patch=1&pack=1")
    #expect(answer.json["data"]?["update"]?.bool == true && answer.json["data"]?["pack"] == nil)
    let low = try TestOrigin { $0.packs.largest = 10 }
    try Self.publish(low, upTo: 2)
    #expect(try low.store.derived.packs().isEmpty)
  }

  /// A pack that isn't smaller than what it replaces isn't made, and that is recorded.
  @Test func packsNotWorthMakingAreSkipped() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "1", "b.js": "2"])
    try origin.publish(["a.js": "1"], remove: ["b.js"])
    let data = try origin.ask("GET", "/configure.json?app=shop&version=1&patch=1&pack=1").json["data"]
    #expect(data?["patch"] != nil && data?["pack"] == nil)
    let channel = try #require(try origin.store.channels().first)
    let digests = try [1, 2].map { try #require(try origin.store.digest(channel, at: ManifestVersion($0))) }
    let ends = PackEnds(
      base: ManifestVersion(1), baseDigest: digests[0], version: ManifestVersion(2), digest: digests[1])
    #expect(try origin.store.derived.pack(ends, of: channel.id) == .refused)
    let others = PackEnds(
      base: ManifestVersion(1), baseDigest: digests[1], version: ManifestVersion(2), digest: digests[1])
    #expect(try origin.store.derived.pack(others, of: channel.id) == .nothing)
  }

  @Test func checkupCountsPacks() throws {
    let origin = try TestOrigin()
    try Self.publish(origin, upTo: 3)
    #expect(try origin.store.checkup(deep: true).packs == 2)
    #expect(try origin.store.checkup(deep: true).isClean)
    let channel = try #require(try origin.store.channels().first)
    let pack = try #require(try origin.store.derived.packs().first?.pack)
    try flip(origin.store.derived.packFile(pack, of: channel))
    let shallow = try origin.store.checkup(deep: false)
    #expect(shallow.findings.isEmpty)
    let deep = try origin.store.checkup(deep: true)
    #expect(deep.isClean && deep.findings.map(\.code) == ["pack"])
  }

  /// Releases by rollback and promotion have packs, too.
  @Test func rollbackIsVisibleWithItsPack() throws {
    let origin = try TestOrigin()
    try Self.publish(origin, upTo: 2)
    let online = "apps/shop/channels/online"
    let done = try origin.api("POST", "\(online)/rollback", ["allBundles": true, "to": "1"])
    #expect(done.status == 201 && done.json["deltasStored"]?.bool == true, "\(done.text)")
    let poll = "/configure.json?app=shop&version=2&patch=1&pack=1"
    let (path, _) = try #require(try PackServingTests.pack(origin, poll))
    let device = try DecodedPack(try origin.ask("GET", path).body, of: origin, base: 2)
    #expect(device.manifest == (try origin.manifest(3)))
    try origin.publish(["v1.js": "other", "v2.js": PackServingTests.old], channel: "test")
    let promoted = try origin.api("POST", "apps/shop/channels/test/promote", ["from": "online"])
    #expect(promoted.status == 201, "\(promoted.text)")
    let data = try origin.ask(
      "GET", "/xcache_test/shop/configure.json?version=1&patch=1&pack=1"
    ).json["data"]
    #expect(data?["pack"] != nil)
  }

  /// A pack is named only once it is where devices download.
  @Test func packIsPushedBeforeItIsNamed() throws {
    let pushed = Locked<[StoredPack]>([])
    let fails = Locked(false)
    let origin = try TestOrigin { options in
      options.push = ReleasePush(names: { ["\($0.version)"] }, push: { _ in }) {
        (pack, _) throws(StoreError) in
        if fails.withLock({ $0 }) { throw .pushFailed(place: "there", reason: "a test") }
        pushed.withLock { $0.append(pack) }
      }
    }
    try Self.publish(origin, upTo: 2)
    let (path, _) = try #require(try PackServingTests.pack(origin))
    let first = try #require(pushed.withLock { $0.first })
    #expect(pushed.withLock { $0.count } == 1 && path.hasSuffix("-\(first.sha256.hex.prefix(16)).xpk"))
    #expect(try origin.store.derived.packs().map(\.pack.isPushed) == [true])
    // A pack that can't be pushed is omitted, and follows.
    fails.withLock { $0 = true }
    try origin.publish(["v3.js": PackServingTests.new], remove: ["v2.js"])
    let poll = "/configure.json?app=shop&version=2&patch=1&pack=1"
    let data = try origin.ask("GET", poll).json["data"]
    #expect(data?["version"]?.string == "3" && data?["update"]?.bool == true && data?["pack"] == nil)
    fails.withLock { $0 = false }
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    let end = Clock.monotonicNanoseconds() + 20_000_000_000
    while try PackServingTests.pack(origin, poll) == nil, Clock.monotonicNanoseconds() < end {
      Clock.sleep(for: .milliseconds(10))
    }
    #expect(try PackServingTests.pack(origin, poll) != nil)
  }

  /// The cost that `publish` prints is what a device downloads.
  @Test func costIsWhatADeviceDownloads() throws {
    let origin = try PackServingTests.published()
    let online = "apps/shop/channels/online"
    let size = try #require(try PackServingTests.pack(origin)).size
    let cost = try origin.api("GET", "\(online)/diff?from=1&to=2").json["cost"]
    #expect(cost?["pack"]?.integer == size && cost?["requests"]?.integer == 2)
    let answer = Int64(try origin.ask("GET", PackServingTests.poll).body.count)
    #expect(cost?["answer"]?.integer == answer && cost?["total"]?.integer == answer + size)
    #expect(try origin.api("GET", "\(online)/releases/2").json["cost"] == cost)
    // For a first version, the cost is what a new device downloads.
    #expect(try origin.api("GET", "\(online)/releases/1").json["cost"]?["total"]?.integer ?? 0 > 0)
    let rollback: JSONValue = ["allBundles": true, "dryRun": true, "to": "1"]
    let update = try origin.api("POST", "\(online)/rollback", rollback).json["cost"]?["update"]
    let forecast = try #require(update?["pack"]?.integer)
    let done = try origin.api("POST", "\(online)/rollback", ["allBundles": true, "to": "1"])
    #expect(done.json["cost"]?["update"] == update && done.json["patch"] == nil)
    let poll = "/configure.json?app=shop&version=2&patch=1&pack=1"
    let made = try #require(try PackServingTests.pack(origin, poll)).size
    #expect(forecast == made)
  }
}

extension PackKeepingTests {
  /// The cost includes no pack that exceeds the room; that is logged once, and counted.
  @Test func costRespectsTheQuota() throws {
    for room in [0, Int64(1) << 20] {
      let lines = Locked<[String]>([])
      let origin = try TestOrigin { options in
        options.packs.quota = room
        options.log = { line in lines.withLock { $0.append(line) } }
      }
      try Self.publish(origin, upTo: 1)
      let online = "apps/shop/channels/online"
      let script = PackServingTests.old + "let version = 2;\n"
      let release = try origin.release(["v2.js": script], remove: ["v1.js"])
      var answer = try origin.api("POST", "\(online)/preparations", release).json
      let end = Clock.monotonicNanoseconds() + 20_000_000_000
      while answer["done"]?.bool != true, Clock.monotonicNanoseconds() < end {
        Clock.sleep(for: .milliseconds(10))
        let id: JSONValue = ["id": .string(answer["id"]?.string ?? "")]
        answer = try origin.api("POST", "\(online)/preparations", id).json
      }
      let cost = answer["cost"]?["last1"]
      #expect((cost?["pack"] != nil) == (room > 0), "\(answer)")
      try origin.publish(["v2.js": script], remove: ["v1.js"])
      #expect(try origin.store.derived.packs().count == (room > 0 ? 1 : 0))
      let lineCount = lines.withLock { $0.filter { $0.contains("--pack-room") }.count }
      #expect(lineCount == (room > 0 ? 0 : 1))
      let metrics = try origin.ask("GET", "/metrics").text
      #expect(metrics.contains("xcache_packs_without_room_total \(room > 0 ? 0 : 1)\n"))
    }
  }
}
