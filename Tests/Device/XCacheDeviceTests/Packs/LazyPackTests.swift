import DeviceTestSupport
import Manifests
import System
import Testing
import TestSupport

@testable import XCacheDevice

/// Packs that leave lazy files out (docs/protocol.md §8, D-177, D-178).
@Suite struct LazyPackTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  private static let page = "https://m.test/page"
  private static let script = "https://m.test/app.1.js"
  private static let map = "https://m.test/app.js.map"
  private static let locale = "https://m.test/locale"
  private static let lazy: Set = [map, locale]

  init() throws {
    bench = try Bench()
    bench.clock.advance(seconds: (Clock.unixMilliseconds() - bench.clock.now) / 1000)
    try origin.publish(
      [
        Self.page: bytes("page"), Self.script: PackBench.text(1, 9000), Self.map: PackBench.text(2, 9000),
        Self.locale: bytes("locale"),
      ], lazy: Self.lazy)
  }

  /// The second version, in which all but the page differ; the page has the bytes of a lazy file of before.
  private func publishNext() throws {
    try origin.publish(
      [
        Self.page: bytes("locale"), Self.script: PackBench.text(1, 9000) + bytes("//"),
        Self.map: PackBench.text(2, 9000) + bytes("//"), Self.locale: bytes("locale 2"),
      ], lazy: Self.lazy)
  }

  private func held(_ device: Device) -> Set<String> {
    Set(device.heldFiles().filter { $0.path != nil }.map(\.url))
  }

  @Test func updateDoesWithoutTheLazyFiles() throws {
    let device = try bench.device()
    _ = try device.update()
    try publishNext()
    let made = try origin.offerPack(from: 1)
    #expect(made.bytes.starts(with: Array("XPK2".utf8)))
    _ = origin.takeLog()
    let report = try device.update(force: true)
    let log = origin.takeLog()
    #expect(log.count == 2 && log[0].hasSuffix("&patch=1&pack=1&lazy=1") && log[1].hasSuffix(".xpk"))
    #expect(report.kind == .pack && report.to == "2" && report.pack?.failure == nil)
    #expect(report.fetched == 2 && report.lazy == 2 && report.missing == 0 && report.backlog == 0)
    #expect(held(device) == [Self.page, Self.script])
    #expect(device.index.digest == origin.answerWithPack(from: 1).flatMap { Self.digest($0) })
    #expect(try device.resource(for: Self.page)?.read() == bytes("locale"))
    #expect(try device.resource(for: Self.locale)?.read() == bytes("locale 2"))
  }

  private static func digest(_ answer: [UInt8]) -> SHA256? {
    guard case .pack(let pack)? = try? ConfigureAnswer.parse(answer) else { return nil }
    return pack.digest
  }

  /// A device that has them follows the same pack; what it held is fetched after the switch.
  @Test func heldLazyFilesFollow() throws {
    let device = try bench.device()
    _ = try device.update()
    _ = try device.complete()
    try publishNext()
    try origin.offerPack(from: 1)
    let report = try device.update(force: true)
    #expect(report.kind == .pack && report.backlog == 2 && report.lazy == 0)
    #expect(try device.fetchBacklog() == 2)
    #expect(held(device).count == 4)
    #expect(try device.resource(for: Self.locale)?.read() == bytes("locale 2"))
  }

  /// As from an origin that is wrong: in the form that can't leave files out, the pack gives way to the patch.
  @Test func otherPacksLeaveNothingOut() throws {
    let device = try bench.device()
    _ = try device.update()
    try publishNext()
    try origin.offerPack(from: 1) { $0[3] = UInt8(ascii: "1") }
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.kind == .patch && report.to == "2" && report.pack?.failure != nil)
    #expect(origin.takeLog().contains { $0.hasSuffix("&patch=1") })
    #expect(held(device) == [Self.page, Self.script])
  }

  @Test func devicesWithoutLazyEntriesDoNotAsk() throws {
    let bench = try Bench()
    try bench.origin.publish([Self.page: bytes("page"), Self.map: bytes("map")])
    var device: Device? = try bench.device()
    _ = try device?.update()
    try bench.origin.publish([Self.page: bytes("page"), Self.map: bytes("map")], lazy: [Self.map])
    _ = bench.origin.takeLog()
    _ = try device?.update(force: true)
    #expect(bench.origin.takeLog()[0].hasSuffix("&patch=1&pack=1"))
    _ = try device?.update(force: true)
    #expect(bench.origin.takeLog()[0].hasSuffix("&patch=1&pack=1&lazy=1"))
    device = nil
    // A new process reads it from its folder.
    _ = try bench.device().update(force: true)
    #expect(bench.origin.takeLog()[0].hasSuffix("&patch=1&pack=1&lazy=1"))
  }
}
