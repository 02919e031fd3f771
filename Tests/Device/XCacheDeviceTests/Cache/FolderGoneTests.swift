import System
import Testing

@testable import XCacheDevice

private let page = "https://m.test/p"
private let script = "https://m.test/a.js"

/// A device whose folder somebody deletes while it is open: the next update makes it again.
@Suite struct FolderGoneTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  private var folder: String { "\(bench.scratch.path)/device" }

  init() throws {
    bench = try Bench()
    try origin.publish([page: bytes("one"), script: bytes("let one")])
  }

  /// What somebody deletes.
  enum Part: String, CaseIterable, Sendable {
    case everything, contents, lock, files, staging, index
  }

  private func delete(_ part: Part) throws {
    switch part {
    case .everything: Scratch.removeAll(folder)
    case .contents:
      Scratch.removeAll(folder)
      try Kernel.makeFolder(folder)
    case .lock: try Kernel.remove("\(folder)/lock")
    case .files, .staging: Scratch.removeAll("\(folder)/\(part.rawValue)")
    case .index: try Kernel.remove("\(folder)/index.json")
    }
  }

  @Test(arguments: Part.allCases) func theNextUpdateMakesItAgain(part: Part) throws {
    let right: [String: [UInt8]]
    do {
      let device = try bench.device()
      _ = try device.update()
      right = try bench.state()
      try delete(part)
      _ = try device.update(force: true)
      #expect(device.version == "1")
      // A page waits for no update.
      #expect(try device.page(for: page)?.read() == bytes("one"))
      #expect(try device.fetchBacklog() == ([.everything, .contents, .files].contains(part) ? 1 : 0))
      #expect(try bench.state() == right)
      #expect(throws: DeviceError.self) { _ = try bench.device() }
    }
    // The folder is one that a restart goes on with.
    _ = origin.takeLog()
    let device = try bench.device()
    #expect(device.version == "1" && !device.wasDamaged)
    #expect(try device.resource(for: script)?.read() == bytes("let one"))
    #expect(origin.takeLog() == [])
  }

  @Test(arguments: Part.allCases) func aNewerManifestIsTaken(part: Part) throws {
    let device = try bench.device()
    _ = try device.update()
    try delete(part)
    try origin.publish([page: bytes("two"), script: bytes("let one")])
    #expect(try device.update(force: true).to == "2")
    _ = try device.fetchBacklog()
    #expect(try bench.state() == bench.fresh())
  }

  @Test func anOpenAnswerIsReadToItsEnd() throws {
    let device = try bench.device()
    _ = try device.update()
    let open = try #require(try device.page(for: page))
    try delete(.everything)
    _ = try device.update(force: true)
    #expect(try open.read() == bytes("one"))
  }

  /// Another process makes the folder first: it is that one's until it ends, and what it left is in force afterwards.
  @Test func anotherProcessMayHaveIt() throws {
    let device = try bench.device()
    _ = try device.update()
    try delete(.everything)
    try origin.publish([page: bytes("two"), "https://m.test/b.js": bytes("let two")])
    let right: [String: [UInt8]]
    do {
      let other = try bench.device()
      _ = try other.update()
      right = try bench.state()
      let error = #expect(throws: DeviceError.self) { try device.update(force: true) }
      guard case .inUse = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      // Nothing of it is answered: the other one follows the policy, and this one can't.
      #expect(device.isDisplaced && !device.intercepts(page))
      #expect(try device.page(for: page) == nil)
      #expect(try device.resource(for: script) == nil)
      device.saveUses()
      device.tidy()
      #expect(try bench.state() == right)
      #expect(try other.page(for: page)?.read() == bytes("two"))
    }
    #expect(try device.update(force: true).kind == .nothing)
    #expect(device.version == "2" && !device.isDisplaced)
    #expect(try device.page(for: page)?.read() == bytes("two"))
    #expect(try bench.state() == right)
  }

  /// It notices with the next trigger, even if it is offline.
  @Test func itNoticesWithoutAPoll() throws {
    let device = try bench.device()
    _ = try device.update()
    try delete(.everything)
    device.tidy()
    #expect(!device.isDisplaced)
    let other = try bench.device()
    device.tidy()
    #expect(device.isDisplaced && !other.isDisplaced)
  }

  /// Of two that lost the folder, one gets it.
  @Test func twoMakeItAgain() throws {
    let first = try bench.device()
    try delete(.everything)
    let second = try bench.device()
    try delete(.everything)
    #expect(try second.update().to == "1")
    #expect(throws: DeviceError.self) { try first.update() }
    second.close()
    #expect(try first.update().to == "1")
  }

  /// What the policy says goes on, and is on the disk again after the next poll.
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

  /// The app ends before the next update, and has left a note in the cleared folder.
  @Test func aNoteAloneIsNobodyElses() throws {
    do { _ = try bench.device().update() }
    try delete(.contents)
    try Scratch.write("{}", to: "\(folder)/pages.json")
    #expect(try bench.device().update().to == "1")
  }
}
