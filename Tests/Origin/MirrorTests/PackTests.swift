import Compression
import Manifests
import Store
import System
import Testing

@testable import Mirror

@Suite("Packs in mirrors")
struct PackTests {
  @Test func versionsWithAPackHaveAnUpdateDocument() throws {
    let bench = try Bench()
    let pack = try bench.keepPack(from: 2, to: 3)
    let report = try bench.mirror()
    let folder = "\(bench.www)/xcache/shop"
    let answer = try ConfigureAnswer.parse(DurableFile.read("\(folder)/update/2-3.json") ?? [])
    guard case .pack(let update) = answer else { return #expect(Bool(false), "no pack is named") }
    #expect(update.base == ManifestVersion(2) && update.version == ManifestVersion(3))
    #expect(update.pack.size == pack.size)
    let path = try #require(PackPath(download: update.pack.download))
    #expect(SHA256.of(try DurableFile.read("\(bench.www)/\(path)") ?? []) == pack.sha256)
    // There is no pack from 1 to 3, so devices get the patch.
    #expect(try Kernel.status("\(folder)/update/1-3.json") == nil)
    #expect(try Kernel.status("\(folder)/patch/1-3.json") != nil)
    #expect(try bench.verify().isEmpty)
    // Nothing changed, so only mirror.json is written.
    #expect(report.written > 10)
    #expect(try bench.mirror().written == 1)
  }

  /// A run of an older xcache copied a damaged pack from a server, and recorded it.
  @Test func packThatWasCopiedDamagedIsReplaced() throws {
    let bench = try Bench()
    let pack = try bench.keepPack(from: 2, to: 3)
    try bench.mirror()
    var index = try bench.index
    let place = try #require(index.channels[0].files.firstIndex { $0.file.sha256 == pack.sha256 })
    let path = index.channels[0].files[place].path
    let bad = [UInt8](repeating: 7, count: Int(pack.size))
    try DurableFile.write(bad, to: "\(bench.www)/\(path)")
    index.channels[0].files[place].file = MirrorIndex.File(sha256: SHA256.of(bad), size: pack.size)
    try DurableFile.write(index.document, to: bench.www + "/mirror.json")
    try bench.mirror()
    #expect(try SHA256.of(DurableFile.read("\(bench.www)/\(path)") ?? []) == pack.sha256)
    #expect(try bench.verify().isEmpty)
  }

  /// A merge patch keeps members that it doesn't name, so removed headers have to be named.
  @Test func removedHeaderIsInThePatch() throws {
    let bench = try Bench(versions: 1)
    let both = EntryHeaders([.xFrameOptions: try .init("DENY"), .referrerPolicy: try .init("no-referrer")])
    for headers in [both, EntryHeaders([.xFrameOptions: try .init("DENY")]), EntryHeaders()] {
      try bench.release("pages", ["p.html": "page"], headers: headers)
    }
    try bench.mirror()
    for base in 1...3 {
      #expect(try Kernel.status("\(bench.www)/xcache/shop/patch/\(base)-4.json") != nil)
    }
    #expect(try bench.verify().isEmpty)
  }

  /// So do fallbacks, which are replaced as a whole.
  @Test func removedFallbackIsInThePatch() throws {
    let bench = try Bench(versions: 1)
    let two = try PageFallbacks([.init(prefix: "/"), .init(prefix: "/app/", except: ["/app/api/*"])])
    for fallbacks in [two, try PageFallbacks([.init(prefix: "/app/")]), PageFallbacks()] {
      try bench.release("pages", ["p.html": "page"], fallbacks: fallbacks)
    }
    try bench.mirror()
    for base in 1...3 {
      #expect(try Kernel.status("\(bench.www)/xcache/shop/patch/\(base)-4.json") != nil)
    }
    #expect(try bench.verify().isEmpty)
  }

  @Test func laterPackIsMirrored() throws {
    let bench = try Bench()
    try bench.mirror()
    let pack = try bench.keepPack(from: 1, to: 3)
    try bench.mirror()
    #expect(
      try bench.index.channels[0].files.contains { $0.path.hasSuffix(pack.sha256.hex.prefix(16) + ".xpk") })
    #expect(try bench.verify().isEmpty)
  }

  @Test func lostPackIsSkipped() throws {
    let bench = try Bench()
    let pack = try bench.keepPack(from: 2, to: 3)
    try Kernel.remove(bench.store.derived.packFile(pack, of: bench.shop(bench.store)))
    try bench.mirror()
    #expect(try bench.index.channels[0].files.allSatisfy { !$0.path.contains("/update/") })
    #expect(try bench.verify().isEmpty)
  }

  @Test func damagedPackIsSkipped() throws {
    let bench = try Bench()
    let pack = try bench.keepPack(from: 2, to: 3)
    let file = try bench.store.derived.packFile(pack, of: bench.shop(bench.store))
    try VerifyTests.change(file) { $0[$0.count - 1] ^= 1 }
    try bench.mirror()
    #expect(try bench.index.channels[0].files.allSatisfy { !$0.path.hasSuffix(".xpk") })
    #expect(try bench.verify().isEmpty)
  }

  @Test func verifyFindsAFlippedByteOfAPack() throws {
    let bench = try Bench()
    _ = try bench.keepPack(from: 2, to: 3)
    try bench.mirror()
    try VerifyTests.change(bench.path(".xpk")) { $0[$0.count / 2] ^= 1 }
    let found = try bench.verify()
    #expect(found.map(\.message) == ["its content doesn't match mirror.json"])
    #expect(found[0].path.hasSuffix(".xpk"))
    // --repair restores it.
    #expect(try bench.mirror { $0.repairs = true }.written == 2)
    #expect(try bench.verify().isEmpty)
    // Intact files aren't written again.
    #expect(try bench.mirror { $0.repairs = true }.written == 1)
  }

  @Test func verifyFindsAPackWithAnotherResult() throws {
    let bench = try Bench()
    // It removes what it should replace.
    _ = try bench.keepPack(from: 2, to: 3, lacksLast: true)
    try bench.mirror()
    let found = try bench.verify()
    #expect(found.count == 1)
    #expect(found.first?.path.hasSuffix("update/2-3.json") == true)
    #expect(found.first?.message.hasPrefix("the pack ") == true)
  }

  /// Devices that know of lazy entries take it, others the patch.
  @Test func packThatLeavesFilesOutIsMirrored() throws {
    let bench = try Bench(versions: 1)
    for text in ["one", "two"] { try bench.release("maps", ["app.map": text], isLazy: true) }
    let pack = try bench.keepPack(from: 2, to: 3)
    try bench.mirror()
    let update = "\(bench.www)/xcache/shop/update/2-3.json"
    guard case .pack(let answer)? = try DurableFile.read(update).map({ try ConfigureAnswer.parse($0) }) else {
      return #expect(Bool(false), "no pack is named")
    }
    let path = try #require(PackPath(download: answer.pack.download))
    let bytes = try #require(try DurableFile.read("\(bench.www)/\(path)"))
    #expect(SHA256.of(bytes) == pack.sha256 && bytes.starts(with: Array("XPK2".utf8)))
    #expect(try Kernel.status("\(bench.www)/xcache/shop/patch/2-3.json") != nil)
    #expect(try bench.verify().isEmpty)
  }

  @Test func verifyFindsAPackThatLeavesOutAnotherFile() throws {
    let bench = try Bench(versions: 1)
    for text in ["one", "two"] { try bench.release("maps", ["app.map": text], isLazy: true) }
    _ = try bench.keepPack(from: 2, to: 3, leavingOut: FileDigest(of: Array("three".utf8).span.bytes))
    try bench.mirror()
    let found = try bench.verify()
    #expect(found.map(\.message) == ["the pack doesn't lead to configure.json's manifest"])
  }

  @Test func restoreNeedsNoPack() throws {
    let bench = try Bench()
    _ = try bench.keepPack(from: 2, to: 3)
    try bench.mirror()
    let other = try Store(path: bench.folder + "/other")
    _ = try Restoration(from: FolderReader(bench.www)).restore(into: other)
    #expect(try bench.shop(other).digest == bench.shop(bench.store).digest)
  }
}

extension Bench {
  func verify() throws -> [Divergence] { try Verification(FolderReader(www)).run().divergences }

  private func manifest(_ version: Int64) throws -> Manifest {
    let bytes = try store.mirrorDocument(.whole(ManifestVersion(version)), of: shop(store))
    guard case .whole(let answer) = try ConfigureAnswer.parse(bytes) else { throw PackFault.otherManifest }
    return try answer.manifest()
  }

  /// Makes and keeps the pack between two versions, optionally one that lacks the last added entry, or that says of the files
  /// which it leaves out that they are `file`.
  func keepPack(
    from base: Int64, to version: Int64, lacksLast: Bool = false, leavingOut file: FileDigest? = nil
  ) throws -> StoredPack {
    let (old, new) = (try manifest(base), try manifest(version))
    let urls = Set(old.items.map(\.url)).union(new.items.map(\.url)).sorted()
    let changes = urls.map { EntryDifference(url: $0, old: old[$0], new: new[$0]) }.filter {
      $0.old != $0.new
    }
    var plan = try #require(
      PackPlan(
        changes,
        index: (
          url: { url in old.items.firstIndex { $0.url == url } },
          bytes: { sha256 in old.items.firstIndex { $0.isHeld(sha256) } }
        ), delta: { _ in nil }, stableName: { $0.text },
        leavesOutLazy: old.items.contains(where: \.entry.isLazy)))
    if let file {
      for index in plan.changes.absent { plan.changes.arrivals[index].source = .absent(file) }
    }
    if lacksLast { plan.changes.arrivals.removeLast() }
    let frames = ScratchFile(in: store.derived)
    var records: [(head: [UInt8], frame: Range<Int64>)] = []
    for index in plan.changes.records {
      let sha256 = try #require(new[plan.changes.arrivals[index].url]).sha256
      let frame = try #require(PackFrame.encode(store.bytes(of: sha256, limit: 1 << 20) ?? []))
      records.append((PackRecordHead(length: frame.count, sha256: sha256).bytes, try frames.append(frame)))
    }
    let list = plan.changes.bytes(version: new.version, old: plan.old)
    let coded = try #require(PackFrame.encode(list))
    let baseDigest = old.map.digest
    let head = PackHead(
      plan.changes.format, base: ManifestVersion(base), version: new.version, baseDigest: baseDigest,
      digest: new.map.digest,
      records: records.count, plainChanges: list, codedChanges: coded.count)
    return try store.derived.keep(
      PackParts(head: head.bytes + coded, records: records, frames: frames),
      PackEnds(
        base: ManifestVersion(base), baseDigest: baseDigest, version: new.version, digest: new.map.digest),
      of: shop(store).id)
  }
}
