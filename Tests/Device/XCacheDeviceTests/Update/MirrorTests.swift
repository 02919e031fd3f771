import DeviceTestSupport
import Testing

@testable import XCacheDevice

private let a = "https://m.test/a.js"

@Suite struct MirrorTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try Bench() }

  private func device(_ name: String = "device") throws -> Device {
    try bench.device(name, change: { $0.fallback = FakeOrigin.mirror })
  }

  private func loseOrigin() {
    origin.fail { $0.hasPrefix(FakeOrigin.server) ? .error(TransportError(.unreachable, "down")) : nil }
  }

  private func failFiveTimes(_ device: Device) {
    for _ in 0..<5 {
      #expect(throws: DeviceError.self) { try device.update(force: true) }
    }
  }

  @Test func mirrorGivesAPatchAfterFiveFailures() throws {
    try origin.publish([a: bytes("one")])
    let device = try device()
    _ = try device.update()
    try origin.publish([a: bytes("two")])
    loseOrigin()
    failFiveTimes(device)
    #expect(device.version == "1")
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.source == .fallback && report.to == "2")
    #expect(
      origin.takeLog().prefix(3) == [
        "\(FakeOrigin.mirror)/xcache/shop/version.json", "\(FakeOrigin.mirror)/xcache/shop/update/1-2.json",
        "\(FakeOrigin.mirror)/xcache/shop/patch/1-2.json",
      ])
    #expect(try device.update(force: true).kind == .nothing)
    origin.fail(nil)
    #expect(try bench.state() == bench.fresh())
  }

  @Test func mirrorGivesTheWholeManifestWithoutAPatch() throws {
    try origin.publish([a: bytes("one")])
    let device = try device()
    _ = try device.update()
    origin.forget(1)
    try origin.publish([a: bytes("two")])
    loseOrigin()
    failFiveTimes(device)
    #expect(try device.update(force: true).kind == .whole)
    origin.fail(nil)
    #expect(try bench.state() == bench.fresh())
  }

  @Test func newDevicesStartFromTheMirror() throws {
    try origin.publish([a: bytes("one")])
    loseOrigin()
    let device = try device()
    failFiveTimes(device)
    #expect(try device.update(force: true).to == "1")
  }

  @Test func olderMirrorsAreNotFollowed() throws {
    try origin.publish([a: bytes("one")])
    try origin.publish([a: bytes("two")])
    let device = try device()
    _ = try device.update()
    origin.restore(to: 1)
    loseOrigin()
    failFiveTimes(device)
    let report = try device.update(force: true)
    #expect(report.kind == .nothing && report.polled == "1" && report.to == "2")
  }

  @Test func oneAnswerOfTheOriginEndsTheFallback() throws {
    try origin.publish([a: bytes("one")])
    let device = try device()
    _ = try device.update()
    loseOrigin()
    failFiveTimes(device)
    origin.fail(nil)
    #expect(try device.update(force: true).source == .fallback)
    bench.clock.advance(seconds: 36)
    #expect(try device.update(force: true).source == .origin)
    #expect(try device.update(force: true).source == .origin)
  }

  @Test func failuresAreCountedAcrossRestarts() throws {
    try origin.publish([a: bytes("one")])
    loseOrigin()
    for _ in 0..<5 {
      let device = try device()
      #expect(throws: DeviceError.self) { try device.update(force: true) }
    }
    #expect(try device().update(force: true).source == .fallback)
  }
}
