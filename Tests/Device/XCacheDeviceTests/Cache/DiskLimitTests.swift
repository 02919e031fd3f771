import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice

private func url(_ number: Int) -> String { "https://m.test/\(number).js" }

/// Files of two blocks each.
private func files(_ numbers: Range<Int>, seed: Int = 0) -> [String: [UInt8]] {
  Dictionary(uniqueKeysWithValues: numbers.map { (url($0), PackBench.text($0 + seed + 1, 8000)) })
}

/// A manifest may list more than the disk limit allows: files beyond it are fetched on demand, and evicted by last use.
@Suite struct DiskLimitTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  /// Room for five files.
  static let limit: Int64 = 5 * 8192

  init() throws {
    bench = try Bench()
    bench.clock.advance(seconds: (Clock.unixMilliseconds() - bench.clock.now) / 1000)
  }

  private func device(
    willChange: (@Sendable () throws(DeviceError) -> Void)? = nil
  ) throws -> Device {
    try bench.device(willChange: willChange, change: { $0.diskLimit = Self.limit })
  }

  private func used(_ device: Device) -> Int64 { device.cache.withLock { $0.bytes + $0.asideBytes } }

  /// The numbers of the files on the disk.
  private func held() throws -> Set<Int> {
    Set(
      try Folder.textNames("\(bench.scratch.path)/device/files").compactMap { name in
        Int(name.split(separator: "F").last?.split(separator: ".").first ?? "")
      })
  }

  private func fetches() -> Int { origin.takeLog().count { $0.hasPrefix("https://cdn.test/") } }

  @Test func filesWithinTheLimitAreFetchedOnce() throws {
    try origin.publish(files(0..<10))
    let device = try device()
    let report = try device.update()
    #expect(report.fetched == 5 && report.missing == 5 && report.to == "1")
    #expect(fetches() == 5 && used(device) <= Self.limit)
    // Updates don't try the others again.
    for _ in 0..<3 { #expect(try device.update(force: true).kind == .nothing) }
    #expect(fetches() == 0)
    // An update fetches the new versions of held files, and nothing that would evict unchanged ones.
    let kept = try held()
    try origin.publish(files(0..<10, seed: 100))
    #expect(try device.update(force: true).fetched == 5)
    #expect(try held() == kept && used(device) <= Self.limit && fetches() == 5)
    for number in 0..<10 {
      #expect(try device.resource(for: url(number))?.read() == PackBench.text(number + 101, 8000))
      #expect(used(device) <= Self.limit)
    }
  }

  /// On an unstable network, each version left a part of its new file, until an update succeeded.
  @Test func partsOfOtherVersionsCountAndAreRemovedFirst() throws {
    try origin.publish(files(0..<2))
    let device = try device()
    _ = try device.update()
    let other = SHA256.of(bytes("of a version that never came"))
    let parts = [device.folder.half(other), device.folder.halfTag(other), device.folder.staged(other)]
    for path in parts { try DurableFile.write([UInt8](repeating: 7, count: 16_000), to: path) }
    origin.fail { $0.contains("4.js") ? .status(500) : nil }
    try origin.publish(files(0..<5))
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    // Two files are held and three are needed, which takes all the room.
    for path in parts { #expect(device.folder.status(path) == nil) }
    #expect(try !device.folder.unfinished().isEmpty)
  }

  @Test func smallFilesCountAsWholeBlocks() throws {
    try origin.publish(Dictionary(uniqueKeysWithValues: (0..<20).map { (url($0), bytes("\($0)")) }))
    let device = try device()
    #expect(try device.update().fetched == 10)
    #expect(used(device) == 10 * 4096)
  }

  @Test func leastRecentlyUsedFilesAreEvictedFirst() throws {
    try origin.publish(files(0..<5))
    let device = try device()
    _ = try device.update()
    try origin.publish(files(0..<8))
    _ = try device.update(force: true)
    #expect(try held() == [0, 1, 2, 3, 4])
    for number in [3, 1, 4, 0, 2] { _ = try device.resource(for: url(number)) }
    _ = fetches()
    for (wanted, left) in [
      (5, [1, 4, 0, 2, 5]), (6, [4, 0, 2, 5, 6]), (0, [4, 0, 2, 5, 6]), (3, [0, 2, 5, 6, 3]),
      (7, [0, 5, 6, 3, 7]),
    ] {
      #expect(try device.resource(for: url(wanted))?.size == 8000)
      #expect(try held() == Set(left), "\(wanted)")
    }
    #expect(fetches() == 4)
    #expect(device.counts.misses == 4 && device.counts.evictions == 4)
  }

  @Test func usesAreSavedOnCloseAndIndependentOfTheClock() throws {
    try origin.publish(files(0..<5))
    let changes = Locked(0)
    let first = try device(willChange: { () throws(DeviceError) in changes.withLock { $0 += 1 } })
    _ = try first.update()
    let before = changes.withLock { $0 }
    for number in [3, 1, 4, 0, 2, 3] { _ = try first.resource(for: url(number)) }
    #expect(changes.withLock { $0 } == before)
    first.close()
    #expect(changes.withLock { $0 } == before + 1)
    // A year back, then two ahead.
    for seconds: Int64 in [-31_536_000, 63_072_000] {
      bench.clock.advance(seconds: seconds)
      let next = try device()
      #expect(try held().count == 5)
      next.close()
    }
    try origin.publish(files(0..<6))
    let device = try device()
    _ = try device.update(force: true)
    _ = try device.resource(for: url(5))
    #expect(try held() == [4, 0, 2, 3, 5])
  }

  @Test(arguments: [nil, "", "{\"used\":7}", "{\"used\":[1,\"../x\",\"a/b\"]}"])
  func missingUsesOnlyLoseTheOrder(note: String?) throws {
    try origin.publish(files(0..<8))
    let first = try device()
    _ = try first.update()
    first.close()
    let path = "\(bench.scratch.path)/device/uses.json"
    if let note { try DurableFile.write(bytes(note), to: path) } else { try Kernel.remove(path) }
    let device = try device()
    for number in 0..<8 {
      #expect(try device.resource(for: url(number))?.read() == PackBench.text(number + 1, 8000))
    }
    #expect(used(device) <= Self.limit)
  }

  @Test func setAsideFilesAreEvictedBeforeListedOnes() throws {
    try origin.publish(files(0..<4))
    let device = try device()
    _ = try device.update()
    try origin.publish(files(3..<8))
    _ = try device.update(force: true)
    #expect(try held() == [3, 4, 5, 6, 7] && used(device) <= Self.limit)
    #expect(try Folder.textNames("\(bench.scratch.path)/device/aside").isEmpty)
    #expect(device.counts.evictions == 0)
  }

  /// A file that is larger than the limit is served to the page that asked, evicts nothing, and is removed next.
  @Test func filesAboveTheLimitAreServed() throws {
    let large = PackBench.text(9, 60_000)
    try origin.publish(files(0..<2).merging([url(9): large]) { $1 })
    let device = try device()
    #expect(try device.update().missing == 1)
    #expect(try device.resource(for: url(9))?.read() == large)
    #expect(try held() == [0, 1, 9])
    try origin.publish(files(0..<3).merging([url(9): large]) { $1 })
    _ = try device.update(force: true)
    #expect(try held() == [0, 1, 2] && used(device) <= Self.limit)
  }

  /// The limit may be lower than before.
  @Test func folderShrinksWhenItIsOpened() throws {
    try origin.publish(files(0..<10))
    let whole = try bench.device()
    _ = try whole.update()
    whole.close()
    let device = try device()
    #expect(try held().count == 5 && used(device) <= Self.limit)
  }
}
