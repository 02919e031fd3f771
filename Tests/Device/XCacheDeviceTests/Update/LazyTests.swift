import DeviceTestSupport
import System
import Testing
import TestSupport

@testable import XCacheDevice

/// Files that updates leave out until a page asks for them (docs/protocol.md §11, D-174…D-176).
@Suite struct LazyTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  private static func url(_ name: String) -> String { "https://m.test/\(name)" }
  private static let page = url("page")
  private static let map = url("app.js.map")
  private static let locale = url("locale")

  init() throws {
    bench = try Bench()
    bench.clock.advance(seconds: (Clock.unixMilliseconds() - bench.clock.now) / 1000)
    try origin.publish(
      [Self.page: bytes("page"), Self.map: bytes("map"), Self.locale: bytes("locale")],
      lazy: [Self.map, Self.locale])
  }

  /// URLs of files that were asked for since the last call.
  private func fetched() -> Int { origin.takeLog().count { $0.hasPrefix("https://cdn.test/") } }

  private func held(_ device: Device) -> Set<String> {
    Set(device.heldFiles().filter { $0.path != nil }.map(\.url))
  }

  @Test func updatesLeaveThemOutAndPagesFetchThem() throws {
    let device = try bench.device()
    let report = try device.update()
    #expect(report.files == 3 && report.fetched == 1 && report.lazy == 2)
    #expect(report.missing == 0 && report.backlog == 0)
    #expect(fetched() == 1 && held(device) == [Self.page])
    #expect(device.heldFiles().filter(\.isLazy).map(\.url) == [Self.map, Self.locale])
    #expect(try device.fetchBacklog() == 0)
    #expect(try device.update(force: true).lazy == 2)
    #expect(fetched() == 0)
    #expect(try device.resource(for: Self.map)?.read() == bytes("map"))
    #expect(fetched() == 1 && held(device) == [Self.page, Self.map])
    let nothing = try device.update(force: true)
    #expect(nothing.kept == 2 && nothing.lazy == 1 && nothing.missing == 0)
  }

  /// A file that is held stays; of one that changed and was held, the new one comes after the switch; of one that wasn't, nothing.
  @Test func changedOnesComeLaterIfTheyWereHeld() throws {
    let device = try bench.device()
    _ = try device.update()
    #expect(try device.resource(for: Self.map)?.read() == bytes("map"))
    try origin.publish(
      [Self.page: bytes("page"), Self.map: bytes("map 2"), Self.locale: bytes("locale 2")],
      lazy: [Self.map, Self.locale])
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.to == "2" && report.fetched == 0 && report.kept == 1)
    #expect(report.backlog == 1 && report.lazy == 1)
    #expect(fetched() == 0)
    device.conditions.network = .metered
    #expect(try device.fetchBacklog() == 0)
    device.conditions.network = .unmetered
    #expect(try device.fetchBacklog() == 1)
    #expect(fetched() == 1 && held(device) == [Self.page, Self.map])
    #expect(try device.resource(for: Self.map)?.read() == bytes("map 2"))
  }

  /// It doesn't come twice under two URLs, and bytes that are here are used.
  @Test func bytesThatAreHereAreUsed() throws {
    let device = try bench.device()
    _ = try device.update()
    try origin.publish(
      [
        Self.page: bytes("page"), Self.map: bytes("page"), Self.locale: bytes("shared"),
        Self.url("z.js"): bytes("shared"),
      ], lazy: [Self.map, Self.locale])
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.fetched == 1 && report.copied == 2 && report.lazy == 0 && report.kept == 1)
    #expect(fetched() == 1)
    #expect(held(device).count == 4)
  }

  /// An entry that is lazy no longer is fetched like one that changed; one that becomes lazy stays if it is held.
  @Test func lazinessChanges() throws {
    let device = try bench.device()
    _ = try device.update()
    try origin.publish(
      [Self.page: bytes("page"), Self.map: bytes("map"), Self.locale: bytes("locale")],
      lazy: [Self.page, Self.map])
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.to == "2" && report.fetched == 1 && report.kept == 1 && report.lazy == 1)
    #expect(fetched() == 1 && held(device) == [Self.page, Self.locale])
  }

  @Test func completionFetchesThem() throws {
    let device = try bench.device()
    _ = try device.update()
    #expect(try device.complete().fetched == 2)
    #expect(held(device).count == 3)
  }

  /// They take no room before they are asked for: an app whose other files fit still gets packs.
  @Test func theyDoNotCountInTheDiskLimit() throws {
    let large = PackBench.text(5, 90_000)
    try origin.publish(
      [Self.page: bytes("page"), Self.map: large, Self.locale: large + [1]], lazy: [Self.map, Self.locale])
    let device = try bench.device(change: { $0.diskLimit = 100_000 })
    #expect(try device.update().missing == 0)
    _ = origin.takeLog()
    _ = try device.update(force: true)
    #expect(origin.takeLog()[0].contains("&patch=1&pack=1"))
  }

  /// Back in the version before, a lazy file that nobody asked for isn't missing.
  @Test func returnsLeaveThemOut() throws {
    let device = try bench.device(change: { $0.goesBack = true })
    _ = try device.update()
    device.prove("1")
    try origin.publish(
      [Self.page: bytes("page 2"), Self.map: bytes("map 2"), Self.locale: bytes("locale")],
      lazy: [Self.map, Self.locale])
    _ = try device.update(force: true)
    #expect(try device.goBack(.rejected, url: "") == VersionReturn(from: "2", to: "1"))
    _ = origin.takeLog()
    #expect(held(device) == [Self.page])
    #expect(try device.fetchBacklog() == 0)
    #expect(fetched() == 0)
  }

  /// A metered network leaves the same files out.
  @Test func meteredUpdatesLeaveThemOut() throws {
    let device = try bench.device(change: { $0.meteredLimit = 1 })
    device.conditions.network = .metered
    let report = try device.update()
    #expect(report.backlog == 1 && report.lazy == 2)
    device.conditions.network = .unmetered
    #expect(try device.fetchBacklog() == 1)
    #expect(held(device) == [Self.page])
  }

  /// The lazy files aren't part of a first install, by a first pack neither.
  @Test func firstPacksDoWithoutThem() throws {
    let files = PackBench.first
    let font = PackBench.url("font.bin")
    let bench = try Bench()
    try bench.origin.publish(files, lazy: [font])
    try bench.origin.offerFirst(files.filter { $0.key != font }.values.sorted { $0.count < $1.count })
    let device = try bench.device()
    let report = try device.update()
    #expect(report.fetched == 6 && report.lazy == 1 && report.backlog == 0 && report.pack?.failure == nil)
    #expect(bench.origin.takeLog().count == 2)
  }
}
