import Compression
import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice

/// Packs that aren't read to their end, or not at once: full disks, files that are held, partial answers.
@Suite struct PackLimitTests {
  let packs: PackBench
  var origin: FakeOrigin { packs.origin }

  init() throws { packs = try PackBench() }

  /// What was written of a file before its record failed doesn't count when the pack is resumed.
  @Test func failedRecordsAreReadAgain() throws {
    let device = try packs.device()
    let pack = try origin.offerPack(from: 1)
    let held = device.cache.withLock { $0.index }
    let offer = try Poller(transport: origin, settings: device.settings).poll(.origin, holding: held)
    let installer = PackInstaller(
      try #require(offer.pack), over: held, PackSources(bases: try device.bases(holding: held), ready: [:]),
      in: device.folder, limits: (changes: 1 << 20, files: .max))
    let large = try #require(
      pack.bounds.indices.dropLast().first { pack.bounds[$0 + 1] - pack.bounds[$0] > 100_000 })
    var damaged = pack.bytes
    for index in (pack.bounds[large + 1] - 5000)..<pack.bounds[large + 1] { damaged[index] = 0xFF }
    #expect(throws: PackInstaller.Stop.self) { try installer.push(damaged.span.bytes) }
    installer.rewind()
    #expect(installer.position == Int64(pack.bounds[large]))
    try installer.push(Array(pack.bytes[Int(installer.position)...]).span.bytes)
    #expect(try installer.index().version.number == 2)
  }

  /// If the disk gets full during a pack, files that were set aside are removed, and the pack is continued.
  // The first two changes are those of the poll.
  @Test(arguments: 3...14) func fullDisksRemoveFilesThatWereSetAside(change: Int) throws {
    let left = Locked<Int?>(nil)
    let device = try packs.device(
      willChange: { () throws(DeviceError) in
        let isFull = left.withLock { left in
          left = left.map { $0 - 1 }
          return left == 0
        }
        if isFull { throw .file(path: "", call: "write", code: Errno.noSpace.rawValue, reason: "full") }
      })
    let aside = "\(packs.bench.scratch.path)/device/aside/\(SHA256.of(bytes("old")).hex)"
    try DurableFile.write(bytes("old"), to: aside)
    left.withLock { $0 = change }
    let report = try device.update(force: true)
    #expect(report.kind == .pack)
    #expect(try Kernel.status(aside) == nil)
    #expect(try packs.isRight())
  }

  /// A few bytes can expand to more than there is room for.
  @Test func filesAreLimitedByTheRoomOnTheDisk() throws {
    let device = try packs.device()
    let zeros = [UInt8](repeating: 0, count: 1 << 20)
    let frame = try #require(PackFrame.encode(zeros))
    let head = PackRecordHead(length: frame.count, sha256: SHA256.of(zeros))
    let part = device.folder.incoming()
    let writer = try PackRecordWriter(head, over: nil, limit: .max, room: 500_000, into: part)
    let error = #expect(throws: DeviceError.self) { try writer.push(frame.span.bytes) }
    #expect(error?.isDiskFull == true && writer.written <= 500_000)
    let other = device.folder.incoming()
    let fitting = try PackRecordWriter(head, over: nil, limit: .max, room: 1 << 20, into: other)
    try fitting.push(frame.span.bytes)
    #expect(try fitting.finish().size == 1 << 20)
    #expect(device.folder.room() > 0 && device.folder.room() < .max)
  }

  /// Twelve unrelated files of 5000 bytes.
  private static func files(_ seed: Int) -> [String: [UInt8]] {
    Dictionary(
      uniqueKeysWithValues: (10..<22).map { (PackBench.url("r-\($0).js"), PackBench.text(seed + $0, 5000)) })
  }

  /// After a rollback the files are still set aside: the pack is abandoned for the patch, and no file is fetched.
  @Test func nothingIsFetchedAfterARollback() throws {
    try origin.publish(Self.files(100), version: 1)
    let device = try packs.bench.device()
    _ = try device.update(force: true)
    try origin.publish(Self.files(200), version: 2)
    _ = try device.update(force: true)
    try origin.publish(Self.files(100), version: 3)
    let pack = try origin.offerPack(from: 2)
    origin.setPiece(1000)
    _ = packs.singleFiles()
    let report = try device.update(force: true)
    let counts = try #require(report.pack)
    #expect(report.kind == .patch && report.fetched == 0 && report.to == "3")
    #expect(counts.failure == nil && counts.ready == 4)
    #expect(counts.bytes < Int64(pack.bytes.count) / 2)
    #expect(packs.singleFiles() == 0)
    #expect(try packs.isRight())
  }

  /// A device that lacks most of the bases doesn't fetch the records.
  @Test(arguments: [5, 7]) func packsAreAbandonedIfMostBasesAreMissing(missing: Int) throws {
    try origin.publish(Self.files(100), version: 1)
    var device: Device? = try packs.bench.device()
    _ = try device?.update(force: true)
    device = nil
    let files = "\(packs.bench.scratch.path)/device/files"
    for name in try Folder.textNames(files).sorted().prefix(missing) { try Kernel.remove("\(files)/\(name)") }
    device = try packs.bench.device()
    try origin.publish(Self.files(200), version: 2)
    let pack = try origin.offerPack(from: 1)
    origin.setPiece(1000)
    let report = try #require(try device?.update(force: true))
    let counts = try #require(report.pack)
    #expect(report.kind == .patch)
    #expect((counts.failure == nil) == (missing > 6) && counts.files == (missing > 6 ? 0 : 12 - missing))
    if missing > 6 { #expect(counts.bytes < Int64(pack.bounds[1])) }
    #expect(try packs.isRight())
  }

  /// A CDN that answers with a smaller range than requested is asked for the rest.
  @Test(arguments: [20_000, 100_000, 1 << 20]) func packsMayArriveInSlices(slice: Int) throws {
    let device = try packs.device()
    let size = try origin.offerPack(from: 1).bytes.count
    origin.setSlice(slice)
    let report = try device.update(force: true)
    #expect(report.kind == .pack && report.pack?.resumed == 0 && report.pack?.bytes == Int64(size))
    #expect(origin.takeRanges().map(\.start) == stride(from: 0, to: size, by: slice).map { Int64($0) })
    #expect(try packs.isRight())
  }

  /// Empty and tiny slices end the download.
  @Test(arguments: [0, 10]) func emptyAndTinySlicesAreLimited(slice: Int) throws {
    let device = try packs.device()
    origin.setSlice(slice)
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.pack?.failure != nil)
    #expect(origin.takeRanges().count < 30)
    #expect(try packs.isRight())
  }
}
