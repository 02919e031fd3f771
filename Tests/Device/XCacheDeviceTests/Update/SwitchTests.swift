import DeviceTestSupport
import System
import Testing
import TestSupport

@testable import XCacheDevice

@Suite struct SwitchTests {
  private static func url(_ name: String) -> String { "https://m.test/\(name)" }
  /// Kept, changed, removed and renamed files, one that becomes two, and two that swap their bytes.
  private static let first: [String: [UInt8]] = [
    url("kept"): bytes("kept"), url("changed"): bytes("old"), url("gone"): bytes("gone"),
    url("old-name"): bytes("same bytes"), url("single"): bytes("twin"), url("x"): bytes("xx"),
    url("y"): bytes("yy"),
  ]
  private static let second: [String: [UInt8]] = [
    url("kept"): bytes("kept"), url("changed"): bytes("new"), url("new-name"): bytes("same bytes"),
    url("single"): bytes("twin"), url("twin"): bytes("twin"), url("x"): bytes("yy"), url("y"): bytes("xx"),
    url("fresh-1"): bytes("fresh"), url("fresh-2"): bytes("fresh"), url("fresh-3"): bytes("fresh"),
  ]

  /// After a stop before any step, the device opens with the old or the new manifest and the right files, and an update
  /// brings it to the state of a new device.
  @Test func crashesAtAnyStepLeaveAValidState() throws {
    let bench = try Bench()
    try bench.origin.publish(Self.first)
    let old = try bench.fresh()
    var steps = 0
    var outcomes: Set<String> = []
    while try crash(bench, after: steps, old, &outcomes) { steps += 1 }
    #expect(steps > 30)
    #expect(outcomes == ["1", "2"])
  }

  /// Returns false once the update ends before the stop.
  private func crash(
    _ bench: Bench, after steps: Int, _ old: [String: [UInt8]], _ outcomes: inout Set<String>
  ) throws -> Bool {
    let name = "device-\(steps)"
    bench.origin.restore(to: 1)
    let limit = ChangeLimit(.stopped)
    var device: Device? = try bench.device(name, willChange: { () throws(DeviceError) in try limit.check() })
    _ = try device?.update()
    #expect(try bench.state(name) == old)
    try bench.origin.publish(Self.second, version: 2)
    let new = try bench.fresh()

    limit.set(steps)
    var isDone = true
    do {
      _ = try device?.update(force: true)
    } catch {
      isDone = false
    }
    device = nil

    let reopened = try bench.device(name)
    outcomes.insert(reopened.version)
    let now = try bench.state(name)
    #expect(now == (reopened.version == "1" ? old : new), "stopped before step \(steps)")
    _ = try reopened.update(force: true)
    #expect(try bench.state(name) == new, "stopped before step \(steps)")
    #expect(try Scratch.contents("\(bench.scratch.path)/\(name)/staging").isEmpty)
    return !isDone
  }

  /// The disk fails from some change on, and works again later: the same process repairs its state.
  @Test func errorsAtAnyStepAreRepaired() throws {
    let bench = try Bench()
    try bench.origin.publish(Self.first)
    try bench.origin.publish(Self.second)
    let new = try bench.fresh()
    var isDone = false
    for steps in 0..<100 where !isDone {
      let name = "device-\(steps)"
      bench.origin.restore(to: 1)
      let limit = ChangeLimit(.stopped)
      let device = try bench.device(name, willChange: { () throws(DeviceError) in try limit.check() })
      _ = try device.update()
      bench.origin.restore(to: 2)
      limit.set(steps)
      isDone = (try? device.update(force: true)) != nil
      limit.set(nil)
      _ = try device.update(force: true)
      #expect(try bench.state(name) == new, "stopped before step \(steps)")
    }
    #expect(isDone)
  }

  /// A crash during the repair after a crash.
  @Test func crashesWhileOpeningAreRepaired() throws {
    let bench = try Bench()
    let new = try {
      try bench.origin.publish(Self.first)
      try bench.origin.publish(Self.second)
      return try bench.fresh()
    }()
    var isDone = false
    for steps in 0..<60 where !isDone {
      let name = "device-\(steps)"
      bench.origin.restore(to: 1)
      let limit = ChangeLimit(.stopped)
      let step: @Sendable () throws(DeviceError) -> Void = { () throws(DeviceError) in try limit.check() }
      var device: Device? = try bench.device(name, willChange: step)
      _ = try device?.update()
      bench.origin.restore(to: 2)
      // The index is written, and no file was moved yet.
      let index = "\(bench.scratch.path)/\(name)/index.json"
      let before = try DurableFile.read(index)
      for count in 0... {
        limit.set(count)
        if (try? device?.update(force: true)) != nil { break }
        if try DurableFile.read(index) != before { break }
      }
      device = nil
      limit.set(steps)
      isDone = (try? bench.device(name, willChange: step)) != nil
      let reopened = try bench.device(name)
      #expect(reopened.version == "2")
      #expect(try bench.state(name) == new, "stopped before step \(steps) of opening")
    }
    #expect(isDone)
  }

  @Test func damagedIndexesStartFromNothingAndReuseFiles() throws {
    let bench = try Bench()
    try bench.origin.publish(Self.first)
    var device: Device? = try bench.device()
    _ = try device?.update()
    device = nil
    try Scratch.write("{\"app\":\"shop\"", to: "\(bench.scratch.path)/device/index.json")
    let reopened = try bench.device()
    #expect(reopened.wasDamaged && reopened.version == "0")
    let report = try reopened.update(force: true)
    #expect(report.kind == .whole && report.fetched == 0 && report.copied == 7)
    #expect(try bench.state() == bench.fresh())
  }

  @Test func secondDevicesOnTheSameFolderAreRefused() throws {
    let bench = try Bench()
    let device = try bench.device()
    let error = #expect(throws: DeviceError.self) { try bench.device() }
    guard case .inUse(_, let process) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(process != nil)
    withExtendedLifetime(device) {}
  }

  @Test func foldersOfOtherChannelsAreRefused() throws {
    let bench = try Bench()
    try bench.origin.publish(Self.first)
    var device: Device? = try bench.device()
    _ = try device?.update()
    device = nil
    let error = #expect(throws: DeviceError.self) { try bench.device(change: { $0.channel = "test" }) }
    #expect(
      error
        == .otherContents(
          folder: bench.settings().folder, holds: "channel online of app shop",
          asked: "channel test of app shop"))
  }

  @Test func foldersWithOtherFilesAreRefusedAndUnchanged() throws {
    let bench = try Bench()
    try Scratch.write("mine", to: "\(bench.scratch.path)/device/files/mine")
    #expect(throws: DeviceError.self) { try bench.device() }
    #expect(try Scratch.contents("\(bench.scratch.path)/device") == ["files/mine": bytes("mine")])
  }

  @Test func unlistedFilesAreSetAsideWhenTheDeviceOpens() throws {
    let bench = try Bench()
    try bench.origin.publish(Self.first)
    var device: Device? = try bench.device()
    _ = try device?.update()
    device = nil
    let state = try bench.state()
    try Scratch.write("stray", to: "\(bench.scratch.path)/device/files/stray")
    try Scratch.write("half", to: "\(bench.scratch.path)/device/staging/0123.part")
    try Scratch.write("half", to: "\(bench.scratch.path)/device/index.json.17.tmp")
    let reopened = try bench.device()
    #expect(try bench.state() == state)
    #expect(
      try Scratch.contents("\(bench.scratch.path)/device/aside")
        == [SHA256.of(bytes("stray")).hex: bytes("stray")])
    #expect(try Scratch.contents("\(bench.scratch.path)/device/staging").isEmpty)
    #expect(try Kernel.status("\(bench.scratch.path)/device/index.json.17.tmp") == nil)
    withExtendedLifetime(reopened) {}
  }
}
