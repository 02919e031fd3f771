import Compression
import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice

/// On a metered network, an update above the limit only takes the manifest; files are fetched when pages ask, or later.
@Suite struct BacklogTests {
  let packs: PackBench
  var bench: Bench { packs.bench }
  var origin: FakeOrigin { packs.origin }

  init() throws { packs = try PackBench() }

  static let sparing: [Conditions] = [
    conditions { $0.network = .metered }, conditions { $0.savesData = true },
    conditions { $0.isLowPower = true },
  ]

  static func conditions(_ change: (inout Conditions) -> Void) -> Conditions {
    var conditions = Conditions()
    change(&conditions)
    return conditions
  }

  private func metered(
    limit: Int64 = 100_000, willChange: (@Sendable () throws(DeviceError) -> Void)? = nil
  ) throws -> Device {
    let device = try packs.device(willChange: willChange, change: { $0.meteredLimit = limit })
    device.conditions.network = .metered
    return device
  }

  private func asides() throws -> Set<String> {
    Set(try Folder.textNames("\(bench.scratch.path)/device/aside"))
  }

  @Test(arguments: sparing) func smallPacksAreTaken(conditions: Conditions) throws {
    let device = try metered(limit: 1 << 20)
    device.conditions = conditions
    let report = try device.update(force: true)
    #expect(report.kind == .pack && report.backlog == 0)
    #expect(try packs.isRight())
  }

  @Test(arguments: sparing) func largeUpdatesOnlyTakeTheManifest(conditions: Conditions) throws {
    let device = try metered()
    device.conditions = conditions
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.to == "2" && report.fetched == 0)
    #expect(report.backlog == 7 && device.version == "2")
    let log = origin.takeLog()
    #expect(log.count == 2 && log[0].hasSuffix("&patch=1&pack=1") && log[1].hasSuffix("&patch=1"))
    // A page gets its new file, and only that one is fetched.
    let page = PackBench.url("page.html")
    #expect(try device.page(for: page)?.read() == PackBench.second[page])
    #expect(packs.singleFiles() == 1)
    // Triggers don't fetch the others while the network is metered.
    #expect(try device.update(force: true).kind == .nothing)
    #expect(try device.fetchBacklog() == 0)
    #expect(packs.singleFiles() == 0)
    device.conditions = Conditions()
    #expect(try device.fetchBacklog() == 6)
    #expect(packs.singleFiles() == 6)
    #expect(try packs.isRight())
    #expect(try device.fetchBacklog() == 0)
    #expect(try Kernel.status(device.folder.backlog) == nil)
  }

  @Test func smallPatchesAreTaken() throws {
    let device = try metered(limit: 1 << 20)
    origin.forgetPacks()
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.backlog == 0 && report.fetched == 7)
    #expect(try packs.isRight())
  }

  @Test func firstManifestsMayBeTakenAlone() throws {
    let device = try bench.device(change: { $0.meteredLimit = 1000 })
    device.conditions.network = .metered
    let report = try device.update()
    #expect(report.kind == .whole && report.backlog == 7 && report.fetched == 0)
    for (url, bytes) in PackBench.first { #expect(try device.resource(for: url)?.read() == bytes) }
    device.conditions.network = .unmetered
    #expect(try device.fetchBacklog() == 0)
    #expect(try bench.state() == bench.fresh())
  }

  @Test func backlogSurvivesARestart() throws {
    do {
      let device = try metered()
      _ = try device.update(force: true)
      device.close()
    }
    do {
      // A complete update in between doesn't change what is left of the one before.
      let device = try bench.device()
      try origin.publish(PackBench.second.merging([PackBench.url("more.js"): bytes("more")]) { $1 })
      #expect(try device.update(force: true).fetched == 1)
      #expect(try device.fetchBacklog() == 7)
      #expect(try bench.state() == bench.fresh())
    }
  }

  @Test func nothingIsRequestedOffline() throws {
    let device = try packs.device()
    device.conditions.network = .offline
    #expect(try device.update(force: true).kind == .notDue)
    #expect(origin.takeLog() == [])
  }

  /// If the network becomes metered during an update, fetched files are kept, and the switch is made.
  @Test(arguments: [true, false]) func networkBecomesMeteredDuringAnUpdate(hasPack: Bool) throws {
    let device = try packs.device(change: { $0.meteredLimit = 100_000 })
    if !hasPack { origin.forgetPacks() }
    origin.setPiece(4096)
    origin.eachPiece { url in
      if url.contains(hasPack ? ".xpk" : "font.bin") { device.conditions.network = .metered }
    }
    let report = try device.update(force: true)
    origin.eachPiece(nil)
    #expect(report.to == "2" && report.backlog > 0 && report.kind == .patch)
    for (url, bytes) in PackBench.second { #expect(try device.resource(for: url)?.read() == bytes) }
  }

  /// The bases of deltas are kept for a week, and used.
  @Test(arguments: [(days: 6, isUsed: true), (days: 8, isUsed: false)])
  func basesAreKeptForAWeek(days: Int64, isUsed: Bool) throws {
    let (name, old, new) = (PackBench.url("font.bin"), PackBench.text(6, 150_000), PackBench.text(6, 150_100))
    try origin.publish([name: old, PackBench.url("gone.js"): bytes("gone")], version: 1)
    let device = try bench.device(change: { $0.meteredLimit = 10 })
    _ = try device.update(force: true)
    try origin.publish([name: new], version: 2)
    try origin.offer(
      try #require(Dcz.encodeWell(new, base: old, baseSHA256: SHA256.of(old))), for: name, on: old)
    device.conditions.network = .metered
    #expect(try device.update(force: true).backlog == 1)
    #expect(try asides().count == 2)
    bench.clock.advance(seconds: days * 24 * 3600)
    _ = try device.update(force: true)
    #expect(try asides() == (isUsed ? [SHA256.of(old).hex] : []))
    device.conditions.network = .unmetered
    _ = origin.takeLog()
    #expect(try device.fetchBacklog() == 1)
    #expect(origin.takeLog().map { $0.hasSuffix(".dcz") } == [isUsed])
    #expect(try device.resource(for: name)?.read() == new)
  }

  /// A page's request for a file of the backlog uses the delta.
  @Test func pagesUseDeltas() throws {
    let (name, old, new) = (PackBench.url("font.bin"), PackBench.text(6, 150_000), PackBench.text(6, 150_100))
    try origin.publish([name: old], version: 1)
    let device = try bench.device(change: { $0.meteredLimit = 10 })
    _ = try device.update(force: true)
    try origin.publish([name: new], version: 2)
    try origin.offer(
      try #require(Dcz.encodeWell(new, base: old, baseSHA256: SHA256.of(old))), for: name, on: old)
    device.conditions.network = .metered
    _ = try device.update(force: true)
    _ = origin.takeLog()
    #expect(try device.resource(for: name)?.read() == new)
    #expect(origin.takeLog().map { $0.hasSuffix(".dcz") } == [true])
  }

  /// A file that doesn't exist doesn't stop the others, and isn't requested again.
  @Test func missingFilesAreSkipped() throws {
    let device = try metered()
    _ = try device.update(force: true)
    device.conditions.network = .unmetered
    origin.fail { $0.contains("font.bin") ? .status(404) : nil }
    #expect(try device.fetchBacklog() == 6)
    _ = origin.takeLog()
    #expect(try device.fetchBacklog() == 0)
    #expect(origin.takeLog() == [])
    // A file that fails otherwise is.
    origin.fail(nil)
    let other = try metered("other")
    _ = try other.update(force: true)
    other.conditions.network = .unmetered
    origin.fail { $0.contains("font.bin") ? .error(TransportError(.broken, "torn")) : nil }
    #expect(throws: DeviceError.self) { try other.fetchBacklog() }
    origin.fail(nil)
    _ = try other.fetchBacklog()
    #expect(try packs.isRight("other"))
  }

  private func metered(_ name: String) throws -> Device {
    let device = try packs.device(name, change: { $0.meteredLimit = 100_000 })
    device.conditions.network = .metered
    return device
  }

  /// A device that is stopped at any step of such a switch serves right bytes, and gets to the new version.
  @Test func crashesAtAnyStepLeaveAValidState() throws {
    let url = { PackBench.url($0) }
    let first = [url("kept"): bytes("kept"), url("changed"): bytes("old"), url("gone"): bytes("gone")]
    let second = [url("kept"): bytes("kept"), url("changed"): bytes("new"), url("fresh"): bytes("fresh")]
    let bench = try Bench()
    bench.clock.advance(seconds: (Clock.unixMilliseconds() - bench.clock.now) / 1000)
    try bench.origin.publish(first)
    try bench.origin.publish(second)
    let new = try bench.fresh()
    var steps = 0
    var isDone = false
    var versions: Set<String> = []
    while !isDone, steps < 100 {
      let name = "device-\(steps)"
      let left = Locked<Int?>(nil)
      bench.origin.restore(to: 1)
      do {
        let device = try bench.device(
          name,
          willChange: { () throws(DeviceError) in
            let isStopped = left.withLock { left in
              left = left.map { max(0, $0 - 1) }
              return left == 0
            }
            if isStopped { throw .file(path: "", call: "stopped", code: 0, reason: "") }
          }, change: { $0.meteredLimit = 1 })
        _ = try device.update()
        bench.origin.restore(to: 2)
        device.conditions.network = .metered
        left.withLock { $0 = steps + 1 }
        isDone = (try? device.update(force: true)) != nil
      }
      let device = try bench.device(name)
      versions.insert(device.version)
      for (url, bytes) in device.version == "1" ? first : second {
        #expect(try device.resource(for: url)?.read() == bytes, "step \(steps)")
      }
      _ = try device.update(force: true)
      _ = try device.fetchBacklog()
      for (url, bytes) in second { #expect(try device.resource(for: url)?.read() == bytes) }
      #expect(try bench.state(name) == new, "step \(steps)")
      steps += 1
    }
    #expect(versions == ["1", "2"])
  }

  /// The disk limit also applies to the backlog.
  @Test func backlogObeysTheDiskLimit() throws {
    let limit: Int64 = 230_000
    let device = try packs.device(change: {
      $0.meteredLimit = 1000
      $0.diskLimit = limit
    })
    device.conditions.network = .metered
    _ = try device.update(force: true)
    device.conditions.network = .unmetered
    _ = try device.fetchBacklog()
    #expect(device.cache.withLock { $0.bytes + $0.asideBytes } <= limit)
    _ = origin.takeLog()
    #expect(try device.fetchBacklog() == 0)
    #expect(origin.takeLog() == [])
  }
}
