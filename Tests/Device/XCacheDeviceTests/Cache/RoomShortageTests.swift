import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice

private let small = "https://m.test/small.js"
private let large = "https://m.test/large.js"

/// A version for which there is no room isn't fetched again with each poll.
@Suite struct RoomShortageTests {
  private static let minute: Int64 = 60_000
  private let two = ManifestVersion(2)

  @Test func waitsGrow() {
    var shortage = RoomShortage()
    #expect(shortage.allows(two, at: 0, free: 0))
    var (now, waits) = (Int64(1_800_000_000_000), [Int64]())
    for _ in 0..<10 {
      // The system reports enough room: only waiting can help.
      shortage.needed = 100
      shortage.record(two, at: now, free: 1_000)
      let begun = now
      while !RoomShortage(saved: shortage.saved).allows(two, at: now, free: .max) { now += Self.minute }
      waits.append((now - begun) / Self.minute)
    }
    #expect(waits == [10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440])
    #expect(shortage.allows(ManifestVersion(3), at: now, free: 0))
  }

  @Test func waitsEndWhenThereIsRoom() {
    var shortage = RoomShortage()
    shortage.needed = 100_000
    shortage.record(two, at: 0, free: 50_000)
    #expect(!shortage.allows(two, at: 1, free: 99_999) && shortage.allows(two, at: 1, free: 100_000))
    // A clock that was set back by years; a forced update; a success.
    #expect(shortage.allows(two, at: -100_000_000, free: 0))
    var forced = shortage
    forced.endWait()
    #expect(forced.allows(two, at: 1, free: 0))
    let isForgotten = shortage.forget()
    #expect(isForgotten && shortage.allows(two, at: 1, free: 0))
    let isForgottenAgain = shortage.forget()
    #expect(!isForgottenAgain)
  }

  /// Two hours on a full disk: the rest is only tried a few times, and the kill switch works.
  @Test func fullDisksCauseFewDownloads() throws {
    let bench = try Bench()
    let isFull = Locked(false)
    let device = try bench.device(willChange: { () throws(DeviceError) in
      guard isFull.withLock({ $0 }) else { return }
      throw .file(path: "", call: "write", code: Errno.noSpace.rawValue, reason: "No space left on device")
    })
    try bench.origin.publish([small: bytes("one"), large: bytes("one")])
    _ = try device.update()
    try bench.origin.publish([small: bytes("two"), large: bytes("two")])
    isFull.withLock { $0 = true }
    _ = bench.origin.takeLog()
    for _ in 0..<240 {
      bench.clock.advance(seconds: 31)
      #expect(throws: DeviceError.self) { try device.update() }
    }
    let log = bench.origin.takeLog()
    #expect(log.count { $0.contains("configure.json") } >= 240)
    // In 2 hours: at once, after 10, 30 and 70 minutes, two files each time.
    #expect(log.count { $0.contains("cdn.test") } <= 8)
    bench.origin.serve(
      bytes(#"{"code":200,"data":{"version":"7","intercept":false,"bypass":[],"scripts":[]}}"#),
      at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
    bench.origin.say(#","policy":"7""#)
    bench.clock.advance(seconds: 31)
    #expect(throws: DeviceError.self) { try device.update() }
    #expect(device.isKilled && device.version == "1")
    // After making room, an update can be forced.
    isFull.withLock { $0 = false }
    bench.clock.advance(seconds: 31)
    #expect(throws: DeviceError.self) { try device.update() }
    #expect(try device.update(force: true).to == "2")
    #expect(device.folder.status(device.folder.shortage) == nil)
  }
}
