import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice

/// Limits on what a pack may make a device read and write.
@Suite struct PackWorkTests {
  let packs: PackBench
  var origin: FakeOrigin { packs.origin }
  private static let old = PackBench.text(1, 50_000)

  init() throws { packs = try PackBench() }

  /// An installer of a pack with `count` files over one base, and the pack.
  private func many(_ count: Int) throws -> (installer: PackInstaller, bytes: [UInt8], bounds: [Int], Device)
  {
    try origin.publish([PackBench.url("a.00000000.js"): Self.old], version: 1)
    let device = try packs.bench.device()
    _ = try device.update(force: true)
    let files = (1...count).map { (PackBench.url("a.\(10_000_000 + $0).js"), Self.old + bytes("//\($0)")) }
    try origin.publish(Dictionary(uniqueKeysWithValues: files), version: 2)
    let pack = try origin.offerPack(from: 1)
    let held = device.index
    let offer = try Poller(transport: origin, settings: device.settings).poll(.origin, holding: held)
    let installer = PackInstaller(
      try #require(offer.pack), over: held, PackSources(bases: try device.bases(holding: held), ready: [:]),
      in: device.folder, limits: (changes: 1 << 20, files: .max))
    return (installer, pack.bytes, pack.bounds, device)
  }

  @Test func basesOfSeveralRecordsAreReadOnce() throws {
    let (installer, pack, bounds, device) = try many(4)
    try installer.push(Array(pack[..<bounds[1]]).span.bytes)
    #expect(installer.counts.deltas == 1)
    for name in try Folder.textNames(device.folder.files) {
      try Kernel.remove("\(device.folder.files)/\(name)")
    }
    try installer.push(Array(pack[bounds[1]...]).span.bytes)
    #expect(installer.counts.deltas == 4 && installer.counts.missingBases == 0)
    #expect(try installer.index().version.number == 2)
  }

  @Test(arguments: [(350_000, 3), (1 << 20, 8)]) func workIsLimited(limit: Int64, files: Int) throws {
    let (installer, pack, _, _) = try many(8)
    installer.work = PackWork(left: limit)
    do {
      try installer.push(pack.span.bytes)
      #expect(files == 8)
    } catch {
      guard case .failure(.unusable(let reason)) = error else { throw error }
      #expect(reason == "it is larger than this device accepts")
    }
    #expect(installer.counts.files == files)
  }

  /// The budget of a pack grows with its size and with what is held.
  @Test func budget() {
    #expect(PackWork(pack: 3500, held: 20 << 20).left == 256 << 20 + 80 << 20 + 3500 * 256)
    #expect(PackWork(pack: .max, held: 1).left == .max)
  }

  /// Small deltas with one large base.
  @Test func readingBasesOfDeltasIsLimited() throws {
    var readings = DeltaTable.ReadBudget(limit: 250)
    let path = "\(packs.bench.scratch.path)/base"
    try DurableFile.write([UInt8](repeating: 1, count: 100), to: path)
    let (one, other) = (SHA256.of([1]), SHA256.of([2]))
    #expect(
      [one, one, one, one, other].map { readings.allowsReading($0, at: path) } == [
        true, true, true, false, true,
      ])
  }
}
