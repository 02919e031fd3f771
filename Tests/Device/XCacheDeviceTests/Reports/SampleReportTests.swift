import DeviceTestSupport
import Manifests
import Testing
import Values

@testable import XCacheDevice

/// Which error samples a device sends to the origin.
@Suite struct SampleReportTests {
  private let bench: Bench
  private let device: Device

  init() throws {
    bench = try Bench()
    try bench.origin.publish(["https://m.test/a.js": bytes("one")])
    device = try bench.device(change: { $0.fallback = FakeOrigin.mirror })
    _ = try device.update()
  }

  private func report(_ message: String = "x", stack: [String] = []) -> SampleReport {
    SampleReport(
      version: ManifestVersion(1),
      sample: ErrorSample(
        .script, message: message, page: "https://m.test/", engine: "WebKit 605.1", stack: stack))
  }

  private func told() -> [JSONValue] {
    device.finishReports(milliseconds: 60_000)
    return bench.origin.takeTold().map(\.document)
  }

  @Test func aSampleIsSentToTheOrigin() throws {
    device.send(report("TypeError: a"))
    device.finishReports(milliseconds: 60_000)
    let told = bench.origin.takeTold()
    #expect(told.map(\.url) == ["https://origin.test/base/report?app=shop&channel=online"])
    #expect(
      told.map { String(decoding: $0.document.canonical, as: UTF8.self) } == [
        #"{"sample":{"engine":"WebKit 605.1","kind":"script","message":"TypeError: a","page":"https://m.test/","stack":[]},"#
          + #""version":"1"}"#
      ])
  }

  /// The share of batches that the origin wants says nothing about samples.
  @Test func noneIsSentWhileTheOriginWantsNone() throws {
    bench.origin.say(#","reports":0"#)
    _ = try device.update(force: true)
    device.send(report("one"))
    #expect(told().map { $0["sample"]?["message"]?.string } == ["one"])
    bench.origin.say(#","samples":0"#)
    _ = try device.update(force: true)
    #expect(device.refusesSamples)
    device.send(report("two"))
    bench.origin.say(#","samples":1"#)
    _ = try device.update(force: true)
    device.send(report("three"))
    #expect(told().map { $0["sample"]?["message"]?.string } == ["three"])
  }

  @Test func noneIsSentWithoutTheOrigin() throws {
    bench.origin.say(#","samples":0"#)
    _ = try device.update(force: true)
    bench.origin.say("")
    bench.origin.fail { $0.hasPrefix(FakeOrigin.server) ? .status(500) : nil }
    for _ in 0..<6 { _ = try? device.update(force: true) }
    device.send(report())
    #expect(told() == [])
    #expect(device.refusesSamples, "the copy says nothing of it")
    let preview = try bench.device("preview", change: { $0.isPreview = true })
    bench.origin.fail(nil)
    _ = try preview.update(force: true)
    preview.send(report())
    preview.finishReports(milliseconds: 60_000)
    #expect(told() == [])
  }

  /// Quotes take two bytes in JSON: what an origin would refuse loses frames.
  @Test func aReportIsNoLongerThanTheOriginTakes() throws {
    let quotes = String(repeating: "\"", count: 1_200)
    let long = ErrorSample(
      .script, message: quotes, page: "https://m.test/\(quotes)", engine: "",
      stack: Array(repeating: "f@https://m.test/\(quotes).js:1:2", count: 10))
    #expect(SampleReport(version: ManifestVersion(1), sample: long).body.count > 8_192)
    device.send(SampleReport(version: ManifestVersion(1), sample: long))
    let bodies = told()
    #expect(bodies.count == 1)
    for body in bodies {
      #expect(body.canonical.count <= 8_192)
      #expect(body["sample"]?["message"]?.string == String(quotes.prefix(512)))
      #expect((5...9).contains(body["sample"]?["stack"]?.array?.count ?? 0))
    }
    device.send(report(stack: Array(repeating: "f@https://m.test/a.js:1:2", count: 10)))
    #expect(told().map { $0["sample"]?["stack"]?.array?.count } == [10])
  }
}
