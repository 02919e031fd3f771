import DeviceTestSupport
import System
import Testing
import TestSupport
import XCacheDevice

@testable import XCacheRuntime

/// A page opens, its calls are prefetched, and its own requests get the answers.
@Suite struct RuntimePrefetchTests {
  static let page = "https://m.test/index.html?id=7"
  static let config = """
    [{"url":"https://m.test/index.html","interfaces":[
      {"api":"https://m.test/api/list","method":"GET","urlParam":true},
      {"api":"https://api.m.test/one","method":"POST","body":{"b":1},"bodyParam":true},
      {"api":"https://evil.test/one","method":"GET"},
      {"api":"https://m.test/missing","method":"GET"}]}]
    """
  let context = PageContext(userAgent: "Engine/1", acceptLanguage: "de")

  private func runtime(_ transport: FakePageTransport, _ cookies: FakeCookies) async throws -> (
    Scratch, Runtime
  ) {
    let origin = FakeOrigin()
    try origin.publish(["https://m.test/index.html": Array("<html>".utf8)])
    origin.serve(
      Array(#"{"code":200,"data":{"config":\#(Self.config),"version":"4"}}"#.utf8),
      at: "\(FakeOrigin.server)/prefetchConfig?app=shop&channel=online")
    origin.say(#","prefetch":"4""#)
    let scratch = try Scratch()
    var settings = RuntimeSettings(
      DeviceSettings(
        folder: "\(scratch.path)/device", server: FakeOrigin.server, app: "shop",
        hosts: ["m.test", "*.m.test"]))
    settings.fetcher = PageFetcher(transport, cookies: cookies)
    let runtime = try await Runtime(settings, transport: origin)
    await runtime.handle(.launch)
    return (scratch, runtime)
  }

  private func ask(
    _ url: String, _ page: OpenPage, method: String = "GET", headers: HTTPFields = []
  ) -> PageRequest {
    PageRequest(
      url, method: method, headers: headers, destination: .fetch, mode: .cors, hasCredentials: true,
      page: page)
  }

  @Test func callsArePrefetchedWhenThePageOpens() async throws {
    let transport = FakePageTransport()
    let (scratch, runtime) = try await runtime(transport, FakeCookies(["s=1"], isPerURL: true))
    defer { withExtendedLifetime(scratch) {} }
    let page = runtime.open(Self.page)
    #expect(await runtime.prefetch(for: page, context) == 3)
    let list = await runtime.prefetched(ask("https://m.test/api/list?id=7", page))
    #expect(list?.body == Array("answer of https://m.test/api/list?id=7".utf8))
    #expect(
      list?.head.headers.values("set-cookie") == []
        && list?.head.headers.values("content-type") == ["application/json"])
    let one = await runtime.prefetched(
      ask(
        "https://api.m.test/one", page, method: "POST",
        headers: [("Content-Type", "application/json;charset=utf-8")]),
      body: Array(#"{"id":"7","b":1}"#.utf8))
    #expect(one != nil)
    // The page repeats a failed call itself.
    #expect(await runtime.prefetched(ask("https://m.test/missing", page)) == nil)
    let sent = try #require(transport.sent.first { $0.method == "POST" })
    #expect(
      sent.headers["origin"] == "https://m.test" && sent.headers["referer"] == "https://m.test/"
        && sent.headers["user-agent"] == "Engine/1" && sent.headers["accept-language"] == "de"
        && sent.headers["content-type"] == "application/json")
    #expect(sent.body == Array(#"{"b":1,"id":"7"}"#.utf8))
    let own = try #require(transport.sent.first { $0.url.hasPrefix("https://m.test/api/list") })
    #expect(own.headers["referer"] == Self.page && own.headers["cookie"]?.hasPrefix("s=1") == true)
    let counts = runtime.prefetchCounts
    #expect(counts.sent == 3 && counts.used == 2 && counts.failed <= 1)
  }

  struct Other: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var method = "GET"
    var headers: HTTPFields = []
    var body: [UInt8] = []
  }

  @Test(arguments: [
    Other(testDescription: "a header of its own", headers: [("X-Requested-With", "a")]),
    Other(testDescription: "a range", headers: [("Range", "bytes=0-1")]),
    Other(testDescription: "a condition", headers: [("If-None-Match", "\"a\"")]),
    Other(testDescription: "another method", method: "POST"),
    Other(testDescription: "a body", body: [1]),
  ])
  func otherRequestsGetNone(_ other: Other) async throws {
    let (scratch, runtime) = try await runtime(FakePageTransport(), FakeCookies(["s=1"], isPerURL: true))
    defer { withExtendedLifetime(scratch) {} }
    let page = runtime.open(Self.page)
    await runtime.prefetch(for: page, context)
    let url = "https://m.test/api/list?id=7"
    #expect(
      await runtime.prefetched(ask(url, page, method: other.method, headers: other.headers), body: other.body)
        == nil)
    #expect(await runtime.prefetched(ask(url, runtime.open(Self.page))) == nil)
    #expect(await runtime.prefetched(ask(url, page)) != nil)
    #expect(await runtime.prefetched(ask(url, page)) == nil)
  }

  /// The age of answers includes sleep, during which the monotonic clock stops.
  @Test func ageOfAnswersIncludesSleep() async {
    let clock = Locked<Int64>(0)
    let transport = FakePageTransport()
    let center = PrefetchCenter(
      PageFetcher(transport, cookies: FakeCookies([])), now: { clock.withLock { $0 } })
    let url = "https://m.test/api"
    for (page, age) in [(1, 9_999), (2, 10_000)] as [(UInt64, Int64)] {
      await center.send(
        NetworkRequest(url), body: [], as: PrefetchTable.Key(page: page, method: "GET", url: url))
      while center.size == 0 { try? await Task.sleep(for: .milliseconds(2)) }
      clock.withLock { $0 += age }
      let cookies = await center.fetcher.cookies.header(for: url)
      let answer = await center.take(page, "GET", url, .init(cookies: cookies))
      #expect((answer != nil) == (age < 10_000))
    }
  }

  /// The page sends its request during the call.
  @Test func pagesWaitForTheCall() async throws {
    let goes = Monitor(false)
    let transport = FakePageTransport { _ in goes.waiting { $0 ? () : nil } }
    let (scratch, runtime) = try await runtime(transport, FakeCookies([], isPerURL: true))
    defer { withExtendedLifetime(scratch) {} }
    let page = runtime.open(Self.page)
    await runtime.prefetch(for: page, context)
    let url = "https://m.test/api/list?id=7"
    let taken = Task { await runtime.prefetched(self.ask(url, page)) }
    // Time for the request to join the call.
    try await Task.sleep(for: .milliseconds(20))
    goes.broadcasting { $0 = true }
    #expect(await taken.value?.body == Array("answer of \(url)".utf8))
  }

  /// Cookies of answers are stored whether the answers are used or not; a closed page's answers are dropped.
  @Test func cookiesAreStoredAndAnswersOfClosedPagesDropped() async throws {
    let cookies = FakeCookies([], isPerURL: true)
    let (scratch, runtime) = try await runtime(FakePageTransport(), cookies)
    defer { withExtendedLifetime(scratch) {} }
    let page = runtime.open(Self.page)
    await runtime.prefetch(for: page, context)
    while cookies.taken.count < 3 { try? await Task.sleep(for: .milliseconds(2)) }
    runtime.close(page)
    #expect(await runtime.prefetched(ask("https://m.test/api/list?id=7", page)) == nil)
    #expect(runtime.prefetchCounts.used == 0)
  }

  @Test func nothingIsSentWithoutAFetcher() async throws {
    let scratch = try Scratch()
    let runtime = try await Runtime(
      RuntimeSettings(
        DeviceSettings(
          folder: "\(scratch.path)/device", server: FakeOrigin.server, app: "shop", hosts: ["m.test"])),
      transport: FakeOrigin())
    let page = runtime.open(Self.page)
    #expect(await runtime.prefetch(for: page, context) == 0)
    #expect(await runtime.prefetched(ask("https://m.test/api/list?id=7", page)) == nil)
  }
}
