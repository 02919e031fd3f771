import DeviceTestSupport
import System
import Testing
import TestSupport

@testable import XCacheDevice

/// First packs that break off, and disks and networks that set limits (docs/protocol.md §11, D-182…D-184).
@Suite struct FirstPackResumeTests {
  let first: FirstPackBench
  var bench: Bench { first.bench }
  var origin: FakeOrigin { bench.origin }
  var total: Int64 { Int64(first.pack.bytes.count) }

  init() throws { first = try FirstPackBench() }

  /// A download that breaks off anywhere is resumed there, within the update.
  @Test func interruptedDownloadsAreResumed() throws {
    for tear in [1, 5, 40, 130, 200, 30_000, 100_000, Int(total) - 1] {
      let name = "device-\(tear)"
      try origin.offerFirst(FirstPackBench.files)
      let device = try bench.device(name)
      origin.tear(after: [tear])
      _ = first.singleFiles()
      let report = try device.update()
      #expect(report.pack?.resumed == 1 && report.pack?.bytes == total && report.backlog == 0, "\(tear)")
      let ranges = origin.takeRanges()
      #expect(ranges.map(\.start) == [0, Int64(tear)])
      #expect(ranges[0].entityTag == nil && ranges[1].entityTag != nil)
      #expect(first.singleFiles() == 0)
      #expect(try first.isRight(name), "\(tear)")
    }
  }

  /// The next process goes on: with the next update, polled or not, or with the job of the backlog.
  @Test(arguments: ["update", "early", "backlog"]) func otherProcessesGoOn(by way: String) throws {
    origin.tear(after: [FirstPackBench.firstBlock, 0, 0])
    do {
      let device = try bench.device()
      let report = try device.update()
      #expect(report.to == "1" && report.fetched == 6 && report.backlog == 1)
      #expect(try first.held(device).count == 6)
    }
    _ = origin.takeRanges()
    let device = try bench.device()
    #expect(device.version == "1")
    switch way {
    case "backlog": #expect(try device.fetchBacklog() == 1)
    case "update": #expect(try device.update(force: true).fetched == 1)
    default:
      let report = try device.update()
      #expect(report.kind == .notDue && report.fetched == 1 && report.pack?.resumed == 1)
    }
    let ranges = origin.takeRanges()
    #expect(ranges.map(\.start) == [Int64(FirstPackBench.firstBlock)] && ranges[0].entityTag != nil)
    #expect(first.singleFiles() == 0)
    #expect(try first.isRight())
  }

  /// A server without ranges sends everything again, and nodes of a CDN may have tags of their own.
  @Test(arguments: [true, false]) func bytesThatAreHereAreSkipped(hasRanges: Bool) throws {
    if hasRanges {
      origin.setTag("\"one\"")
      let origin = origin
      origin.eachPiece { _ in origin.setTag("\"two\"") }
    } else {
      origin.setRanges(false)
    }
    origin.tear(after: [100_000])
    let device = try bench.device()
    let report = try device.update()
    origin.eachPiece(nil)
    #expect(report.pack?.files == 7 && report.pack?.failure == nil && first.singleFiles() == 0)
    #expect(try first.isRight())
  }

  /// A part file that was damaged, or is of another pack, costs its bytes and no more.
  @Test(arguments: ["damaged", "longer", "other"]) func damagedPartsAreFetchedAgain(what: String) throws {
    origin.tear(after: [30_000, 0, 0])
    do { _ = try bench.device().update() }
    let path = "\(first.folder())/staging/first"
    var part = try #require(try DurableFile.read(path))
    #expect(part == Array(first.pack.bytes.prefix(30_000)))
    switch what {
    case "damaged": part[20_000] ^= 0x40
    case "longer": part += [UInt8](repeating: 0, count: 200_000)
    default: part = PackBench.text(55, 30_000)
    }
    try DurableFile.write(part, to: path)
    _ = origin.takeRanges()
    let device = try bench.device()
    #expect(try device.fetchBacklog() == 7)
    #expect(origin.takeRanges().last?.start == 0)
    #expect(first.singleFiles() == 0)
    #expect(try first.isRight())
  }

  /// What came of it a day ago goes; the pack itself still comes.
  @Test func oldPartsAreRemoved() throws {
    origin.tear(after: [30_000, 0, 0])
    let device = try bench.device()
    #expect(try device.update().backlog == 7)
    _ = origin.takeRanges()
    bench.clock.advance(seconds: 25 * 3600)
    #expect(try device.update(force: true).fetched == 7)
    #expect(origin.takeRanges().map(\.start) == [0])
    #expect(first.singleFiles() == 0)
    #expect(try first.isRight())
  }

  /// A server that gives nothing of it three times in a row isn't asked any more.
  @Test func serversThatRefuseItAreGivenUp() throws {
    origin.fail { $0.hasSuffix(".xpk") ? .status(503) : nil }
    let device = try bench.device()
    let report = try device.update()
    #expect(report.to == "1" && report.backlog == 7 && report.pack == nil)
    #expect(throws: DeviceError.self) { try device.fetchBacklog() }
    #expect(first.singleFiles() == 0)
    #expect(try device.fetchBacklog() == 7)
    origin.fail(nil)
    #expect(try first.isRight())
  }

  /// Nor one that breaks off at the same place each time, and knows no ranges.
  @Test func serversThatGetNowhereAreGivenUp() throws {
    origin.setRanges(false)
    origin.tear(after: [Int](repeating: 30_000, count: 30))
    let device = try bench.device()
    #expect(try device.update().backlog == 7)
    #expect(throws: DeviceError.self) { try device.fetchBacklog() }
    #expect(try device.fetchBacklog() == 7)
    #expect(first.singleFiles() == 7)
    #expect(try first.isRight())
  }

  /// A network that isn't there says nothing of the pack.
  @Test func badNetworksAreWaitedOut() throws {
    origin.fail { $0.hasPrefix("https://cdn.test/") ? FirstPackBench.unreachable : nil }
    let device = try bench.device()
    #expect(try device.update().backlog == 7)
    for _ in 0..<5 { #expect(throws: DeviceError.self) { try device.fetchBacklog() } }
    origin.fail(nil)
    _ = first.singleFiles()
    #expect(try device.fetchBacklog() == 7)
    #expect(first.singleFiles() == 0)
    #expect(try first.isRight())
  }

  /// Where only the pack can't be reached, everything else comes at once.
  @Test(arguments: [TransportError.Kind.unreachable, .timedOut])
  func packsOutOfReachKeepNothingAway(kind: TransportError.Kind) throws {
    origin.fail { $0.hasSuffix(".xpk") ? .error(TransportError(kind, "no way")) : nil }
    let report = try bench.device().update()
    #expect(report.to == "1" && report.backlog == 0 && report.fetched == 7)
    #expect(first.singleFiles() == 7)
    origin.fail(nil)
    #expect(try first.isRight())
  }

  /// A job that is stopped leaves what has come.
  @Test func stoppedJobsAreGoneOnWith() throws {
    let device = try bench.device()
    let signal = StopSignal()
    origin.setPiece(10_000)
    origin.eachPiece { _ in
      if device.heldFiles().contains(where: { $0.path != nil }) { device.stop(signal) }
    }
    let report = try device.update(until: signal)
    origin.eachPiece(nil)
    #expect(report.to == "1" && report.backlog > 0 && report.pack?.failure == nil)
    _ = origin.takeRanges()
    #expect(try device.fetchBacklog() == report.backlog)
    #expect(origin.takeRanges().allSatisfy { $0.start > 0 })
    #expect(first.singleFiles() == 0)
    #expect(try first.isRight())
  }
}

// MARK: - Metered networks

extension FirstPackResumeTests {
  @Test func meteredNetworksTakeTheManifestAlone() throws {
    let device = try bench.device(change: { $0.meteredLimit = 100_000 })
    device.conditions.network = .metered
    let report = try device.update()
    #expect(report.to == "1" && report.fetched == 0 && report.backlog == 7)
    #expect(origin.takeLog().count == 1)
    let page = FirstPackBench.order[0]
    #expect(try device.page(for: page)?.read() == PackBench.first[page])
    #expect(first.singleFiles() == 1)
    #expect(try device.update(force: true).kind == .nothing)
    #expect(try device.fetchBacklog() == 0)
    #expect(origin.takeLog().allSatisfy { !$0.hasSuffix(".xpk") })
    device.conditions.network = .unmetered
    #expect(try device.fetchBacklog() == 6)
    #expect(origin.takeLog() == [first.pack.url])
    #expect(try first.isRight())
  }

  @Test func smallPacksAreTakenOnMeteredNetworks() throws {
    let device = try bench.device(change: { $0.meteredLimit = 1 << 20 })
    device.conditions.network = .metered
    let report = try device.update()
    #expect(report.pack?.files == 7 && report.backlog == 0)
    #expect(origin.takeLog().count == 2)
    #expect(try first.isRight())
  }

  @Test func networksThatBecomeMeteredInterruptIt() throws {
    let device = try bench.device(change: { $0.meteredLimit = 100_000 })
    origin.setPiece(4096)
    let count = Locked(0)
    origin.eachPiece { url in
      let now = count.withLock { count in
        count += 1
        return count
      }
      if url.hasSuffix(".xpk"), now > 30 { device.conditions.network = .metered }
    }
    let report = try device.update()
    origin.eachPiece(nil)
    #expect(report.to == "1" && report.backlog > 0 && report.fetched > 0)
    device.conditions.network = .unmetered
    _ = origin.takeRanges()
    #expect(try device.fetchBacklog() == report.backlog)
    #expect(origin.takeRanges().allSatisfy { $0.start > 0 })
    #expect(first.singleFiles() == 0)
    #expect(try first.isRight())
  }
}

// MARK: - The disk

extension FirstPackResumeTests {
  /// Stops a device before its nth change of the disk, opens it again, and lets it finish: what it holds is right at any moment, and
  /// nothing of the pack is fetched one by one.
  @Test func devicesGoOnAfterACrashAtAnyStep() throws {
    var steps = 0
    var outcomes: Set<String> = []
    while true {
      try origin.offerFirst(FirstPackBench.files)
      let name = "device-\(steps)"
      let limit = ChangeLimit(.stopped)
      var device: Device? = try bench.device(
        name,
        willChange: { () throws(DeviceError) in try limit.check() })
      origin.setPiece(4096)
      limit.set(steps)
      let report = try? device?.update()
      let isDone = report?.backlog == 0
      device = nil
      if isDone { break }
      let again = try bench.device(name)
      outcomes.insert(again.version)
      let held = try first.held(again).count
      _ = first.singleFiles()
      let after = try again.update(force: true)
      #expect(after.pack?.failure == nil && after.fetched + held == 7, "\(steps)")
      #expect(first.singleFiles() == 0, "\(steps)")
      #expect(try first.isRight(name), "\(steps)")
      steps += 1
    }
    #expect(steps > 50 && outcomes == ["0", "1"])
  }

  /// The disk fills up at any change of it, and has room again later.
  @Test func fullDisksCostSpeedOnly() throws {
    var changes = 0
    var isDone = false
    while !isDone {
      try origin.offerFirst(FirstPackBench.files)
      let name = "device-\(changes)"
      let limit = ChangeLimit(.diskFull)
      var device: Device? = try bench.device(
        name,
        willChange: { () throws(DeviceError) in try limit.check() })
      origin.setPiece(16 << 10)
      limit.set(changes)
      isDone = (try? device?.update().backlog) == 0
      _ = try device.map { try first.held($0) }
      limit.set(nil)
      _ = try device?.update(force: true)
      _ = try device?.fetchBacklog()
      // Here nothing can be removed either while the disk is full; what is left then goes at the next start.
      device = nil
      _ = try bench.device(name)
      #expect(try first.isRight(name), "\(changes)")
      changes += 1
    }
    #expect(changes > 20)
  }

  /// Of an app that is larger than the disk limit, what fits is taken.
  @Test func packsObeyTheDiskLimit() throws {
    var files: [String: [UInt8]] = [:]
    for index in 0..<10 {
      files[PackBench.url("\(index).txt")] = [UInt8](repeating: UInt8(index), count: 20_000 + index)
    }
    let bench = try Bench()
    try bench.origin.publish(files)
    try bench.origin.offerFirst(files.keys.sorted().compactMap { files[$0] })
    let limit: Int64 = 110_000
    let device = try bench.device(change: { $0.diskLimit = limit })
    let report = try device.update()
    #expect(report.pack?.files == 5 && report.missing == 5 && report.backlog == 0)
    #expect(device.cache.withLock { $0.bytes } <= limit)
    #expect(bench.origin.takeLog().count == 2)
    for (url, bytes) in files { #expect(try device.resource(for: url)?.read() == bytes) }
    #expect(device.cache.withLock { $0.bytes } <= limit)
    #expect(try device.fetchBacklog() == 0)
  }

  /// Where the pack is larger than what fits of its files, these come one by one.
  @Test func smallDiskLimitsNeedNoPack() throws {
    let limit: Int64 = 100_000
    let device = try bench.device(change: { $0.diskLimit = limit })
    let report = try device.update()
    #expect(report.pack == nil && report.missing == 1)
    #expect(!origin.takeLog().contains { $0.hasSuffix(".xpk") })
    #expect(device.cache.withLock { $0.bytes } <= limit)
  }
}
