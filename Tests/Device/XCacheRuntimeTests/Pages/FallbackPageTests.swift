import DeviceTestSupport
import HTTP
import Manifests
import System
import Testing
import Values

@testable import XCacheDevice
@testable import XCacheRuntime

/// Routes of a single-page app, which one page answers.
@Suite struct FallbackPageTests {
  let bench: RuntimeBench
  let runtime: Runtime
  private static let route = "https://m.test/runs/1"
  private static let routes = #"[{"except":["/api/*","/*.*"],"prefix":"/"}]"#

  init() async throws {
    bench = try RuntimeBench()
    // The new version stays: what pages come to counts for it.
    runtime = try await bench.runtime { $0.goesBack = false }
    try publish("one", Self.routes, version: 1)
    await runtime.handle(.launch)
  }

  /// Publishes a version whose page has this text, and this member `fallback`.
  private func publish(_ text: String, _ fallback: String?, version: Int64) throws {
    let content = bytes("<p>\(text)")
    let download = "https://cdn.test/\(text)"
    var entry = JSONObject([
      .init(key: "ctype", value: "text/html"), .init(key: "download", value: .string(download)),
      .init(key: "md5", value: .string(MD5.of(content).hex)),
      .init(key: "sha256", value: .string(SHA256.of(content).hex)),
      .init(key: "size", value: .integer(Int64(content.count))), .init(key: "version", value: "1"),
    ])
    entry["fallback"] = try fallback.map { try JSONValue.parse(bytes($0)) }
    bench.origin.serve(content, at: download)
    bench.origin.publish(
      raw: JSONObject([.init(key: RuntimeBench.page, value: .object(entry))]), version: version)
  }

  private func load(_ url: String, _ page: OpenPage? = nil) async throws -> String {
    try await bench.ask(runtime, url, destination: .document, page: page ?? runtime.open(url))
  }

  private func fails(_ url: String) async throws {
    let page = runtime.open(url)
    #expect(try await load(url, page) == "200 <p>one")
    runtime.scriptFailed(page)
    runtime.close(page)
  }

  @Test func navigationsAreAnswered() async throws {
    #expect(try await load(Self.route) == "200 <p>one")
    #expect(try await load("\(Self.route)?tab=logs#end") == "200 <p>one")
    #expect(try await bench.ask(runtime, Self.route, destination: .frame) == "200 <p>one")
    for url in ["https://m.test/api/runs", "https://m.test/logo.png", "http://m.test/runs/1"] {
      #expect(try await load(url) == "notListed")
    }
    #expect(try await bench.ask(runtime, Self.route, destination: .fetch) == "notListed")
    #expect(try await bench.ask(runtime, Self.route, method: "HEAD", destination: .document) == "notListed")
  }

  /// Apps without a runtime open pages like this.
  @Test func devicesAnswerThem() throws {
    let device = try #require(runtime.device)
    #expect(try device.page(for: "\(Self.route)?x")?.url == RuntimeBench.page)
    #expect(try device.page(for: "https://m.test/api/runs") == nil)
    #expect(try device.resource(for: Self.route) == nil)
  }

  @Test(arguments: [
    ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true), ("*/*", true),
    ("text/*;q=0.1", true),
    ("application/json , TEXT/HTML ;q=0.2", true), ("application/json", false), ("text/plain", false),
    ("application/json;x=text/html", false), ("text/htmlx", false),
  ])
  func acceptDecides(_ accept: String, _ isAnswered: Bool) async throws {
    let answer = try await bench.ask(runtime, Self.route, [("Accept", accept)], destination: .document)
    #expect(answer == (isAnswered ? "200 <p>one" : "notListed"))
  }

  @Test func failuresCountForThePage() async throws {
    let events = runtime.events
    try await fails(Self.route)
    try await fails("https://m.test/runs/2?x")
    #expect(try await load("https://m.test/about") == "pageFailed")
    #expect(try await load(RuntimeBench.page) == "pageFailed")
    await runtime.finishNotes()
    let saved = PageHealth(saved: try DurableFile.read(runtime.settings.healthFile), version: "1")
    #expect(saved.failures == [RuntimeBench.page: 2])
    await runtime.close()
    for await case .pageFailed(let url, _) in events { #expect(url == RuntimeBench.page) }
  }

  /// A page is left alone because of what failed under other routes also before its document is asked for.
  @Test func pagesAreKnownBeforeTheirDocument() async throws {
    let early = runtime.open("https://m.test/early")
    try await fails(Self.route)
    try await fails(Self.route)
    #expect(runtime.leavesAlone(early))
    #expect(runtime.leavesAlone(runtime.open("https://m.test/late")))
    #expect(!runtime.leavesAlone(runtime.open("https://m.test/late.png")))
  }

  @Test func anUpdateTakesThemAway() async throws {
    let page = runtime.open(Self.route)
    #expect(try await load(Self.route, page) == "200 <p>one")
    try publish("two", nil, version: 2)
    await runtime.update(force: true)
    #expect(try await bench.ask(runtime, Self.route, destination: .frame, page: page) == "200 <p>one")
    #expect(try await load(Self.route, page) == "notListed")
    #expect(try await load(RuntimeBench.page) == "200 <p>two")
  }
}
