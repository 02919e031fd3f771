import Compression
import Manifests
import Store
import System
import Testing

@testable import Mirror

@Suite("First packs in mirrors")
struct FirstPackTests {
  private static func first(_ bench: Bench, _ name: String = "configure.json") throws -> PackOffer? {
    let bytes = try DurableFile.read("\(bench.www)/xcache/shop/\(name)") ?? []
    guard case .whole(let whole) = try ConfigureAnswer.parse(bytes) else { return nil }
    return whole.first
  }

  @Test func theNewestManifestNamesIt() throws {
    let bench = try Bench()
    try bench.mirror()
    let plain = try DurableFile.read("\(bench.www)/xcache/shop/configure.json")
    #expect(try Self.first(bench) == nil)
    let pack = try bench.keepFirstPack(of: 3)
    try bench.mirror()
    let offer = try #require(try Self.first(bench))
    #expect(offer == (try pack.offer(of: bench.shop(bench.store))))
    let path = try #require(PackPath(download: offer.download))
    #expect(SHA256.of(try DurableFile.read("\(bench.www)/\(path)") ?? []) == pack.sha256)
    // What never changes doesn't name what may go.
    #expect(try Self.first(bench, "configure/3.json") == nil)
    #expect(try bench.verify().isEmpty)
    #expect(try bench.mirror().written == 1)
    // Without it, the document is what it was.
    try Kernel.remove(bench.store.derived.packFile(pack, of: bench.shop(bench.store)))
    try bench.mirror()
    #expect(try DurableFile.read("\(bench.www)/xcache/shop/configure.json") == plain)
    #expect(try bench.verify().isEmpty)
  }

  /// Members of every answer are beside it, and it is there before what names it.
  @Test func itStandsBesideOtherMembers() throws {
    let bench = try Bench()
    _ = try bench.keepFirstPack(of: 3)
    _ = try bench.store.set(
      SettingsChange(interval: 60), of: AppName("shop"), .online)
    try bench.mirror()
    let bytes = try DurableFile.read("\(bench.www)/xcache/shop/configure.json") ?? []
    guard case .whole(let whole) = try ConfigureAnswer.parse(bytes) else {
      Issue.record("it is no whole manifest")
      return
    }
    #expect(whole.first != nil && whole.extras.interval == 60)
    #expect(try whole.manifest().version == ManifestVersion(3))
  }

  /// A later version names it while it serves.
  @Test func damagedOneIsSkipped() throws {
    let bench = try Bench()
    let pack = try bench.keepFirstPack(of: 3)
    let file = try bench.store.derived.packFile(pack, of: bench.shop(bench.store))
    try VerifyTests.change(file) { $0[$0.count - 1] ^= 1 }
    try bench.mirror()
    #expect(try Self.first(bench) == nil)
    #expect(try bench.index.channels[0].files.allSatisfy { !$0.path.hasSuffix(".xpk") })
    #expect(try bench.verify().isEmpty)
  }

  @Test func verifyFindsAFlippedByte() throws {
    let bench = try Bench()
    _ = try bench.keepFirstPack(of: 3)
    try bench.mirror()
    try VerifyTests.change(bench.path(".xpk")) { $0[$0.count / 2] ^= 1 }
    let found = try bench.verify()
    #expect(found.map(\.message) == ["its content doesn't match mirror.json"])
    #expect(try bench.mirror { $0.repairs = true }.written == 2)
    #expect(try bench.verify().isEmpty)
  }

  /// A pack that is as it was made, and was made wrong.
  @Test(arguments: ["bytes", "cut", "version", "other"]) func verifyDecodesIt(fault: String) throws {
    let bench = try Bench()
    _ = try bench.keepFirstPack(of: 3, fault: fault)
    try bench.mirror()
    let found = try bench.verify()
    #expect(found.count == 1, "\(found.map(\.message))")
    #expect(found.first?.path.hasSuffix("xcache/shop/configure.json") == true)
    #expect(found.first?.message.contains("first pack") == true)
  }

  @Test func purgedVersionTakesItAlong() throws {
    let bench = try Bench()
    let pack = try bench.keepFirstPack(of: 3)
    try bench.mirror()
    let path = try pack.path(of: bench.shop(bench.store)).text
    #expect(try bench.index.channels[0].files.contains { $0.path == path })
    let plan = try bench.store.purgePlan(SHA256.of(Array("run(2)".utf8)))
    #expect(plan.downloads.contains("https://cdn.example.com/hxm/\(path)"))
  }
}

extension Bench {
  /// Makes and keeps the first pack of a version, all of whose files it has; optionally a wrong one.
  func keepFirstPack(of version: Int64, fault: String = "") throws -> StoredPack {
    let channel = try shop(store), version = ManifestVersion(version)
    let digest = try #require(try store.digest(channel, at: version))
    let entries = try store.manifest(channel, at: version).map(\.entry)
    var files = try entries.map { try store.bytes(of: $0.sha256, limit: 1 << 20) ?? [] }
    if fault == "other" { files = [Array("another file".utf8)] }
    let head = try FirstPackHead(
      version: fault == "version" ? ManifestVersion(2) : version,
      items: files.map { FirstPackItem(SHA256.of($0), size: Int64($0.count)) })
    if fault == "bytes" { files[1][0] ^= 1 }
    if fault == "cut" { files[1].removeLast() }
    let out = try FirstPackFile(
      PackEnds(firstOf: version, digest: digest), of: channel.id, in: store.derived)
    try out.append(head.bytes.span.bytes)
    let encoder = PackFrameEncoder(size: files.reduce(0) { $0 + Int64($1.count) }, level: 19)
    for file in files {
      try encoder.push(file.span.bytes) { (frame) throws(StoreError) in try out.append(frame) }
    }
    try encoder.finish { (frame) throws(StoreError) in try out.append(frame) }
    return try out.keep()
  }
}
