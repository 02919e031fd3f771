import DeviceTestSupport
import System
import Testing
import XCacheDevice

@testable import XCacheRuntime

/// Attributing requests to pages if their headers don't tell the page.
@Suite struct ProxyPagesTests {
  let bench: RuntimeBench

  init() throws { bench = try RuntimeBench() }

  private func proxy(_ transport: any PageTransport = FakePageTransport()) async throws -> PageProxy {
    let runtime = try await bench.runtime()
    bench.serve(policy: 1, #""intercept":true,"bypass":["https://m.test/pay/*"]"#)
    await runtime.handle(.launch)
    let proxy = PageProxy(runtime, transport: transport, network: FakeProxyNetwork())
    proxy.addTrustedHost("m.test")
    return proxy
  }

  private func connect(_ proxy: PageProxy) async throws -> MemoryStream {
    let (engine, own) = MemoryStream.pair()
    _ = try OSThread(name: "proxied") { proxy.serve(own) }
    let password = Base64.encode(Array("xcache:\(proxy.password)".utf8))
    engine.say(
      "CONNECT m.test:443 HTTP/1.1\r\nHost: m.test\r\nProxy-Authorization: Basic \(password)\r\n\r\n")
    #expect(await engine.answer().hasPrefix("HTTP/1.1 200"))
    return engine
  }

  /// Whether a script is answered by the device.
  private func isLocal(_ proxy: PageProxy, _ more: String = "") async throws -> Bool {
    let engine = try await connect(proxy)
    engine.say("GET /app.js HTTP/1.1\r\nHost: m.test\r\n\(more)\r\n")
    defer { engine.close() }
    return await engine.answer().contains("no-store")
  }

  private static let document = "GET /pay/page HTTP/1.1\r\nHost: m.test\r\nSec-Fetch-Dest: document\r\n\r\n"

  /// `Sec-Fetch-Site` is set by the engine: a page of another host can't forge it.
  @Test func secFetchSiteIsFollowed() async throws {
    let proxy = try await proxy()
    let foreign = proxy.shown("https://evil.test/")
    #expect(try await !isLocal(proxy))
    #expect(try await !isLocal(proxy, "Sec-Fetch-Site: cross-site\r\n"))
    #expect(try await isLocal(proxy, "Sec-Fetch-Site: same-origin\r\n"))
    // Which names belong to one site isn't known: the next two may.
    #expect(try await isLocal(proxy, "Sec-Fetch-Site: same-site\r\n"))
    let related = proxy.shown("https://www.m.test:8443/")
    #expect(try await !isLocal(proxy, "Sec-Fetch-Site: same-site\r\n"))
    #expect(try await isLocal(proxy, "Sec-Fetch-Site: same-origin\r\n"))
    proxy.left(related)
    proxy.left(foreign)
    // A page of the app's own that is bypassed is of the same origin.
    _ = proxy.shown("https://m.test/pay/index.html")
    #expect(try await !isLocal(proxy, "Sec-Fetch-Site: same-origin\r\n"))
  }

  /// Windows with the same page each keep their version, whose lazy files are served after later releases.
  @Test(arguments: ["Referer: \(RuntimeBench.page)\r\n", ""])
  func pagesOfOneURLKeepTheirVersions(_ header: String) async throws {
    let proxy = try await proxy()
    func publish(_ number: Int) async throws {
      try bench.origin.publish([
        RuntimeBench.page: bytes("<p>\(number)"), "https://m.test/part\(number).js": bytes("part \(number)"),
      ])
      await proxy.runtime.update(force: true)
    }
    var pages: [OpenPage] = []
    for number in 1...3 {
      try await publish(number)
      pages.append(proxy.shown(RuntimeBench.page))
    }
    try await publish(4)
    #expect(Set(pages.map(\.version)).count == 3)
    let engine = try await connect(proxy)
    for number in 1...4 {
      engine.say("GET /part\(number).js HTTP/1.1\r\nHost: m.test\r\n\(header)\r\n")
      #expect(await engine.answer().hasSuffix("\r\n\r\npart \(number)"))
    }
    // When its window closes, its files aren't served any more.
    proxy.left(pages[1])
    engine.say("GET /part2.js HTTP/1.1\r\nHost: m.test\r\n\(header)\r\n")
    #expect(await engine.answer().contains("answer of https://m.test/part2.js"))
  }

  /// Links can lead to bypassed pages unannounced: an answer that isn't shown is no page.
  @Test(arguments: [0, 204, 205, 200])
  func linksWithoutADocumentAreNotPages(_ status: Int) async throws {
    let proxy = try await proxy(OneAnswer(status, ["Content-Disposition": "Attachment; filename=x"]))
    let engine = try await connect(proxy)
    engine.say(Self.document)
    engine.finishWriting()
    _ = await engine.hear(until: "nothing, but its end")
    #expect(try await isLocal(proxy))
  }

  @Test func downloadsAreNotPages() async throws {
    let barrier = Barrier()
    let proxy = try await proxy(OneAnswer(200, ["Content-Disposition": "attachment"]) { barrier.wait() })
    let engine = try await connect(proxy)
    engine.say(Self.document)
    await barrier.reached()
    #expect(try await isLocal(proxy))
    barrier.open()
    #expect(await engine.answer().hasSuffix("answer"))
  }

  /// A document counts as a page for seconds, until it is shown; if it never is, it was a download.
  @Test func documentsThatAreNotShownCountForSeconds() async throws {
    let proxy = try await proxy(OneAnswer(200, [:]))
    let engine = try await connect(proxy)
    let began = Clock.continuousNanoseconds()
    engine.say(Self.document)
    _ = await engine.answer()
    let isPage = try await !isLocal(proxy)
    #expect(isPage || Clock.continuousNanoseconds() - began > 9_000_000_000)
    var isOver = false
    for _ in 0..<60 where !isOver {
      try await Task.sleep(for: .seconds(1))
      isOver = try await isLocal(proxy)
    }
    #expect(isOver)
    // A page that is shown counts until it is left.
    let shown = proxy.shown("https://m.test/pay/page")
    #expect(try await !isLocal(proxy))
    proxy.left(shown)
    #expect(try await isLocal(proxy))
  }

  /// The engine's adapter knows whether a document was shown.
  @Test func documentsThatTheEngineDoesNotShowAreNotPages() async throws {
    let proxy = try await proxy(OneAnswer(200, [:]))
    let engine = try await connect(proxy)
    engine.say(Self.document)
    _ = await engine.answer()
    proxy.notShown("https://m.test/pay/other")
    let began = Clock.continuousNanoseconds()
    let isPage = try await !isLocal(proxy)
    #expect(isPage || Clock.continuousNanoseconds() - began > 9_000_000_000)
    proxy.notShown("https://m.test/pay/page#part")
    #expect(try await isLocal(proxy) && Clock.continuousNanoseconds() - began < 9_000_000_000)
    // A page that was announced with `open` ends with `left`.
    let told = proxy.open("https://m.test/pay/page")
    proxy.notShown("https://m.test/pay/page")
    #expect(try await !isLocal(proxy))
    proxy.left(told)
  }

  /// A page that was announced with `open` ends with `left`.
  @Test func announcedPagesCountUntilTheyAreLeft() async throws {
    let proxy = try await proxy(OneAnswer(204, [:]))
    let page = proxy.open("https://m.test/pay/page")
    let engine = try await connect(proxy)
    engine.say(Self.document)
    #expect(await engine.hear(until: "\r\n\r\n").hasPrefix("HTTP/1.1 204"))
    #expect(try await !isLocal(proxy))
    proxy.left(page)
    #expect(try await isLocal(proxy))
  }
}

/// A network with one answer; status 0: no answer.
private final class OneAnswer: PageTransport {
  private let head: NetworkHead
  private let wait: @Sendable () -> Void

  init(_ status: Int, _ headers: [String: String], _ wait: @escaping @Sendable () -> Void = {}) {
    var all = HTTPFields(headers)
    if status == 200 { all.add("Content-Length", "6") }
    head = NetworkHead(status: status, headers: all, url: "")
    self.wait = wait
  }

  func networkChanged() {}

  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    if head.status == 0 { throw TransportError(.unreachable, "offline") }
    guard begin(head) else { throw TransportError(.stopped, "the caller ended it") }
    if head.status == 204 || head.status == 205 { return }
    if request.url.contains("/pay/") { wait() }
    guard receive(Array("answer".utf8).span.bytes) else { throw TransportError(.stopped, "ended") }
  }
}
