import DeviceTestSupport
import System
import Testing

@testable import XCacheDevice

private let a = "https://m.test/a.js"

/// Setting the clock, while the app runs or between two starts, neither stops polls nor discards valid files.
@Suite struct WrongClockTests {
  @Test(arguments: [-20 * 365, -1, 1, 20 * 365] as [Int64], [true, false])
  func pollsGoOnAfterTheClockWasSet(days: Int64, isRestarted: Bool) throws {
    let bench = try Bench()
    let origin = bench.origin
    try origin.publish([a: bytes("one"), "https://m.test/b.js": bytes("two")])
    var device = try bench.device()
    _ = try device.update()
    if isRestarted { device.close() }
    bench.clock.advance(seconds: days * 24 * 3600)
    if isRestarted { device = try bench.device() }
    _ = origin.takeLog()
    #expect(try device.resource(for: a)?.read() == bytes("one"))
    #expect(origin.takeLog() == [])
    // A poll is due, and the next one half a minute later.
    try origin.publish([a: bytes("new")])
    #expect(try device.update().to == "2")
    #expect(try device.update().kind == .notDue)
    bench.clock.advance(seconds: 30)
    #expect(try device.update().kind == .nothing)
    #expect(try device.resource(for: a)?.read() == bytes("new"))
  }

  /// The wait for an origin that was down ends whatever the clock does.
  @Test(arguments: [-20 * 365, 20 * 365] as [Int64]) func originIsAskedAgainAfterTheClockWasSet(days: Int64)
    throws
  {
    let bench = try Bench()
    try bench.origin.publish([a: bytes("one")])
    let device = try bench.device(change: { $0.fallback = FakeOrigin.mirror })
    bench.origin.fail { $0.hasPrefix(FakeOrigin.server) ? .error(TransportError(.unreachable, "down")) : nil }
    for _ in 0..<5 { #expect(throws: DeviceError.self) { try device.update(force: true) } }
    #expect(try device.update(force: true).source == .fallback)
    bench.clock.advance(seconds: days * 24 * 3600)
    bench.origin.fail(nil)
    #expect(try device.update().source == .origin)
  }
}
