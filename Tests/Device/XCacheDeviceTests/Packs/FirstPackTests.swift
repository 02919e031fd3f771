import DeviceTestSupport
import Manifests
import System
import Testing
import TestSupport

@testable import XCacheDevice

/// First installs by a first pack (docs/protocol.md §11, D-179…D-182).
@Suite struct FirstPackTests {
  let first: FirstPackBench
  var bench: Bench { first.bench }
  var origin: FakeOrigin { bench.origin }

  init() throws { first = try FirstPackBench() }

  @Test(arguments: [7, 1000, 1 << 16]) func firstInstallsAreTwoRequests(piece: Int) throws {
    origin.setPiece(piece)
    let device = try bench.device()
    let progress = Locked<[Progress]>([])
    let report = try device.update { now in progress.withLock { $0.append(now) } }
    #expect(report.kind == .whole && report.from == "0" && report.to == "1")
    let log = origin.takeLog()
    #expect(log.count == 2 && log[1] == first.pack.url)
    let asked = origin.takeRanges()
    #expect(asked.map(\.start) == [0] && asked.allSatisfy(\.isUncoded))
    #expect(report.files == 7 && report.fetched == 7 && report.backlog == 0 && report.missing == 0)
    #expect(report.bytesFetched == Int64(first.pack.bytes.count))
    let pack = try #require(report.pack)
    #expect(pack.files == 7 && pack.bytes == report.bytesFetched && pack.failure == nil && pack.resumed == 0)
    let last = try #require(progress.withLock { $0.last })
    #expect(last.files == 7 && last.filesTotal == 7 && last.bytes == last.bytesTotal)
    #expect(try first.isRight())
    #expect(try Kernel.status(device.folder.backlog) == nil)
    #expect(try device.update(force: true).kind == .nothing)
  }

  /// The device switches before the pack is here, and pages get what has come of it, and what hasn't by itself.
  @Test func filesAreUsableAsTheyCome() throws {
    // Larger than the blocks of a frame.
    let urls = (0..<6).map { PackBench.url("\($0).txt") }
    let files = (0..<6).map { PackBench.text($0 + 20, 150_000) }
    try origin.publish(Dictionary(uniqueKeysWithValues: zip(urls, files)))
    let pack = try origin.offerFirst(files)
    origin.setPiece(8192)
    let device = try bench.device()
    let counts = Locked<[Int]>([])
    let isAsked = Locked(false)
    let origin = origin
    origin.eachPiece { url in
      guard url.hasSuffix(".xpk") else { return }
      let held = device.heldFiles().count { $0.path != nil }
      counts.withLock { $0.append(held) }
      guard held == 2, !isAsked.withLock({ $0 }) else { return }
      isAsked.withLock { $0 = true }
      _ = origin.takeLog()
      // Those that are here come without a request, and one that isn't comes at once.
      for index in 0..<2 { #expect((try? device.resource(for: urls[index])?.read()) == files[index]) }
      #expect(origin.takeLog() == [])
      #expect((try? device.resource(for: urls[5])?.read()) == files[5])
      #expect(origin.takeLog().count == 1)
    }
    let versions = Locked<[String]>([])
    let report = try device.update(
      until: StopSignal(),
      switched: { from, to in
        versions.withLock { $0 = [from, to, device.version] }
        #expect(device.heldFiles().allSatisfy { $0.path == nil })
      })
    origin.eachPiece(nil)
    #expect(versions.withLock { $0 } == ["0", "2", "2"])
    let seen = counts.withLock { $0 }
    #expect(seen.first == 0 && seen == seen.sorted() && Set(seen).count == 6)
    // What a page has fetched is passed over.
    #expect(report.pack?.files == 5 && report.pack?.failure == nil)
    #expect(report.fetched == 6 && report.backlog == 0)
    #expect(try #require(report.pack).bytes <= Int64(pack.bytes.count))
    #expect(try first.isRight())
  }

  /// What is wrong with a pack, or with the member that names it: everything comes all the same, no file of it twice.
  enum Fault: CaseIterable {
    case missing, portal, cut, longer, smaller, larger, trailing, notAPack, list, frame, lastFile, checkLength
    case otherBytes, tooMuch, noURL, twoLines
  }

  @Test(arguments: Fault.allCases) func unusablePacksLeadToSingleFiles(fault: Fault) throws {
    let files = FirstPackBench.files
    let count = first.pack.bytes.count
    let list = 4 + 3 + 7 * 18
    var made: Int? = 0
    switch fault {
    case .missing: origin.fail { $0.hasSuffix(".xpk") ? .status(404) : nil }
    case .portal: origin.fail { $0.hasSuffix(".xpk") ? .body(bytes("<html>a login page</html>")) : nil }
    case .cut: try origin.offerFirst(files, size: Int64(count)) { $0.removeLast(5) }
    case .longer: try origin.offerFirst(files, size: Int64(count)) { $0 += [1, 2, 3] }
    case .smaller: try origin.offerFirst(files, size: Int64(count / 2))
    case .larger: try origin.offerFirst(files, size: Int64(count + 9))
    case .trailing:
      try origin.offerFirst(files) { $0 += [1, 2, 3] }
      made = 7
    case .notAPack: try origin.offerFirst(files) { $0[3] ^= 3 }
    case .list:
      // Of the last file.
      try origin.offerFirst(files) { $0[list - 9] ^= 0x40 }
      made = 6
    case .frame:
      try origin.offerFirst(files) { $0[list + 20] ^= 0x40 }
      made = nil
    case .lastFile:
      try origin.offerFirst(files) { $0[count - 3000] ^= 0x40 }
      made = 6
    case .checkLength:
      try origin.offerFirst(files + [bytes("more")], listed: Self.items(files))
      made = 7
    case .otherBytes:
      var other = files
      other[3][17] ^= 1
      try origin.offerFirst(other, listed: Self.items(files))
      made = 3
    case .tooMuch:
      let unknown = FirstPackItem(SHA256.of(bytes("unknown")), size: 1 << 40)
      try origin.offerFirst(files, listed: Self.items(files) + [unknown])
    case .noURL: origin.say(#","first":{"download":"xcache.pack","size":9}"#)
    case .twoLines: origin.say(#","first":{"download":"https://cdn.test/x.xpk\r\nX: y","size":9}"#)
    }
    let device = try bench.device()
    let report = try device.update()
    origin.fail(nil)
    #expect(report.to == "1" && report.fetched == 7 && report.backlog == 0)
    // What is behind the last file that is wanted doesn't matter, nor what the list says of one that isn't.
    let isHarmless = [.noURL, .twoLines, .trailing, .checkLength, .list].contains(fault)
    #expect((report.pack?.failure == nil) == isHarmless)
    // How much of a damaged frame is decoded is the decoder's business.
    if let made { #expect(report.pack?.files ?? 0 == made) }
    #expect(first.singleFiles() == 7 - (report.pack?.files ?? 0))
    #expect(try first.isRight())
  }

  private static func items(_ files: [[UInt8]]) -> [FirstPackItem] {
    files.map { FirstPackItem(SHA256.of($0), size: Int64($0.count)) }
  }

  /// A pack of an older version: files are found by what they are, and what it lacks comes by itself.
  @Test func packsOfOtherVersionsAreUsed() throws {
    try origin.publish(PackBench.first.merging([PackBench.url("more.js"): bytes("more")]) { $1 })
    try origin.offerFirst([PackBench.text(77, 4000)] + FirstPackBench.files)
    let device = try bench.device()
    let report = try device.update()
    #expect(report.to == "2" && report.fetched == 8 && report.pack?.files == 7)
    #expect(first.singleFiles() == 1)
    #expect(try first.isRight())
  }

  /// A file that the pack lacks, and that can't be had, keeps nothing else from coming, and isn't asked for again.
  @Test func filesThatCanNotBeHadAreMissing() throws {
    let more = PackBench.url("more.js")
    try origin.publish(PackBench.first.merging([more: bytes("more")]) { $1 })
    origin.fail { $0.contains("more.js") ? .status(404) : nil }
    let device = try bench.device()
    let report = try device.update()
    #expect(report.to == "2" && report.fetched == 7 && report.missing == 1 && report.backlog == 0)
    _ = origin.takeLog()
    #expect(try device.fetchBacklog() == 0)
    #expect(origin.takeLog() == [])
    origin.fail(nil)
    #expect(try device.resource(for: more)?.read() == bytes("more"))
    #expect(try first.isRight())
  }

  /// Two URLs with the same bytes.
  @Test func twinsAreCopied() throws {
    try origin.publish(PackBench.first.merging([PackBench.url("twin.js"): FirstPackBench.files[1]]) { $1 })
    let device = try bench.device()
    let report = try device.update()
    #expect(report.files == 8 && report.fetched == 7 && report.copied == 1)
    #expect(first.singleFiles() == 0)
    #expect(try first.isRight())
  }

  /// A few files, or a pack that is larger than they are, aren't worth it: then nothing is in force before everything is here.
  @Test(arguments: [true, false]) func packsThatAreNotWorthItAreLeft(isLarge: Bool) throws {
    if isLarge {
      try origin.offerFirst(FirstPackBench.files + [PackBench.text(99, 60_000)])
    } else {
      try origin.publish(PackBench.first.filter { $0.key.hasSuffix(".js") && !$0.key.contains("gone") })
    }
    let device = try bench.device()
    let report = try device.update(until: StopSignal(), switched: { _, _ in Issue.record("too early") })
    #expect(report.pack == nil && report.backlog == 0 && report.missing == 0)
    #expect(!origin.takeLog().contains { $0.hasSuffix(".xpk") })
    #expect(try first.isRight())
  }

  /// Devices that hold a manifest have no use for it.
  @Test func onlyNewDevicesTakeFirstPacks() throws {
    let device = try bench.device()
    _ = try device.update()
    try origin.publish(PackBench.second)
    try origin.offerFirst(Array(Set(PackBench.second.values)))
    origin.forget(1)
    _ = origin.takeLog()
    #expect(try device.update(force: true).kind == .whole)
    #expect(!origin.takeLog().contains { $0.hasSuffix(".xpk") })
    #expect(try first.isRight())
  }

  /// The static copy names one as well.
  @Test func firstPacksOfACopyAreUsed() throws {
    let device = try bench.device(change: { $0.fallback = FakeOrigin.mirror })
    origin.fail { $0.hasPrefix(FakeOrigin.server) ? .error(TransportError(.unreachable, "down")) : nil }
    for _ in 0..<5 { #expect(throws: DeviceError.self) { try device.update(force: true) } }
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.source == .fallback && report.pack?.files == 7)
    #expect(first.singleFiles() == 0)
    origin.fail(nil)
    #expect(try first.isRight())
  }

  /// A newer version comes while the pack is under way: what both have still comes of the pack.
  @Test func laterVersionsUseWhatIsLeftOfIt() throws {
    let device = try bench.device()
    origin.tear(after: [30_000, 0, 0])
    #expect(try device.update().backlog > 0)
    var files = PackBench.first
    files[PackBench.url("kept.js")] = bytes("not any more")
    try origin.publish(files)
    try origin.offerFirst(FirstPackBench.files)
    _ = origin.takeRanges()
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.to == "2")
    #expect(origin.takeRanges().map(\.start) == [30_000])
    #expect(first.singleFiles() == 1)
    #expect(try first.isRight())
  }
}
