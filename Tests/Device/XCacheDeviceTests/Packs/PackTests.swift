import DeviceTestSupport
import Manifests
import System
import Testing
import TestSupport
import Values

@testable import XCacheDevice

@Suite struct PackTests {
  let packs: PackBench
  var origin: FakeOrigin { packs.origin }

  init() throws { packs = try PackBench() }

  @Test(arguments: [1, 7, 1000, 1 << 16]) func updatesAreOnePollAndOneDownload(piece: Int) throws {
    let device = try packs.device()
    origin.setPiece(piece)
    let progress = Locked<[Progress]>([])
    let report = try device.update(force: true) { now in progress.withLock { $0.append(now) } }
    #expect(report.kind == .pack && report.from == "1" && report.to == "2")
    let log = origin.takeLog()
    #expect(
      log.count == 2 && log[0].hasSuffix("&patch=1&pack=1") && log[1].hasSuffix("-1-2-".isEmpty ? "" : ".xpk")
    )
    let pack = try #require(report.pack)
    // Of the ten URLs, two have equal bytes and two are held, under the same name or another.
    #expect(pack.files == 7 && pack.ready == 0 && pack.resumed == 0 && pack.failure == nil)
    #expect(report.fetched == 7 && report.copied == 2 && report.kept == 1 && report.missing == 0)
    #expect(report.bytesFetched == pack.bytes && pack.bytes > 190_000)
    #expect(report.deltas == 4)
    let last = try #require(progress.withLock { $0.last })
    #expect(last.files == 7 && last.filesTotal == 7 && last.bytes == last.bytesTotal)
    #expect(try packs.isRight())
    #expect(try Scratch.contents("\(packs.bench.scratch.path)/device/staging").isEmpty)
    #expect(try device.update(force: true).kind == .nothing)
  }

  @Test func newDevicesDoNotAskForPacks() throws {
    _ = try packs.device()
    let fresh = try packs.bench.device("new")
    _ = try fresh.update()
    #expect(!origin.takeLog()[0].contains("pack"))
  }

  /// Faults of a pack, or of the answer that names it; each falls back to the patch, with the right files.
  enum Fault: CaseIterable {
    case missing, notFound, refused, cut, longer, notAPack, otherBase, otherDigest, smaller, larger, trailing
    case otherList, listLength, firstRecord, lastRecord, otherDownload
  }

  @Test(arguments: Fault.allCases) func unusablePacksFallBackToThePatch(fault: Fault) throws {
    let device = try packs.device()
    let bounds = try origin.offerPack(from: 1).bounds
    switch fault {
    case .missing: origin.fail { $0.hasSuffix(".xpk") ? .status(404) : nil }
    case .notFound: origin.fail { $0.hasSuffix(".xpk") ? .status(503) : nil }
    case .refused: origin.fail { $0.hasSuffix(".xpk") ? .error(TransportError(.unreachable, "no way")) : nil }
    case .cut: try origin.offerPack(from: 1) { $0.removeLast(5) }
    case .longer: try origin.offerPack(from: 1) { $0 += [1, 2, 3] }
    case .notAPack: try origin.offerPack(from: 1) { $0 = bytes("<html>a proxy's login page</html>") }
    case .otherBase: try origin.offerPack(from: 1) { $0[6] ^= 1 }
    case .otherDigest: try origin.offerPack(from: 1) { $0[6 + 32] ^= 1 }
    case .smaller: try origin.offerPack(from: 1, size: Int64(bounds[3]))
    case .larger: try origin.offerPack(from: 1, size: 1 << 30)
    case .trailing: try origin.offerPack(from: 1, size: 300)
    case .otherList: try origin.offerPack(from: 1) { $0[bounds[0] - 9] ^= 0x40 }
    // Announced as one byte longer than it is.
    case .listLength: try origin.offerPack(from: 1) { $0[4 + 2 + 64 + 1] += 1 }
    case .firstRecord: try origin.offerPack(from: 1) { $0[bounds[0] + 30] ^= 0x40 }
    case .lastRecord: try origin.offerPack(from: 1) { $0[bounds[bounds.count - 1] - 9] ^= 0x40 }
    case .otherDownload: origin.fail { $0.hasSuffix(".xpk") ? .body(bytes("")) : nil }
    }
    _ = origin.takeLog()
    let polls = device.policy.withLock { $0 }
    let report = try device.update(force: true)
    origin.fail(nil)
    #expect(report.kind == .patch && report.pack?.failure != nil)
    #expect(report.to == "2")
    let asked = origin.takeLog().filter { $0.contains("configure.json") }
    #expect(asked.count == 2 && asked[0].hasSuffix("&patch=1&pack=1") && asked[1].hasSuffix("&patch=1"))
    #expect(device.policy.withLock { $0.failures } == polls.failures)
    #expect(try packs.isRight())
    #expect(try Scratch.contents("\(packs.bench.scratch.path)/device/staging").isEmpty)
  }

  /// Files from before the damage in a pack aren't fetched again.
  @Test func filesFromADamagedPackAreNotFetchedAgain() throws {
    let device = try packs.device()
    let made = try origin.offerPack(from: 1)
    #expect(made.bounds.count == 8)
    try origin.offerPack(from: 1) { $0[made.bounds[4] + 12] ^= 0x40 }
    _ = packs.singleFiles()
    let report = try device.update(force: true)
    #expect(report.pack?.files == 4 && report.kind == .patch)
    #expect(packs.singleFiles() == 3 && report.fetched == 3)
    #expect(try packs.isRight())
  }

  /// A record whose base isn't held: the other records are used, and that file is fetched.
  @Test(arguments: [true, false]) func missingAndDamagedBasesCostOneDownload(isGone: Bool) throws {
    let device = try packs.device()
    let name = try ResourceURL(PackBench.url("chunk.11223344.js"))
    let path = "\(packs.bench.scratch.path)/device/files/\(ResourceFileName(name))"
    try Kernel.remove(path)
    if !isGone { try DurableFile.write(bytes("damaged"), to: path) }
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.pack?.files == 6 && report.fetched == 1)
    #expect(packs.singleFiles() == 1)
    #expect(try packs.isRight())
  }

  /// A file that the pack expects to be held is missing: it is fetched, and the pack is used.
  @Test func missingHeldFilesAreFetched() throws {
    let device = try packs.device()
    let name = try ResourceURL(PackBench.url("old-name.css"))
    try Kernel.remove("\(packs.bench.scratch.path)/device/files/\(ResourceFileName(name))")
    let report = try device.update(force: true)
    #expect(report.kind == .pack && report.fetched == 8)
    #expect(packs.singleFiles() == 1)
    #expect(try packs.isRight())
  }

  /// Files that are staged already aren't made again, and the records of large ones aren't fetched.
  @Test func stagedFilesAreSkipped() throws {
    let device = try packs.device()
    for name in ["image.png", "fresh-1.js"] {
      let bytes = try #require(PackBench.second[PackBench.url(name)])
      try DurableFile.write(
        bytes, to: "\(packs.bench.scratch.path)/device/staging/\(SHA256.of(bytes).hex)")
    }
    origin.setPiece(1000)
    let report = try device.update(force: true)
    #expect(report.kind == .pack && report.pack?.ready == 2 && report.pack?.files == 5)
    #expect(origin.takeRanges().map { $0.start > 0 } == [false, true])
    #expect(try #require(report.pack).bytes < 180_000)
    #expect(try packs.isRight())
  }

  @Test func damagedStagedFilesAreMadeAgain() throws {
    let device = try packs.device()
    let image = try #require(PackBench.second[PackBench.url("image.png")])
    try DurableFile.write(
      bytes("damaged"), to: "\(packs.bench.scratch.path)/device/staging/\(SHA256.of(image).hex)")
    let report = try device.update(force: true)
    #expect(report.kind == .pack && report.pack?.ready == 0 && report.pack?.files == 7)
    #expect(try packs.isRight())
  }

  @Test func changeListsThatAreTooLongAreRefused() throws {
    var device: Device? = try packs.device()
    device = nil
    var files = PackBench.second
    for seed in 0..<20 { files[PackBench.url(SHA256.of(PackBench.text(seed, 9)).hex)] = bytes("\(seed)") }
    try origin.publish(files, version: 3)
    try origin.offerPack(from: 1)
    // Enough for the answer that names the pack, but not for its change list or the patch.
    device = try packs.bench.device(change: { $0.manifestLimit = 250 })
    _ = origin.takeLog()
    let error = #expect(throws: DeviceError.self) { try device?.update(force: true) }
    guard case .noAnswer(let url, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.kind == .tooLong && url.hasSuffix("&patch=1"))
    #expect(origin.takeLog().map { $0.hasSuffix(".xpk") } == [false, true, false])
    #expect(device?.version == "1")
  }

  /// A pack may lead to a manifest above the disk limit: its files are kept as far as they fit.
  @Test func packsObeyTheDiskLimit() throws {
    let limit: Int64 = 240_000
    let device = try packs.device(change: { $0.diskLimit = limit })
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.to == "2" && report.pack?.failure != nil)
    let used = device.cache.withLock { $0.bytes + $0.asideBytes }
    #expect(used <= limit && report.missing > 0)
    #expect(try Scratch.contents("\(packs.bench.scratch.path)/device/staging").isEmpty)
    for (url, bytes) in PackBench.second { #expect(try device.resource(for: url)?.read() == bytes) }
    #expect(device.cache.withLock { $0.bytes + $0.asideBytes } <= limit)
  }

  /// If the pack is unusable and the second request fails, the poll has failed: after five in a row the mirror is
  /// asked.
  @Test func failedSecondRequestsAreFailedPolls() throws {
    let device = try packs.device(change: { $0.fallback = FakeOrigin.mirror })
    origin.fail { url in
      url.hasSuffix(".xpk") ? .status(404) : url.hasSuffix("&patch=1") ? .status(500) : nil
    }
    for count in 1...5 {
      #expect(throws: DeviceError.self) { try device.update(force: true) }
      #expect(device.policy.withLock { $0.failures } == count)
    }
    #expect(device.policy.withLock { $0.source } == .mirror)
    let report = try device.update(force: true)
    #expect(report.source == .fallback && report.to == "2")
  }

  /// An origin that offers a pack in every answer must not cause a loop.
  @Test func endlessPackOffersAreRefused() throws {
    let device = try packs.device()
    try origin.offerPack(from: 1) { $0[$0.count / 2] ^= 0xFF }
    let answer = try #require(origin.answerWithPack(from: 1))
    origin.fail { $0.contains("configure.json") ? .body(answer) : nil }
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    #expect(device.policy.withLock { $0.failures } == 1)
  }

  @Test func packsOfAMirrorAreUsed() throws {
    let device = try packs.device(change: { $0.fallback = FakeOrigin.mirror })
    origin.fail { $0.hasPrefix(FakeOrigin.server) ? .error(TransportError(.unreachable, "down")) : nil }
    for _ in 0..<5 { #expect(throws: DeviceError.self) { try device.update(force: true) } }
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.kind == .pack && report.source == .fallback)
    #expect(
      origin.takeLog().prefix(2) == [
        "\(FakeOrigin.mirror)/xcache/shop/version.json", "\(FakeOrigin.mirror)/xcache/shop/update/1-2.json",
      ])
    origin.fail(nil)
    #expect(try packs.isRight())
  }

  @Test func unusablePacksOfAMirrorFallBackToItsPatch() throws {
    let device = try packs.device(change: { $0.fallback = FakeOrigin.mirror })
    origin.fail { $0.hasPrefix(FakeOrigin.server) ? .error(TransportError(.unreachable, "down")) : nil }
    for _ in 0..<5 { #expect(throws: DeviceError.self) { try device.update(force: true) } }
    origin.fail { $0.hasPrefix(FakeOrigin.server) || $0.hasSuffix(".xpk") ? .status(404) : nil }
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.source == .fallback && report.pack?.failure != nil)
    origin.fail(nil)
    #expect(try packs.isRight())
  }

  /// Answers with an invalid pack offer.
  @Test(arguments: [
    #""pack":7"#, #""base":"1","digest":"no","pack":{"download":"https://cdn.test/x.xpk","size":7}"#,
    #""base":"1","pack":{"download":"https://cdn.test/x.xpk","size":7}"#,
  ]) func answersWithInvalidPackOffersAreRequestedAgain(members: String) throws {
    let device = try packs.device()
    origin.fail {
      $0.hasSuffix("pack=1")
        ? .body(bytes(#"{"code":200,"data":{\#(members),"update":true,"version":"2"}}"#)) : nil
    }
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.pack == nil)
    origin.fail(nil)
    #expect(try packs.isRight())
  }
}
