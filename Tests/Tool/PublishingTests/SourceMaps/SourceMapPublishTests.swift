import Manifests
import OriginAPI
import OriginClient
import System
import Testing
import TestSupport
import Values

@testable import Publishing

/// Source maps go to the origin before the release that has their files.
@Suite struct SourceMapPublishTests {
  private let folder: Scratch
  private let origin = FakeOrigin()

  init() throws {
    folder = try Scratch()
    try folder.write("site/app.js", BuiltScript.text)
    try folder.write("site/index.html", "<p>")
    try folder.write("maps/app.js.map", BuiltScript.map)
  }

  private func publish(_ change: (inout PublishOptions) -> Void = { _ in }) throws -> PublishResult {
    var options = PublishOptions()
    options.sourceMaps = folder.path + "/maps"
    change(&options)
    let api = OriginClient(server: try BaseURL(origin.url), token: "secret")
    let bundle = BundleSource(
      try BundleName("main"),
      folders: [.init(folder.path + "/site", baseURL: try BaseURL("https://m.example.com/"))])
    return try Publisher(api, cache: PublishCache(path: folder.path + "/cache")).publish(
      [bundle], to: ChannelAddress(try AppName("shop"), .online), options)
  }

  private var map: String { SHA256.of(Array(BuiltScript.map.utf8)).hex }

  @Test func beforeTheRelease() throws {
    // The first release creates the channel, so that its maps come after it.
    let first = try publish()
    #expect(first.sourceMaps?.answer?.stored == 1 && first.sourceMaps?.problem == nil)
    var requests = origin.requests()
    #expect(requests.last == "POST apps/shop/channels/online/source-maps")
    try folder.write("site/index.html", "<p>2")
    let second = try publish()
    #expect(second.answer.isChanged && second.sourceMaps?.answer?.stored == 1)
    requests = origin.requests()
    let maps = try #require(requests.firstIndex(of: "POST apps/shop/channels/online/source-maps"))
    let release = try #require(requests.lastIndex(of: "POST apps/shop/channels/online/releases"))
    #expect(maps < release)
    // The map's bytes were sent once, and by no release.
    let model = origin.with { ($0.blobs[map], $0.sourceMaps?.last, $0.current("main").count) }
    #expect(model.0 == Array(BuiltScript.map.utf8) && model.2 == 2)
    let sent = model.1?["maps"]?.array?.first
    #expect(sent?["map"]?.string == map && sent?["size"]?.integer == Int64(BuiltScript.map.utf8.count))
    #expect(sent?["file"]?.string == SHA256.of(Array(BuiltScript.text.utf8)).hex)
    // A build that hasn't changed may get its maps later.
    let third = try publish()
    #expect(!third.answer.isChanged && third.sourceMaps?.answer != nil)
  }

  @Test func dryRunsSendNone() throws {
    _ = try publish()
    _ = origin.requests()
    try folder.write("site/index.html", "<p>2")
    let result = try publish { $0.release.dryRun = true }
    #expect(result.sourceMaps?.pairing.paired == 1 && result.sourceMaps?.answer == nil)
    #expect(!origin.requests().contains { $0.hasSuffix("source-maps") })
  }

  /// Nothing is released if no map belongs to the build, or the origin doesn't know maps.
  @Test func nothingIsReleasedWithout() throws {
    _ = try publish()
    try folder.write("site/index.html", "<p>2")
    origin.with { $0.sourceMaps = nil }
    let error = #expect(throws: PublishError.self) { try publish() }
    #expect(error?.message.hasPrefix("this origin is older than source maps") == true)
    try folder.write("site/other.js", BuiltScript.text)
    try Kernel.remove(folder.path + "/site/app.js")
    #expect(throws: PublishError.self) { try publish() }
    #expect(origin.with { $0.version } == 1)
  }
}
