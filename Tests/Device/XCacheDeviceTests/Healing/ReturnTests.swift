import Archive
import DeviceTestSupport
import Manifests
import System
import Testing
import TestSupport
import Values

@testable import XCacheDevice

/// Going back to the version before, with a disk that fails and processes that end.
@Suite struct ReturnTests {
  private static func url(_ name: String) -> String { "https://m.test/\(name)" }
  /// Kept, changed, removed, renamed, and swapped files.
  private static let first: [String: [UInt8]] = [
    url("kept"): bytes("kept"), url("changed"): bytes("old"), url("gone"): bytes("gone"),
    url("old-name"): bytes("same bytes"), url("x"): bytes("xx"), url("y"): bytes("yy"),
  ]
  private static let second: [String: [UInt8]] = [
    url("kept"): bytes("kept"), url("changed"): bytes("new"), url("new-name"): bytes("same bytes"),
    url("x"): bytes("yy"), url("y"): bytes("xx"), url("fresh"): bytes("fresh"),
  ]

  let bench: Bench
  /// The files and the index of each version.
  let old: [String: [UInt8]]
  let new: [String: [UInt8]]

  init() throws {
    bench = try Bench()
    try bench.origin.publish(Self.first)
    old = try bench.fresh()
    try bench.origin.publish(Self.second)
    new = try bench.fresh()
  }

  private func device(
    _ name: String = "device", _ disk: FailingDisk = FailingDisk(),
    _ change: (inout DeviceSettings) -> Void = { _ in }
  ) throws -> Device {
    let step: @Sendable () throws(DeviceError) -> Void = { () throws(DeviceError) in try disk.step() }
    return try bench.device(name, willChange: step) { settings in
      settings.goesBack = true
      change(&settings)
    }
  }

  /// A device that holds the second version on trial.
  private func switched(
    _ name: String = "device", _ disk: FailingDisk = FailingDisk(),
    _ change: (inout DeviceSettings) -> Void = { _ in }
  ) throws -> Device {
    bench.origin.restore(to: 1)
    let device = try device(name, disk, change)
    _ = try device.update()
    bench.origin.restore(to: 2)
    _ = try device.update(force: true)
    #expect(device.version == "2")
    return device
  }

  private func failTwice(_ device: Device) -> Bool {
    _ = device.recordFailure(of: device.version)
    return device.recordFailure(of: device.version)
  }

  private func exists(_ file: String, _ name: String = "device") throws -> Bool {
    try Kernel.status("\(bench.scratch.path)/\(name)/\(file)") != nil
  }

  @Test func itGoesBackWithoutARequest() throws {
    let device = try switched()
    #expect(try exists("previous.json"))
    #expect(failTwice(device))
    bench.origin.fail { _ in .error(TransportError(.unreachable, "no way")) }
    _ = bench.origin.takeLog()
    #expect(try device.goBack(.page, url: "") == VersionReturn(from: "2", to: "1"))
    #expect(bench.origin.takeLog() == [])
    #expect(try bench.state() == old)
    #expect(try !exists("previous.json"))
    for (url, body) in Self.first { #expect(try device.resource(for: url)?.read() == body) }
    // Once.
    #expect(try device.goBack(.page, url: "") == nil)
    bench.origin.fail(nil)
    // An origin that doesn't know `skip` offers it again.
    #expect(try device.update(force: true).kind == .nothing)
    #expect(bench.origin.takeLog().allSatisfy { $0.hasSuffix("&skip=2") })
    #expect(try bench.state() == old)
  }

  @Test func nothingIsKeptWithoutASetting() throws {
    bench.origin.restore(to: 1)
    let device = try bench.device()
    _ = try device.update()
    bench.origin.restore(to: 2)
    _ = try device.update(force: true)
    #expect(try !exists("previous.json") && !exists("trial.json"))
    #expect(try device.goBack(.rejected, url: "") == nil)
  }

  /// However far a return came, the next process holds one of the versions whole, and goes on with it.
  @Test func crashesAtAnyStepLeaveAValidState() throws {
    var (steps, isDone) = (0, false)
    var outcomes: Set<String> = []
    while !isDone {
      let name = "device-\(steps)"
      let disk = FailingDisk()
      var device: Device? = try switched(name, disk)
      #expect(device.map(failTwice) == true)
      disk.fail(after: steps)
      _ = try? device?.goBack(.page, url: "")
      isDone = !disk.hasFailed
      device = nil

      let next = try self.device(name)
      outcomes.insert(next.version)
      #expect(try bench.state(name) == (next.version == "1" ? old : new), "stopped before step \(steps)")
      // It had failed, whether that it goes back was noted or not.
      next.resumeTrials()
      #expect(try bench.state(name) == old, "stopped before step \(steps)")
      #expect(next.trials.withLock { $0.skip?.cause } == .page)
      steps += 1
    }
    #expect(steps > 5 && outcomes == ["1", "2"])
  }

  /// The same where only the app's preset is left.
  @Test func crashesOfAReturnToThePreset() throws {
    bench.origin.restore(to: 1)
    let preset = try zip(Self.first)
    var (steps, isDone) = (0, false)
    while !isDone {
      let name = "device-\(steps)"
      let disk = FailingDisk()
      var device: Device? = try switched(name, disk) { $0.preset = preset }
      try device?.cache.withLock { cache throws(DeviceError) in try cache.dropPrevious() }
      #expect(device.map(failTwice) == true)
      disk.fail(after: steps)
      _ = try? device?.goBack(.page, url: "")
      isDone = !disk.hasFailed
      device = nil

      let next = try self.device(name) { $0.preset = preset }
      next.resumeTrials()
      #expect(try bench.state(name) == old, "stopped before step \(steps)")
      #expect(next.trials.withLock { $0.skip?.cause } == .page)
      steps += 1
    }
    #expect(steps > 5)
  }

  /// Writes a zip of the version that the origin has.
  private func zip(_ files: [String: [UInt8]]) throws -> String {
    var body: [UInt8] = []
    let url = "\(FakeOrigin.server)/configure.json?app=shop&channel=online"
    _ = try bench.origin.get(TransportRequest(url, limit: 1 << 20)) {
      $0.withUnsafeBytes { body.append(contentsOf: $0) }
      return true
    }
    var inputs = try files.sorted { $0.key < $1.key }.map {
      ArchiveInput(BundleZip.path(ofFile: ResourceFileName(try ResourceURL($0.key)).text), bytes: $0.value)
    }
    inputs.append(ArchiveInput(BundleZip.manifestName, bytes: body))
    let path = "\(bench.scratch.path)/preset.zip"
    let sink = ArchiveFileSink(try Kernel.open(path, [.write, .create, .truncate]), path: path)
    try Archive.write(inputs, threads: 1, to: sink)
    _ = try sink.finish()
    return path
  }

  /// However far the switch came, a device that has made it can go back.
  @Test func crashesOfTheSwitchKeepTheWayBack() throws {
    var (steps, isDone) = (0, false)
    while !isDone {
      let name = "device-\(steps)"
      let disk = FailingDisk()
      bench.origin.restore(to: 1)
      var device: Device? = try self.device(name, disk)
      _ = try device?.update()
      bench.origin.restore(to: 2)
      disk.fail(after: steps)
      isDone = (try? device?.update(force: true)) != nil
      device = nil

      let next = try self.device(name)
      next.resumeTrials()
      if next.version == "1" {
        #expect(
          try !exists("previous.json", name) && !exists("trial.json", name), "stopped before step \(steps)")
      } else {
        #expect(failTwice(next))
        #expect(try next.goBack(.page, url: "") != nil, "stopped before step \(steps)")
        #expect(try bench.state(name) == old, "stopped before step \(steps)")
      }
      steps += 1
    }
    #expect(steps > 15)
  }

  /// The process ends between two writes of a proof.
  @Test func crashesOfAProof() throws {
    for steps in 0..<6 {
      let name = "device-\(steps)"
      let disk = FailingDisk()
      var device: Device? = try switched(name, disk)
      device?.recordSuccess(of: "2")
      disk.fail(after: steps)
      device?.prove("2")
      device = nil
      let next = try self.device(name)
      next.resumeTrials()
      // Either it is proved, or there is still a way back.
      let isOnTrial = next.trials.withLock { $0.trial != nil }
      #expect(try exists("previous.json", name) == isOnTrial)
      #expect(try bench.state(name) == new)
      next.prove("2")
      #expect(try !exists("previous.json", name) && !exists("trial.json", name))
    }
  }

  @Test func marksAreCrashesOfTheNextProcess() throws {
    var device: Device? = try switched()
    for number in 1...2 {
      device?.beginStart(of: 7, "https://m.test/index.html", from: "2")
      #expect(try exists("trial.json"))
      device = nil
      device = try self.device()
      device?.resumeTrials()
      #expect(device?.version == (number == 1 ? "2" : "1"))
    }
    #expect(device?.trials.withLock { $0.skip?.cause } == .start)
    #expect(try bench.state() == old)
  }

  @Test func onePageThatEndsDoesNotHideAnother() throws {
    let device = try switched()
    device.beginStart(of: 1, "", from: "2")
    device.beginStart(of: 2, "", from: "2")
    device.endStart(of: 1)
    #expect(device.folder.savedTrials?.mark != nil)
    device.endStart(of: 2)
    #expect(device.folder.savedTrials?.mark == nil)
    device.beginStart(of: 3, "", from: "2")
    device.endStart()
    #expect(device.folder.savedTrials?.mark == nil)
  }

  @Test func aVersionThatIsProvedCostsNothing() throws {
    let device = try switched()
    device.recordSuccess(of: "2")
    device.prove("2")
    #expect(try !exists("previous.json") && !exists("trial.json"))
    #expect(!device.needsMark("2") && !device.awaitsVerdict(of: "2"))
    device.beginStart(of: 1, "", from: "2")
    #expect(try !exists("trial.json"))
    // What was set aside goes when it is a day old.
    bench.clock.advance(seconds: 2 * 86_400)
    device.tidy()
    #expect(try Scratch.contents("\(bench.scratch.path)/device/aside").isEmpty)
  }

  @Test(arguments: [3 * 86_400, -400 * 86_400] as [Int64]) func clocksMakeNoDifference(seconds: Int64) throws
  {
    let device = try switched()
    bench.clock.advance(seconds: seconds)
    device.tidy()
    #expect(failTwice(device))
    #expect(try device.goBack(.page, url: "") != nil)
    #expect(try bench.state() == old)
  }

  @Test(arguments: ["previous.json", "trial.json"]) func damagedNotesCostTheWayBack(file: String) throws {
    var device: Device? = try switched()
    device = nil
    let path = "\(bench.scratch.path)/device/\(file)"
    var saved = try #require(try DurableFile.read(path))
    saved[saved.count / 2] ^= 1
    try DurableFile.write(saved, to: path)
    device = try self.device()
    device?.resumeTrials()
    #expect(try device?.goBack(.rejected, url: "") == nil)
    #expect(try bench.state() == new)
    #expect(try !exists("previous.json"))
  }

  /// Someone has cleared what was set aside: the files that are missing are fetched on demand.
  @Test func missingFilesAreFetchedWhenTheyAreRequested() throws {
    let device = try switched()
    let aside = "\(bench.scratch.path)/device/aside"
    for name in try Folder.textNames(aside) { try Kernel.remove("\(aside)/\(name)") }
    #expect(failTwice(device))
    #expect(try device.goBack(.page, url: "") != nil)
    for (url, body) in Self.first { #expect(try device.resource(for: url)?.read() == body) }
    #expect(try bench.state() == old)
  }

  /// Damaged bytes don't move into place.
  @Test func damagedFilesAreFetched() throws {
    let device = try switched()
    let aside = "\(bench.scratch.path)/device/aside"
    for name in try Folder.textNames(aside) {
      try DurableFile.write(bytes("damaged"), to: "\(aside)/\(name)")
    }
    #expect(failTwice(device))
    #expect(try device.goBack(.page, url: "") != nil)
    for (url, body) in Self.first { #expect(try device.resource(for: url)?.read() == body) }
  }

  /// A device of 0.2.0 had the folder in between: it knows nothing of the files, and may have switched.
  @Test func foldersOfOlderDevices() throws {
    var device: Device? = try switched()
    device = nil
    try bench.origin.publish([Self.url("kept"): bytes("third")])
    device = try bench.device()
    _ = try device?.update(force: true)
    #expect(device?.version == "3")
    device = nil
    device = try self.device()
    device?.resumeTrials()
    #expect(try !exists("previous.json") && !exists("trial.json"))
    #expect(try device?.goBack(.rejected, url: "") == nil)
  }

  @Test func afterTwoSwitchesTheProvedVersionIsKept() throws {
    let device = try switched()
    try bench.origin.publish([Self.url("kept"): bytes("third"), Self.url("changed"): bytes("old")])
    _ = try device.update(force: true)
    #expect(device.version == "3")
    #expect(failTwice(device))
    #expect(try device.goBack(.page, url: "") == VersionReturn(from: "3", to: "1"))
    #expect(try bench.state() == old)
  }

  @Test func rollbacksHaveNoWayBack() throws {
    bench.origin.say(#","rollback":"2""#)
    let device = try switched()
    #expect(try !exists("previous.json"))
    #expect(!failTwice(device))
    #expect(try device.goBack(.rejected, url: "") == nil)
  }

  /// A rollback that the device hears of while the version is on trial.
  @Test func rollbacksThatComeLater() throws {
    let device = try switched()
    bench.origin.say(#","rollback":"2""#)
    _ = try device.update(force: true)
    #expect(failTwice(device))
    #expect(try device.goBack(.page, url: "") == nil)
    #expect(try bench.state() == new)
  }

  /// The process ended before the switch, and the rollback came to light in between.
  @Test func returnsThatMayNotGoOn() throws {
    let disk = FailingDisk()
    var device: Device? = try switched("device", disk)
    #expect(device.map(failTwice) == true)
    // One change is what was noted.
    disk.fail(after: 1)
    #expect(throws: DeviceError.self) { try device?.goBack(.page, url: "") }
    device = nil
    let poll = "\(bench.scratch.path)/device/poll.json"
    let saved = String(decoding: try #require(try DurableFile.read(poll)), as: UTF8.self)
    try DurableFile.write(
      bytes(saved.replacing("\"rollback\":0", with: "\"rollback\":2")), to: poll)
    device = try self.device()
    device?.resumeTrials()
    #expect(try bench.state() == new)
    #expect(try !exists("previous.json") && !exists("trial.json"))
  }

  /// A version that the device was about to leave hasn't proved itself: it isn't where the next one leads back to.
  @Test func aReturnThatTheDiskRefusedKeepsTheWayBack() throws {
    let disk = FailingDisk()
    let device = try switched("device", disk)
    #expect(failTwice(device))
    disk.fail(after: 1)
    #expect(throws: DeviceError.self) { try device.goBack(.page, url: "") }
    disk.heal()
    try bench.origin.publish([Self.url("kept"): bytes("third"), Self.url("changed"): bytes("old")])
    _ = try device.update(force: true)
    #expect(device.version == "3")
    #expect(failTwice(device))
    #expect(try device.goBack(.page, url: "") == VersionReturn(from: "3", to: "1"))
    #expect(try bench.state() == old)
  }

  /// What the app says is about the version that it has seen.
  @Test func aRejectionIsNotAboutTheNextVersion() throws {
    let device = try switched()
    try bench.origin.publish([Self.url("kept"): bytes("third")])
    _ = try device.update(force: true)
    #expect(try device.goBack(.rejected, url: "", from: "2") == nil)
    #expect(device.version == "3")
    #expect(try device.goBack(.rejected, url: "", from: "3") == VersionReturn(from: "3", to: "1"))
  }

  /// Pages that are open keep the files of the version that was left.
  @Test func openPagesKeepTheirFiles() throws {
    let device = try switched()
    let page = device.snapshot
    #expect(failTwice(device))
    #expect(try device.goBack(.page, url: "") != nil)
    #expect(device.isOlder(page))
    let file = try #require(page.listed(try ResourceURL(Self.url("fresh")), isPage: false))
    #expect(try device.openSetAside(file)?.read() == bytes("fresh"))
  }

  @Test func theDiskLimitCostsTheWayBack() throws {
    let large = { (byte: UInt8) in [UInt8](repeating: byte, count: 40_000) }
    try bench.origin.publish([Self.url("a"): large(1)])
    try bench.origin.publish([Self.url("a"): large(2)])
    for (limit, isKept) in [(100_000, true), (60_000, false)] as [(Int64, Bool)] {
      let name = "device-\(limit)"
      bench.origin.restore(to: 3)
      let device = try self.device(name) { $0.diskLimit = limit }
      _ = try device.update()
      bench.origin.restore(to: 4)
      _ = try device.update(force: true)
      #expect(try exists("previous.json", name) == isKept)
      #expect(failTwice(device))
      #expect(try (device.goBack(.page, url: "") != nil) == isKept)
      #expect(try device.resource(for: Self.url("a"))?.read() == large(isKept ? 1 : 2))
    }
  }

  /// An update to a third version was interrupted before.
  @Test func updatesGoOnAfterIt() throws {
    let device = try switched()
    try bench.origin.publish([Self.url("a"): bytes("a"), Self.url("b"): bytes("b")])
    bench.origin.fail { $0.contains("%252Fb") ? .status(404) : nil }
    _ = try? device.update(force: true)
    #expect(failTwice(device))
    #expect(try device.goBack(.page, url: "") != nil)
    #expect(try bench.state() == old)
    bench.origin.fail(nil)
    #expect(try device.update(force: true).to == "3")
    #expect(device.trials.withLock { $0.skip } == nil)
  }
}

/// Fails the nth change of a device's disk, and all after it.
private final class FailingDisk: Sendable {
  private let left = Locked<Int?>(nil)

  /// Whether a change was refused.
  var hasFailed: Bool { left.withLock { $0 == -1 } }

  func fail(after changes: Int) { left.withLock { $0 = changes } }

  func heal() { left.withLock { $0 = nil } }

  func step() throws(DeviceError) {
    let isStopped = left.withLock { left in
      guard let count = left else { return false }
      left = max(-1, count - 1)
      return count <= 0
    }
    if isStopped { throw .file(path: "", call: "stopped", code: 0, reason: "") }
  }
}
