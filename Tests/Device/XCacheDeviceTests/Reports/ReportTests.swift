import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice

private let a = "https://m.test/a.js"
private let b = "https://m.test/b.js"

/// Reports of failures to the origin.
@Suite struct ReportTests {
  let bench: Bench
  let device: Device

  init() throws {
    bench = try Bench()
    try bench.origin.publish([a: bytes("one"), b: bytes("two")])
    device = try bench.device(change: { $0.fallback = FakeOrigin.mirror })
    _ = try device.update()
    try bench.origin.publish([a: bytes("one"), b: bytes("two!")])
  }

  private func reports() -> [String] {
    device.finishReports(milliseconds: 60_000)
    return bench.origin.takeTold().map {
      "\($0.url) \(String(decoding: $0.document.canonical, as: UTF8.self))"
    }
  }

  private static func report(_ reason: String, _ url: String, _ version: String) -> String {
    "https://origin.test/base/report?app=shop&channel=online "
      + #"{"reason":"\#(reason)","url":"\#(url)","version":"\#(version)"}"#
  }

  @Test(arguments: [
    (FakeOrigin.Fault.body(bytes("tw0!")), "integrity"), (.body(bytes("two!two!")), "integrity"),
    (.status(404), "not-found"), (.status(503), "download"),
    (.error(TransportError(.timedOut, "late")), "timeout"),
    (.error(TransportError(.broken, "reset")), "download"),
  ])
  func failedFilesAreReportedOnce(fault: FakeOrigin.Fault, reason: String) throws {
    bench.origin.fail { $0.contains("b.js") ? fault : nil }
    for _ in 0..<3 { #expect(throws: DeviceError.self) { try device.update(force: true) } }
    #expect(reports() == [Self.report(reason, b, "2")])
    // A failure of the next version is reported again.
    bench.origin.fail { $0.contains("b.js") ? .status(404) : nil }
    try bench.origin.publish([a: bytes("one"), b: bytes("two!!")])
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    #expect(reports() == [Self.report("not-found", b, "3")])
    bench.origin.fail(nil)
    #expect(try device.update(force: true).to == "3")
    #expect(reports() == [])
  }

  /// A file of an opened page, and one that `complete` fetches.
  @Test func missingFilesAreReported() throws {
    #expect(try device.update(force: true).to == "2")
    for path in try Folder.textNames("\(bench.scratch.path)/device/files") {
      try Kernel.remove("\(bench.scratch.path)/device/files/\(path)")
    }
    bench.origin.fail { $0.contains("/x/") ? .status(410) : nil }
    #expect(throws: DeviceError.self) { try device.resource(for: a) }
    #expect(reports() == [Self.report("not-found", a, "2")])
    #expect(throws: DeviceError.self) { try device.complete() }
    #expect(Set(reports()).isSubset(of: [Self.report("not-found", b, "2")]))
  }

  @Test func invalidManifestsAreReported() throws {
    let wrong =
      #"{"code":200,"data":{"digest":"\#(String(repeating: "0", count: 64))","resourcemap":{},"update":true,"version":"7"}}"#
    bench.origin.fail { $0.contains("configure.json") ? .body(bytes(wrong)) : nil }
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    bench.origin.fail { $0.contains("configure.json") ? .body(bytes("<html>login</html>")) : nil }
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    #expect(reports() == [Self.report("patch", "", "7"), Self.report("manifest", "", "1")])
  }

  /// A preview isn't counted as a device, and reports nothing.
  @Test func previewsReportNothing() throws {
    let preview = try bench.device("preview", change: { $0.isPreview = true })
    _ = bench.origin.takeLog()
    bench.origin.fail { $0.contains("b.js") ? .status(404) : nil }
    #expect(throws: DeviceError.self) { try preview.update(force: true) }
    bench.origin.fail(nil)
    #expect(try preview.update(force: true).to == "2")
    preview.send(DeviceBatch(version: ManifestVersion(2), counts: DeviceCounts()))
    preview.finishReports(milliseconds: 60_000)
    #expect(!preview.takesBatches)
    #expect(bench.origin.takeTold().isEmpty)
    let polls = bench.origin.takeLog().filter { $0.contains("/configure.json") }
    #expect(polls.count == 2 && polls.allSatisfy { $0.hasSuffix("&preview=1") }, "\(polls)")
  }

  /// Failed polls of the origin, and a mirror's answers, aren't reported; failed files are, whoever listed them.
  /// them.
  @Test func answersOfMirrorsAreNotReported() throws {
    bench.origin.fail { $0.hasPrefix(FakeOrigin.server) ? .status(500) : nil }
    for _ in 0..<5 { #expect(throws: DeviceError.self) { try device.update(force: true) } }
    #expect(reports() == [])
    bench.origin.fail {
      $0.hasPrefix(FakeOrigin.server) ? .status(500) : $0.hasSuffix(".json") ? .body(bytes("nothing")) : nil
    }
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    #expect(reports() == [])
    bench.origin.fail { $0.hasPrefix(FakeOrigin.server) || $0.contains("b.js") ? .status(500) : nil }
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    #expect(reports() == [Self.report("download", b, "2")])
  }

  /// Without a runtime, which has more to count, the device sends them itself, in a batch every two minutes.
  @Test func countedPollsAreSent() throws {
    #expect(try device.update(force: true).to == "2")
    #expect(reports() == [], "without `edge`")
    bench.origin.say(#","edge":10"#)
    for _ in 0..<2 { _ = try device.update(force: true) }
    #expect(reports() == [Self.batch(polls: 1, "2")])
    try bench.origin.publish([a: bytes("one"), b: bytes("two!!")])
    #expect(try device.update(force: true).to == "3")
    #expect(reports() == [Self.batch(polls: 2, "2")])
  }

  @Test func polledVersionsAreToldToWhoeverCounts() throws {
    let versions = Locked<[String]>([])
    device.onCountedPoll { version in versions.withLock { $0.append(version) } }
    bench.origin.say(#","edge":10"#)
    for _ in 0..<2 { _ = try device.update(force: true) }
    // The copy isn't behind such a cache, whatever it says.
    bench.origin.fail { $0.hasPrefix(FakeOrigin.server) ? .status(500) : nil }
    for _ in 0..<5 { #expect(throws: DeviceError.self) { try device.update(force: true) } }
    _ = try? device.update(force: true)
    #expect(versions.withLock { $0 } == ["1", "2"])
    #expect(reports() == [])
  }

  private static func batch(polls: Int, _ version: String) -> String {
    "https://origin.test/base/report?app=shop&channel=online "
      + #"{"counts":{"polls":\#(polls)},"version":"\#(version)"}"#
  }

  /// While a report hangs, the device updates.
  @Test func updatesDoNotWaitForReports() throws {
    bench.origin.hold(true)
    bench.origin.fail { $0.contains("b.js") ? .status(404) : nil }
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    bench.origin.fail(nil)
    #expect(try device.update(force: true).to == "2")
    #expect(bench.origin.takeTold().isEmpty)
    bench.origin.hold(false)
    #expect(reports() == [Self.report("not-found", b, "2")])
  }

  /// If everything fails, only a few files are reported.
  @Test func numberOfReportsIsLimited() throws {
    bench.origin.hold(true)
    let reporter = device.reporter
    for number in 0..<1000 {
      reporter.report(FailureReport(version: "2", url: "https://m.test/\(number)", reason: .download))
    }
    bench.origin.hold(false)
    // Those in the queue, and the one that was being sent.
    #expect((16...17).contains(reports().count))
  }
}
