import DeviceTestSupport
import System
import Testing
import TestSupport
import Values

@testable import XCacheDevice

private let a = "https://m.test/a.js"
private let b = "https://m.test/b.js"
private let c = "https://m.test/sub/c.css"

@Suite struct UpdateTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try Bench() }

  @Test func firstUpdatesTakeTheWholeManifest() throws {
    try origin.publish([a: bytes("one"), b: bytes("two"), c: bytes("")])
    let report = try bench.device().update()
    #expect(report.kind == .whole)
    #expect(report.source == .origin)
    #expect(report.polled == "1" && report.from == "0" && report.to == "1")
    #expect(report.fetched == 3 && report.copied == 0 && report.kept == 0 && report.missing == 0)
    #expect(report.bytesFetched == 6 && report.bytesTotal == 6)
    let files = try Scratch.contents("\(bench.scratch.path)/device/files")
    #expect(
      files == [
        "https%3A%2F%2Fm.test%2Fa.js": bytes("one"), "https%3A%2F%2Fm.test%2Fb.js": bytes("two"),
        "https%3A%2F%2Fm.test%2Fsub%2Fc.css": [],
      ])
  }

  @Test func laterUpdatesTakeAPatchAndFetchChangedFiles() throws {
    try origin.publish([a: bytes("one"), b: bytes("two"), c: bytes("three")])
    let device = try bench.device()
    _ = try device.update()
    let digest = device.digest
    try origin.publish([a: bytes("one"), b: bytes("two!"), c: bytes("three")])
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.kind == .patch)
    #expect(report.from == "1" && report.to == "2")
    #expect(report.fetched == 1 && report.kept == 2 && report.bytesFetched == 4 && report.bytesTotal == 12)
    let log = origin.takeLog()
    #expect(log.count == 2)
    #expect(
      log.first
        == "\(FakeOrigin.server)/configure.json?app=shop&channel=online&version=1&digest=\(digest)&patch=1&pack=1"
    )
    #expect(try bench.state() == bench.fresh())
  }

  @Test func updatesWithoutANewVersionFetchNothing() throws {
    try origin.publish([a: bytes("one")])
    let device = try bench.device()
    _ = try device.update()
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.kind == .nothing && report.polled == "1" && report.kept == 1)
    #expect(origin.takeLog().count == 1)
  }

  @Test func channelsWithoutAReleaseLeaveTheDeviceEmpty() throws {
    let report = try bench.device().update()
    #expect(report.kind == .nothing && report.polled == "0" && report.to == "0")
  }

  @Test func pollsAtMostOncePerInterval() throws {
    try origin.publish([a: bytes("one")])
    origin.setInterval(60)
    var device: Device? = try bench.device()
    _ = try device?.update()
    bench.clock.advance(seconds: 59)
    _ = origin.takeLog()
    #expect(try device?.update().kind == .notDue)
    device = nil
    let next = try bench.device()
    let report = try next.update()
    #expect(report.kind == .notDue && report.wait == 1000 && report.source == nil)
    #expect(origin.takeLog().isEmpty)
    bench.clock.advance(seconds: 1)
    #expect(try next.update().kind == .nothing)
  }

  @Test func filesHeldUnderAnotherURLAreCopied() throws {
    try origin.publish([a: bytes("same"), b: bytes("two")])
    let device = try bench.device()
    _ = try device.update()
    try origin.publish([c: bytes("same"), b: bytes("two")])
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.fetched == 0 && report.copied == 1 && report.kept == 1 && report.bytesFetched == 0)
    #expect(origin.takeLog().count == 1)
    #expect(try bench.state() == bench.fresh())
  }

  @Test func equalBytesOfTwoNewURLsAreFetchedOnce() throws {
    try origin.publish([a: bytes("same"), b: bytes("same"), c: bytes("same")])
    let report = try bench.device().update()
    #expect(report.fetched == 1 && report.copied == 2 && report.bytesFetched == 4)
    #expect(try Scratch.contents("\(bench.scratch.path)/device/files").count == 3)
  }

  @Test func rollbacksUseFilesThatWereSetAside() throws {
    try origin.publish([a: bytes("one"), b: bytes("gone")])
    let device = try bench.device()
    _ = try device.update()
    try origin.publish([a: bytes("two")])
    _ = try device.update(force: true)
    #expect(try Scratch.contents("\(bench.scratch.path)/device/aside").count == 2)
    try origin.publish([a: bytes("one"), b: bytes("gone")])
    let report = try device.update(force: true)
    #expect(report.fetched == 0 && report.copied == 2)
    #expect(try bench.state() == bench.fresh())
    #expect(try Scratch.contents("\(bench.scratch.path)/device/aside").values.map { $0 } == [bytes("two")])
  }

  @Test func damagedFilesAreNotCopied() throws {
    try origin.publish([a: bytes("same"), b: bytes("two")])
    let device = try bench.device()
    _ = try device.update()
    try Scratch.write("damn", to: "\(bench.scratch.path)/device/files/https%3A%2F%2Fm.test%2Fa.js")
    try origin.publish([c: bytes("same"), b: bytes("two")])
    let report = try device.update(force: true)
    #expect(report.fetched == 1 && report.copied == 0)
    #expect(try bench.state() == bench.fresh())
  }

  @Test func setAsideFilesAreRemovedAfterADay() throws {
    try origin.publish([a: bytes("one")])
    let device = try bench.device()
    _ = try device.update()
    try origin.publish([a: bytes("two")])
    _ = try device.update(force: true)
    bench.clock.advance(seconds: 24 * 3600 - 1)
    _ = try device.update(force: true)
    #expect(try Scratch.contents("\(bench.scratch.path)/device/aside").count == 1)
    bench.clock.advance(seconds: 1)
    _ = try device.update(force: true)
    #expect(try Scratch.contents("\(bench.scratch.path)/device/aside").isEmpty)
  }

  @Test func updatesDoNotFetchMissingUnchangedFiles() throws {
    try origin.publish([a: bytes("one"), b: bytes("two")])
    let device = try bench.device()
    _ = try device.update()
    try Kernel.remove("\(bench.scratch.path)/device/files/https%3A%2F%2Fm.test%2Fa.js")
    try origin.publish([a: bytes("one"), b: bytes("three")])
    let reopened: Device
    do {
      _ = consume device
      reopened = try bench.device()
    }
    let report = try reopened.update(force: true)
    #expect(report.fetched == 1 && report.missing == 1 && report.kept == 0)
    let completion = try reopened.complete()
    #expect(completion == CompletionReport(right: 1, wrong: 0, fetched: 1, copied: 0, bytesFetched: 3))
    #expect(try bench.state() == bench.fresh())
  }

  @Test func completeRepairsFilesAndCopiesHeldOnes() throws {
    try origin.publish([a: bytes("one"), b: bytes("two"), c: bytes("one")])
    let device = try bench.device()
    _ = try device.update()
    let files = "\(bench.scratch.path)/device/files"
    try Scratch.write("eno", to: "\(files)/https%3A%2F%2Fm.test%2Fa.js")
    try Scratch.write("long", to: "\(files)/https%3A%2F%2Fm.test%2Fb.js")
    #expect(
      try device.complete() == CompletionReport(right: 1, wrong: 2, fetched: 1, copied: 1, bytesFetched: 3))
    #expect(try bench.state() == bench.fresh())
    #expect(try device.complete() == CompletionReport(right: 3))
  }

  @Test func patchesWithAWrongDigestAreNotTaken() throws {
    try origin.publish([a: bytes("one")])
    let device = try bench.device()
    _ = try device.update()
    try origin.publish([a: bytes("one"), b: bytes("two")])
    // A patch whose result doesn't have its digest.
    origin.fail { url in
      guard url.contains("&version=1&") else { return nil }
      return .body(
        bytes(
          #"{"code":200,"data":{"base":"1","deltas":{},"digest":"\#(String(repeating: "0", count: 64))","patch":{},"update":true,"version":"2"}}"#
        ))
    }
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.kind == .whole && report.to == "2" && report.fetched == 1 && report.kept == 1)
    #expect(
      origin.takeLog()[1] == "\(FakeOrigin.server)/configure.json?app=shop&channel=online&version=0&patch=1")
    #expect(try bench.state() == bench.fresh())
  }

  @Test func originMayGoBack() throws {
    try origin.publish([a: bytes("one")])
    try origin.publish([a: bytes("two"), b: bytes("b")])
    let device = try bench.device()
    _ = try device.update()
    origin.restore(to: 1)
    let report = try device.update(force: true)
    #expect(report.from == "2" && report.to == "1")
    #expect(try bench.state() == bench.fresh())
  }

  @Test func unknownMembersOfEntriesAreKept() throws {
    try origin.publish([a: bytes("one")])
    let device = try bench.device()
    _ = try device.update()
    let entry = try #require(device.index.entries.first)
    var json = try #require(entry.entry.json.object)
    json["sri"] = "sha384-…"
    var map = JSONObject()
    map[a] = .object(json)
    origin.publish(raw: map, version: 2)
    #expect(try device.update(force: true).kind == .patch)
    #expect(try bench.state() == bench.fresh())
  }
}
