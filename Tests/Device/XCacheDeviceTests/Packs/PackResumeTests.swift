import DeviceTestSupport
import Manifests
import System
import Testing
import TestSupport

@testable import XCacheDevice

@Suite struct PackResumeTests {
  let packs: PackBench
  var origin: FakeOrigin { packs.origin }

  init() throws { packs = try PackBench() }

  /// A download that was interrupted anywhere is resumed there.
  @Test func interruptedDownloadsAreResumed() throws {
    let device = try packs.device()
    let pack = try origin.offerPack(from: 1)
    for tear in [
      1, 40, pack.bounds[0] - 1, pack.bounds[0], pack.bounds[0] + 3, 100_000, pack.bytes.count - 1,
    ] {
      let name = "device-\(tear)"
      let other = try packs.device(name)
      origin.tear(after: [tear])
      let report = try other.update(force: true)
      #expect(report.kind == .pack && report.pack?.resumed == 1, "\(tear)")
      #expect(report.pack?.bytes == Int64(pack.bytes.count), "\(tear)")
      let ranges = origin.takeRanges()
      #expect(ranges.map(\.start) == [0, Int64(tear)])
      #expect(ranges[0].entityTag == nil && ranges[1].entityTag != nil)
      #expect(try packs.isRight(name))
    }
    withExtendedLifetime(device) {}
  }

  /// As often as the settings allow; an attempt that gave 64 KB doesn't count.
  @Test func attemptsAreLimited() throws {
    var device = try packs.device()
    origin.tear(after: [70_000, 10, 70_000, 10])
    #expect(try device.update(force: true).pack?.resumed == 4)
    #expect(try packs.isRight())
    device = try packs.device("other")
    origin.tear(after: [100, 100, 100])
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.pack?.resumed == 2)
    #expect(try packs.isRight("other"))
  }

  /// A server or transport without support for ranges sends everything again.
  @Test func bytesThatAreThereAreSkippedWithoutRanges() throws {
    let device = try packs.device()
    origin.setRanges(false)
    origin.tear(after: [100_000])
    let report = try device.update(force: true)
    #expect(report.kind == .pack && report.pack?.files == 7)
    #expect(try packs.isRight())
  }

  /// The pack at the URL is replaced during the download.
  @Test func replacedPacksFallBackToThePatch() throws {
    let device = try packs.device()
    let url = Locked("")
    origin.tear(after: [100_000])
    let origin = origin
    origin.fail { asked in
      guard asked.hasSuffix(".xpk") else { return nil }
      let isSecond = url.withLock { known in
        defer { known = asked }
        return known == asked
      }
      return isSecond ? .body([UInt8](repeating: 7, count: 200_000)) : nil
    }
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.pack?.failure != nil)
    origin.fail(nil)
    #expect(try packs.isRight())
  }

  /// Stops a device before its nth change of the disk, opens it again, and lets it finish: the result is right for each
  /// n, and no file is made twice after it was staged and recorded.
  @Test func devicesResumeAfterACrashAtAnyStep() throws {
    var steps = 0
    var resumed = 0
    var outcomes: Set<String> = []
    while true {
      let name = "device-\(steps)"
      let limit = ChangeLimit(.stopped)
      var device: Device? = try packs.device(
        name,
        willChange: { () throws(DeviceError) in try limit.check() })
      origin.setPiece(4096)
      limit.set(steps)
      let isDone = (try? device?.update(force: true)) != nil
      device = nil
      if isDone { break }
      let again = try packs.bench.device(name)
      outcomes.insert(again.version)
      _ = packs.singleFiles()
      let report = try again.update(force: true)
      #expect(report.pack?.failure == nil, "\(steps)")
      if let pack = report.pack, pack.resumed > 0 {
        resumed += 1
        #expect(pack.files + pack.ready < 7 || pack.bytes < 300_000)
      }
      #expect(packs.singleFiles() == 0)
      #expect(try packs.isRight(name), "\(steps)")
      steps += 1
    }
    #expect(steps > 30 && resumed > 5)
    #expect(outcomes == ["1", "2"])
  }

  /// After another release, files that the old pack gave are skipped in the new one.
  @Test func newerPacksUseStagedFiles() throws {
    let device = try packs.device()
    origin.tear(after: [150_000, 0, 0])
    origin.fail { $0.hasSuffix("&patch=1") ? .error(TransportError(.unreachable, "gone")) : nil }
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    origin.fail(nil)
    var third = PackBench.second
    third[PackBench.url("fresh-3.js")] = PackBench.text(33, 700)
    try origin.publish(third, version: 3)
    try origin.offerPack(from: 1)
    origin.setPiece(1000)
    let report = try device.update(force: true)
    #expect(report.kind == .pack && report.to == "3")
    #expect(try #require(report.pack).ready > 1)
    #expect(try #require(report.pack).bytes < 100_000)
    #expect(try packs.isRight())
  }

  /// Missing staged files are made from the pack again, not fetched one by one.
  @Test func missingStagedFilesAreMadeAgain() throws {
    var device: Device? = try packs.device()
    origin.tear(after: [150_000, 0, 0])
    origin.fail { $0.hasSuffix("&patch=1") ? .error(TransportError(.unreachable, "gone")) : nil }
    #expect(throws: DeviceError.self) { try device?.update(force: true) }
    origin.fail(nil)
    device = nil
    let staging = "\(packs.bench.scratch.path)/device/staging"
    for name in try Folder.textNames(staging) where SHA256(hex: name) != nil {
      try Kernel.remove("\(staging)/\(name)")
    }
    device = try packs.bench.device()
    _ = packs.singleFiles()
    #expect(try device?.update(force: true).kind == .pack)
    #expect(packs.singleFiles() == 0)
    #expect(try packs.isRight())
  }

  /// With a damaged saved pack, or damaged files of it, no file is wrong.
  @Test(arguments: ["pack", "pack-records", "file"]) func damagedSavedPacksAreNoticed(what: String) throws {
    var device: Device? = try packs.device()
    origin.tear(after: [150_000, 0, 0])
    origin.fail { $0.hasSuffix("&patch=1") ? .error(TransportError(.unreachable, "gone")) : nil }
    #expect(throws: DeviceError.self) { try device?.update(force: true) }
    origin.fail(nil)
    device = nil
    let staging = "\(packs.bench.scratch.path)/device/staging"
    let names = try Folder.textNames(staging)
    #expect(names.contains("pack") && names.contains("pack-records"))
    let name = what == "file" ? try #require(names.first { SHA256(hex: $0) != nil }) : what
    let whole = try #require(try DurableFile.read("\(staging)/\(name)"))
    for index in stride(from: 0, to: min(whole.count, 700), by: 29) {
      var bytes = whole
      bytes[index] ^= 0x11
      // A copy of the device for each.
      let other = "\(packs.bench.scratch.path)/device-\(index)"
      try Kernel.makeFolder(other)
      for (path, file) in try Scratch.contents("\(packs.bench.scratch.path)/device") {
        let isIt = path == "staging/\(name)"
        try Kernel.makeFolder(DurableFile.parent(of: "\(other)/\(path)"))
        try DurableFile.write(isIt ? bytes : file, to: "\(other)/\(path)")
      }
      _ = try packs.bench.device("device-\(index)").update(force: true)
      #expect(try packs.isRight("device-\(index)"), "\(index)")
    }
  }
}
