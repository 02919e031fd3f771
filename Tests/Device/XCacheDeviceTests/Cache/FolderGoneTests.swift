import DeviceTestSupport
import System
import Testing
import TestSupport

@testable import XCacheDevice

private let page = "https://m.test/p"
private let script = "https://m.test/a.js"

/// The device's folder, or a part of it, is deleted while it is open: the next update makes it again.
@Suite struct FolderGoneTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  private var folder: String { "\(bench.scratch.path)/device" }

  init() throws {
    bench = try Bench()
    try origin.publish([page: bytes("one"), script: bytes("let one")])
  }

  /// What is deleted.
  enum Part: String, CaseIterable, Sendable {
    case everything, contents, lock, files, staging, index
  }

  private func delete(_ part: Part) throws {
    switch part {
    case .everything: Scratch.remove(folder)
    case .contents:
      Scratch.remove(folder)
      try Kernel.makeFolder(folder)
    case .lock: try Kernel.remove("\(folder)/lock")
    case .files, .staging: Scratch.remove("\(folder)/\(part.rawValue)")
    case .index: try Kernel.remove("\(folder)/index.json")
    }
  }

  @Test(arguments: Part.allCases) func nextUpdateMakesItAgain(part: Part) throws {
    let expected: [String: [UInt8]]
    do {
      let device = try bench.device()
      _ = try device.update()
      expected = try bench.state()
      try delete(part)
      _ = try device.update(force: true)
      #expect(device.version == "1")
      // Pages don't wait for an update.
      #expect(try device.page(for: page)?.read() == bytes("one"))
      #expect(try device.fetchBacklog() == ([.everything, .contents, .files].contains(part) ? 1 : 0))
      #expect(try bench.state() == expected)
      #expect(throws: DeviceError.self) { _ = try bench.device() }
    }
    // The folder is valid for a restart.
    _ = origin.takeLog()
    let device = try bench.device()
    #expect(device.version == "1" && !device.wasDamaged)
    #expect(try device.resource(for: script)?.read() == bytes("let one"))
    #expect(origin.takeLog() == [])
  }

  @Test(arguments: Part.allCases) func updatesToANewManifest(part: Part) throws {
    let device = try bench.device()
    _ = try device.update()
    try delete(part)
    try origin.publish([page: bytes("two"), script: bytes("let one")])
    #expect(try device.update(force: true).to == "2")
    _ = try device.fetchBacklog()
    #expect(try bench.state() == bench.fresh())
  }

  @Test func openFilesCanBeReadToTheEnd() throws {
    let device = try bench.device()
    _ = try device.update()
    let open = try #require(try device.page(for: page))
    try delete(.everything)
    _ = try device.update(force: true)
    #expect(try open.read() == bytes("one"))
  }

  /// Another process makes the folder first: it has the folder until it ends, and its state is used afterwards.
  @Test func anotherProcessMayTakeTheFolder() throws {
    let device = try bench.device()
    _ = try device.update()
    try delete(.everything)
    try origin.publish([page: bytes("two"), "https://m.test/b.js": bytes("let two")])
    let expected: [String: [UInt8]]
    do {
      let other = try bench.device()
      _ = try other.update()
      expected = try bench.state()
      let error = #expect(throws: DeviceError.self) { try device.update(force: true) }
      guard case .inUse = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      // It answers nothing: only the other one follows the policy.
      #expect(device.isDisplaced && !device.intercepts(page))
      #expect(try device.page(for: page) == nil)
      #expect(try device.resource(for: script) == nil)
      device.saveUses()
      device.tidy()
      #expect(try bench.state() == expected)
      #expect(try other.page(for: page)?.read() == bytes("two"))
    }
    #expect(try device.update(force: true).kind == .nothing)
    #expect(device.version == "2" && !device.isDisplaced)
    #expect(try device.page(for: page)?.read() == bytes("two"))
    #expect(try bench.state() == expected)
  }

  /// It notices with the next trigger, also offline.
  @Test func displacementIsNoticedWithoutAPoll() throws {
    let device = try bench.device()
    _ = try device.update()
    try delete(.everything)
    device.tidy()
    #expect(!device.isDisplaced)
    let other = try bench.device()
    device.tidy()
    #expect(device.isDisplaced && !other.isDisplaced)
  }

  /// Of two devices that lost the folder, one gets it.
  @Test func onlyOneDeviceGetsTheFolder() throws {
    let first = try bench.device()
    try delete(.everything)
    let second = try bench.device()
    try delete(.everything)
    #expect(try second.update().to == "1")
    #expect(throws: DeviceError.self) { try first.update() }
    second.close()
    #expect(try first.update().to == "1")
  }

  /// The policy stays in force, and is written again after the next poll.
  @Test func documentsAreWrittenAgain() throws {
    origin.serve(
      bytes(#"{"code":200,"data":{"version":"7","intercept":true,"bypass":[],"scripts":[]}}"#),
      at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
    origin.say(#","policy":"7""#)
    let device = try bench.device()
    _ = try device.update()
    let policy = try DurableFile.read("\(folder)/policy.json")
    #expect(device.runtimePolicy.version == "7" && policy != nil)
    try delete(.everything)
    _ = try device.update(force: true)
    #expect(try DurableFile.read("\(folder)/policy.json") == policy)
  }

  /// The app ended before the next update, and had written a file into the cleared folder.
  @Test func foldersWithOnlyANoteAreTaken() throws {
    do { _ = try bench.device().update() }
    try delete(.contents)
    try Scratch.write("{}", to: "\(folder)/pages.json")
    #expect(try bench.device().update().to == "1")
  }
}
