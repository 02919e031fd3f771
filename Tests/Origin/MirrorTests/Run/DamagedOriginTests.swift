import Manifests
import Store
import System
import Testing

@testable import Mirror

@Suite("Copies of an origin with a damaged disk")
struct DamagedOriginTests {
  enum Damage: CaseIterable { case changed, gone }

  @Test("A damaged file stops only its channel, which stays unchanged", arguments: Damage.allCases)
  func oneFile(damage: Damage) throws {
    let places = ["shop online", "mall online"]
    let bench = try ChannelsTests.bench(places)
    for place in places { try ChannelsTests.publish(bench, place, 2) }
    let bad = SHA256.of(Array("run('shop online', 2)".utf8))
    let blob = bench.store.folder.blob(bad)
    let bytes = try #require(try DurableFile.read(blob))
    try Kernel.remove(blob)
    if damage == .changed { try DurableFile.write([0] + bytes.dropFirst(), to: blob) }
    let before = try Bench.files(bench.www)
    let report = try bench.mirror { ($0.prunes, $0.grace, $0.keep) = (true, 0, 0) }
    #expect(report.stopped.map(\.description) == ["shop online"] && report.damaged == [bad])
    let place = try #require(report.damagedURLs.first)
    #expect(place.url == Bench.base + "app.2.js" && place.bundle == "main" && place.app == "shop")
    let index = try bench.index
    #expect(index.channels.filter(\.isUnfinished).map(\.name.description) == ["shop online"])
    #expect(index.channels.first { $0.app.text == "mall" }?.version == ManifestVersion(2))
    #expect(index.channels.first { $0.app.text == "shop" }?.version == ManifestVersion(1))
    let after = try Bench.files(bench.www)
    for (path, bytes) in before where path.hasPrefix("xcache/shop/") {
      #expect(after[path] == bytes, "\(path)")
    }
    try ChannelsTests.requireNothingMissing(bench.www, places)
    let registered = try #require(try bench.store.mirrors().first).versions
    #expect(Set(registered.map { "\($0.app) \($0.version)" }) == ["shop 1", "mall 2"])
    try DurableFile.write(bytes, to: blob)
    #expect(try bench.mirror().stopped.isEmpty)
    #expect(try Verification(FolderReader(bench.www)).run().divergences.isEmpty)
  }

  @Test(
    "Damaged files of older versions delay neither the newest version nor the candidate",
    arguments: Damage.allCases
  )
  func olderVersion(damage: Damage) throws {
    let places = ["shop online"]
    let bench = try ChannelsTests.bench(places)
    for version in 2...5 { try ChannelsTests.publish(bench, places[0], version) }
    let bad = SHA256.of(Array("run('shop online', 3)".utf8))
    let blob = bench.store.folder.blob(bad)
    let bytes = try #require(try DurableFile.read(blob))
    try Kernel.remove(blob)
    if damage == .changed { try DurableFile.write([0] + bytes.dropFirst(), to: blob) }
    let fresh = bench.folder + "/fresh"
    for place in [bench.www, fresh] {
      let report = try bench.mirror(place)
      #expect(report.stopped.isEmpty && report.damaged == [bad] && report.damagedURLs.isEmpty)
      #expect(report.channels.map(\.version) == [ManifestVersion(5)])
      #expect(report.leftVersions.map(\.versions) == [[1, 2, 3].map { ManifestVersion($0) }])
      let reader = FolderReader(place)
      #expect(try Verification(reader).run().divergences.isEmpty)
      #expect(try reader.index().0.channels.first?.versions.map(\.number) == [4, 5])
    }
    try DurableFile.write(bytes, to: blob)
    let healed = try bench.mirror(fresh)
    #expect(healed.leftVersions.isEmpty && healed.damaged.isEmpty)
    let versions = try FolderReader(fresh).index().0.channels.first?.versions.map(\.number)
    #expect(versions == [1, 2, 3, 4, 5])
  }

  @Test("Purged bytes are removed from a channel that can't be updated, too", arguments: ["", "shop"])
  func purgedWhereStopped(app: String) throws {
    let places = ["shop online", "mall online"]
    let bench = try ChannelsTests.bench(places)
    let secret = SHA256.of(Array("a secret".utf8))
    try bench.release("main", ["key.txt": "a secret"], in: "shop online")
    try bench.mirror()
    let held = try bench.index
    let path = try #require(
      held.channels.first { $0.app.text == "shop" }?.files.first { $0.file.sha256 == secret }?.path)
    try bench.release("main", ["key.txt": "nothing", "new.js": "damaged"], in: "shop online")
    let actor = Actor(name: "lead", address: "")
    try bench.store.forbid(secret, reason: "a key of ours", by: actor)
    _ = try bench.store.erase(bench.store.purgePlan(secret), reason: "a key of ours", by: actor)
    try Kernel.remove(bench.store.folder.blob(SHA256.of(Array("damaged".utf8))))
    let selection = app.isEmpty ? ChannelSelection.all : try ChannelsTests.selection("shop online")
    let report = try bench.mirror { $0.selection = selection }
    #expect(report.stopped.map(\.description) == ["shop online"])
    #expect(report.lacking.map(\.description) == ["shop online"] && report.removed == 1)
    #expect(try Kernel.status("\(bench.www)/\(path)") == nil)
    let files = try Bench.files(bench.www)
    #expect(
      !files.values.contains { $0.count < 1000 && String(decoding: $0, as: UTF8.self).contains("a secret") })
    #expect(try bench.index.leaving[path] == nil)
    try DurableFile.write(
      Array("damaged".utf8), to: bench.store.folder.blob(SHA256.of(Array("damaged".utf8))))
    let healed = try bench.mirror()
    #expect(healed.stopped.isEmpty && healed.lacking.isEmpty)
    #expect(try Verification(FolderReader(bench.www)).run().divergences.isEmpty)
  }

  @Test("A run for one app removes deltas of purged bytes, which all apps share")
  func purgedDeltas() throws {
    let bench = try Bench(versions: 0)
    func text(_ version: Int) -> String { "run(\(version))" + String(repeating: "x", count: 4000) }
    for version in 1...2 { try bench.release("main", ["app.js": text(version)]) }
    let (target, base) = (SHA256.of(Array(text(2).utf8)), SHA256.of(Array(text(1).utf8)))
    try bench.store.derived.keep([1, 2, 3, 4], of: target, on: base)
    try bench.mirror()
    func deltas() throws -> [String] { try Bench.files(bench.www).keys.filter { $0.hasSuffix(".dcz") } }
    try #require(try deltas().count == 1)
    try bench.release("main", ["app.js": text(3)])
    let actor = Actor(name: "lead", address: "")
    try bench.store.forbid(target, reason: "a key of ours", by: actor)
    _ = try bench.store.erase(bench.store.purgePlan(target), reason: "a key of ours", by: actor)
    let name = try #require(try bench.index.channels.first).name
    try bench.mirror { $0.selection = ChannelSelection(apps: [name.app], channels: []) }
    #expect(try deltas().isEmpty)
  }

  @Test("Files published by a killed run in a channel that can't be mirrored now are never pruned")
  func shownBefore() throws {
    let places = ["shop online", "zeta online"]
    let bench = try ChannelsTests.bench(places)
    for place in places { try ChannelsTests.publish(bench, place, 2) }
    let first = bench.www + "/xcache/shop/configure.json"
    let (before, mark) = (try DurableFile.read(first), bench.www + "/" + RunMark.path)
    var calls = 0
    while try DurableFile.read(first) == before {
      _ = try? bench.mirror(from: FailingSource(bench.store, after: calls)) { $0.keep = 0 }
      calls += 1
    }
    // The channel's documents name files that aren't in mirror.json.
    try #require(
      try DurableFile.read(mark) != nil && bench.index.channels.allSatisfy { $0.version.number == 1 })
    try ChannelsTests.publish(bench, "shop online", 3)
    try Kernel.remove(bench.store.folder.blob(SHA256.of(Array("run('shop online', 3)".utf8))))
    let report = try bench.mirror { ($0.prunes, $0.grace, $0.keep) = (true, 0, 0) }
    #expect(report.stopped.map(\.description) == ["shop online"])
    try ChannelsTests.requireNothingMissing(bench.www, places)
  }

  @Test("A damaged delta is skipped, and doesn't stop the run")
  func delta() throws {
    let bench = try Bench(versions: 0)
    for version in 1...2 {
      try bench.release("main", ["app.js": "run(\(version))" + String(repeating: "x", count: 4000)])
    }
    func digest(_ version: Int) -> SHA256 {
      .of(Array(("run(\(version))" + String(repeating: "x", count: 4000)).utf8))
    }
    let (target, base) = (digest(2), digest(1))
    try bench.store.derived.keep([1, 2, 3, 4], of: target, on: base)
    try bench.mirror()
    #expect(try Bench.files(bench.www).keys.contains { $0.hasSuffix(".dcz") })
    try DurableFile.write([1, 2, 3, 5], to: bench.store.derived.deltaFile(target, on: base))
    let fresh = bench.folder + "/fresh"
    let report = try bench.mirror(fresh)
    #expect(report.stopped.isEmpty && report.channels.count == 1)
    #expect(try !Bench.files(fresh).keys.contains { $0.hasSuffix(".dcz") })
    #expect(try Verification(FolderReader(fresh)).run().divergences.isEmpty)
  }
}
