import DeviceTestSupport
import System
import Testing
import TestSupport
import Values

@testable import XCacheDevice

private let page = "https://m.test/index.html"
private let chunk = "https://m.test/chunk.1.js"

/// Files of the version before a switch, for pages that were opened before it.
@Suite struct SetAsideTests {
  let bench: Bench
  let device: Device
  let old: DeviceManifest
  var origin: FakeOrigin { bench.origin }

  init() throws {
    bench = try Bench()
    bench.clock.advance(seconds: (Clock.unixMilliseconds() - bench.clock.now) / 1000)
    try bench.origin.publish([page: bytes("<p>one"), chunk: bytes("one")])
    device = try bench.device()
    _ = try device.update()
    old = device.snapshot
  }

  /// The chunk as a page of the first version gets it.
  private func chunkOfOldPage(on device: Device? = nil) throws -> [UInt8]? {
    let device = device ?? self.device
    let file = try #require(old.listed(try ResourceURL(chunk), isPage: false))
    return device.isOlder(old) ? try device.openSetAside(file)?.read() : nil
  }

  private func switches(_ files: [String: [UInt8]] = [page: bytes("<p>two")], saying: String = "") throws {
    try origin.publish(files)
    if !saying.isEmpty { origin.say(saying) }
    _ = try device.update(force: true)
  }

  @Test(arguments: [0, 1, 12 * 3600, 24 * 3600 - 1] as [Int64]) func oldFilesAreServedForADay(seconds: Int64)
    throws
  {
    try switches()
    bench.clock.advance(seconds: seconds)
    #expect(try chunkOfOldPage() == bytes("one"))
  }

  /// At most a day after the switch; less if the clock was set.
  @Test(arguments: [24 * 3600, 100 * 24 * 3600, -3600, -400 * 24 * 3600] as [Int64])
  func oldFilesAreRemovedAfterADay(seconds: Int64) throws {
    try switches()
    bench.clock.advance(seconds: seconds)
    #expect(try chunkOfOldPage() == nil)
    // Removal doesn't need a poll.
    device.tidy()
    #expect(try Scratch.contents("\(bench.scratch.path)/device/aside").isEmpty)
    // Listed files stay.
    _ = origin.takeLog()
    #expect(try device.resource(for: page)?.read() == bytes("<p>two"))
    #expect(origin.takeLog() == [])
  }

  @Test func bytesThatAreListedElsewhereAreServed() throws {
    try switches([page: bytes("<p>two"), "https://m.test/chunk.2.js": bytes("one")])
    #expect(try Scratch.contents("\(bench.scratch.path)/device/aside").count == 1)
    #expect(try chunkOfOldPage() == bytes("one"))
  }

  @Test(arguments: ["2", "1002"]) func rollbacksEndIt(version: String) throws {
    let number = try #require(Int64(version))
    try origin.publish([page: bytes("<p>two")], version: number)
    origin.say(#","rollback":"\#(version)""#)
    _ = try device.update(force: true)
    #expect(device.version == version)
    #expect(try chunkOfOldPage() == nil)
    // Also after a restart, and when the origin no longer names the rollback.
    device.close()
    origin.say("")
    let next = try bench.device()
    _ = try next.update(force: true)
    #expect(try chunkOfOldPage(on: next) == nil)
  }

  /// A rollback to a later version than the device's, or one before the page was opened.
  @Test(arguments: [#","rollback":"3""#, #","rollback":"1""#, #","rollback":"0""#])
  func otherRollbacksEndNothing(said: String) throws {
    try switches(saying: said)
    #expect(try chunkOfOldPage() == bytes("one"))
  }

  /// The device heard of the rollback while it held the version before.
  @Test func rollbacksTakeEffectWithTheSwitch() throws {
    try switches(saying: #","rollback":"3""#)
    #expect(try chunkOfOldPage() == bytes("one"))
    try switches([page: bytes("<p>one!")], saying: "")
    #expect(device.version == "3")
    #expect(try chunkOfOldPage() == nil)
  }

  @Test func damagedFilesAreNotServed() throws {
    try switches()
    let aside = "\(bench.scratch.path)/device/aside"
    for name in try Folder.textNames(aside) {
      try DurableFile.write(bytes("damaged"), to: "\(aside)/\(name)")
    }
    #expect(try chunkOfOldPage() == nil)
  }

  /// A mirror's answer may be older.
  @Test func mirrorsOnlyRaiseTheRollback() {
    var policy = PollPolicy(hasFallback: true)
    policy.recordRollback(7, from: .origin)
    policy.recordRollback(5, from: .mirror)
    #expect(policy.isRolledBack(from: "6", to: 7))
    policy.recordRollback(nil, from: .origin)
    #expect(policy.isRolledBack(from: "6", to: 7) && !policy.isRolledBack(from: "7", to: 8))
    policy.recordRollback(5, from: .origin)
    #expect(!policy.isRolledBack(from: "6", to: 7))
    let saved = PollPolicy(saved: policy.saved(server: "s"), server: "s", hasFallback: true)
    #expect(saved.isRolledBack(from: "4", to: 5) && !saved.isRolledBack(from: "4", to: 4))
  }
}
