import Compression
import DeviceTestSupport
import System
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

/// The proxy inside an app, without sockets and TLS: what it answers, what it forwards, and what it refuses.
@Suite struct PageProxyTests {
  let bench: RuntimeBench
  let network = FakeProxyNetwork()
  let transport: FakePageTransport

  init() throws {
    bench = try RuntimeBench()
    transport = FakePageTransport()
  }

  private func proxy(_ transport: (any PageTransport)? = nil) async throws -> PageProxy {
    let runtime = try await bench.runtime()
    #expect(await runtime.handle(.launch)?.kind == .whole)
    let proxy = PageProxy(runtime, transport: transport ?? self.transport, network: network)
    for host in proxy.hosts { proxy.addTrustedHost(host) }
    return proxy
  }

  /// The engine's end of a connection that the proxy serves.
  private func dial(_ proxy: PageProxy) throws -> MemoryStream {
    let (engine, own) = MemoryStream.pair()
    _ = try OSThread(name: "proxied") { proxy.serve(own) }
    return engine
  }

  private func password(_ proxy: PageProxy) -> String {
    "Proxy-Authorization: Basic \(Base64.encode(Array("xcache:\(proxy.password)".utf8)))\r\n"
  }

  /// A connection to a host through the proxy, as an engine makes it.
  private func connect(_ proxy: PageProxy, _ host: String) async throws -> MemoryStream {
    let engine = try dial(proxy)
    engine.say("CONNECT \(host):443 HTTP/1.1\r\nHost: \(host):443\r\n\(password(proxy))\r\n")
    #expect(await engine.answer() == "HTTP/1.1 200 OK\r\n\r\n")
    return engine
  }

  private func get(_ path: String, _ more: String = "", host: String = "m.test") -> String {
    "GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\(more)\r\n"
  }

  /// Control characters are forwarded, except those that could end a line.
  @Test func controlCharactersAreForwarded() async throws {
    let proxy = try await proxy()
    let engine = try await connect(proxy, "m.test")
    engine.say(get("/api", "X-Own: a\u{1}b\u{7F}\r\n"))
    #expect(await engine.answer().hasPrefix("HTTP/1.1 200"))
    #expect(transport.sent.map { $0.headers["x-own"] } == ["a\u{1}b\u{7F}"])
    for bad in ["X-Own: a\u{0}b", "X-Own: a\nb", "X-Own: a\rb", "X\u{1}Own: a", "Host\u{1}: other"] {
      let engine = try await connect(proxy, "m.test")
      engine.say(get("/api", "\(bad)\r\n"))
      #expect(await engine.answer().hasPrefix("HTTP/1.1 400"))
    }
    #expect(transport.sent.count == 1)
  }

  @Test func pagesComeFromTheDevice() async throws {
    let proxy = try await proxy()
    let engine = try await connect(proxy, "m.test")
    engine.say(get("/index.html", "Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n"))
    let page = await engine.answer()
    #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n") && page.hasSuffix("\r\n\r\n<p>one"))
    #expect(page.contains("\r\nCache-Control: no-store\r\n"))
    engine.say(get("/app.js", "Range: bytes=4-\r\n") + get("/app.js"))
    #expect(await engine.answer().hasSuffix("\r\n\r\none"))
    #expect(await engine.answer().hasSuffix("\r\n\r\nlet one"))
    #expect(transport.sent.isEmpty && network.secured == ["m.test"] && network.connected.isEmpty)
  }

  @Test func otherRequestsComeFromTheNetwork() async throws {
    let proxy = try await proxy()
    let engine = try await connect(proxy, "m.test")
    engine.say(get("/api?a=1", "Cookie: a=b\r\nConnection: keep-alive\r\nTE: trailers\r\n"))
    let answer = await engine.answer()
    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.contains("answer of https://m.test/api?a=1"))
    #expect(answer.contains("Set-Cookie: of=") && !answer.contains("no-store"))
    engine.say("POST /api HTTP/1.1\r\nHost: m.test\r\nContent-Length: 4\r\n\r\nbody" + get("/missing"))
    #expect(await engine.answer().hasPrefix("HTTP/1.1 200"))
    #expect(await engine.answer().hasPrefix("HTTP/1.1 404"))
    #expect(transport.sent.map(\.method) == ["GET", "POST", "GET"])
    #expect(transport.sent[0].headers == ["host": "m.test", "cookie": "a=b"])
    #expect(transport.sent[1].body == Array("body".utf8))
  }

  @Test(arguments: ["", "Basic eGNhY2hlOg==", "Basic eGNhY2hlOnhjYWNoZQ==", "Bearer x"])
  func requestsWithoutThePasswordAreRefused(_ given: String) async throws {
    let proxy = try await proxy()
    let engine = try dial(proxy)
    let header = given.isEmpty ? "" : "Proxy-Authorization: \(given)\r\n"
    for ask in ["GET http://m.test/index.html", "GET /index.html", "CONNECT m.test:443"] {
      engine.say("\(ask) HTTP/1.1\r\nHost: m.test\r\n\(header)\r\n")
      #expect(await engine.answer().hasPrefix("HTTP/1.1 407 "))
    }
    #expect(transport.sent.isEmpty && network.secured.isEmpty && network.connected.isEmpty)
    // libsoup would request the proxy's own URL on the same connection; with a new one it sends the password.
    #expect(await engine.answer() == "")
    _ = try await connect(proxy, "m.test")
  }

  @Test(arguments: ["bank.test", "notm.test", "m.test.evil.test", "cdn.test"])
  func otherHostsAreForwardedUnread(_ host: String) async throws {
    // The origin lists a bank, which isn't one of the app's hosts.
    try bench.origin.publish(["https://bank.test/index.html": bytes("<p>give me your money")])
    let proxy = try await proxy()
    let engine = try await connect(proxy, host)
    engine.say(get("/index.html", host: host))
    #expect(await engine.hear(until: "\r\n\r\n") == "\(host): " + get("/index.html", host: host))
    #expect(network.secured.isEmpty && network.connected == ["\(host):443"] && transport.sent.isEmpty)
  }

  @Test func hostsThatTheEngineDoesNotTrustYetAreForwarded() async throws {
    let runtime = try await bench.runtime()
    let proxy = PageProxy(runtime, transport: transport, network: network)
    #expect(proxy.hosts.isEmpty)
    await runtime.handle(.launch)
    #expect(proxy.hosts == ["m.test"])
    _ = try await connect(proxy, "m.test")
    #expect(network.secured.isEmpty && network.connected == ["m.test:443"])
  }

  /// An answer of the proxy would be taken for the server's.
  @Test func unreachableServersEndTheConnection() async throws {
    let proxy = try await proxy()
    network.goDown()
    let engine = try dial(proxy)
    engine.say("CONNECT bank.test:443 HTTP/1.1\r\nHost: bank.test:443\r\n\(password(proxy))\r\n")
    #expect(await engine.hear(until: "nothing, but its end") == "")
    #expect(network.connected == ["bank.test:443"])
  }

  /// A proxy whose page has one prefetched call in progress.
  private func ahead(_ transport: FakePageTransport, cookies: [String]) async throws -> PageProxy {
    let proxy = try await configured(transport, cookies: cookies)
    let page = proxy.open(RuntimeBench.page)
    #expect(await proxy.runtime.prefetch(for: page, PageContext(userAgent: "Engine/1")) == 1)
    return proxy
  }

  /// A proxy with a prefetch config of one call for the page.
  private func configured(_ transport: FakePageTransport, cookies: [String] = []) async throws -> PageProxy {
    bench.origin.serve(
      bytes(
        #"{"code":200,"data":{"config":[{"url":"\#(RuntimeBench.page)","interfaces":[{"api":"https://m.test/api","method":"GET"}]}],"version":"4"}}"#
      ), at: "\(FakeOrigin.server)/prefetchConfig?app=shop&channel=online")
    bench.origin.say(#","prefetch":"4""#)
    let runtime = try await bench.runtime {
      $0.fetcher = PageFetcher(transport, cookies: FakeCookies(cookies))
    }
    await runtime.handle(.launch)
    let proxy = PageProxy(runtime, transport: transport, network: network)
    proxy.addTrustedHost("m.test")
    return proxy
  }

  private static let navigation = "Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n"

  /// Also for a page that is opened by a link.
  @Test func callsArePrefetchedForLinkedPages() async throws {
    let transport = FakePageTransport(setsCookies: false)
    let proxy = try await configured(transport)
    let engine = try await connect(proxy, "m.test")
    engine.say(get("/index.html", Self.navigation + "User-Agent: Engine/2\r\nAccept-Language: de\r\n"))
    #expect(await engine.answer().hasSuffix("<p>one"))
    while transport.sent.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
    engine.say(get("/api", "Referer: \(RuntimeBench.page)\r\nSec-Fetch-Mode: cors\r\n"))
    #expect(await engine.answer().contains("answer of https://m.test/api"))
    #expect(transport.sent.map(\.url) == ["https://m.test/api"] && proxy.runtime.prefetchCounts.used == 1)
    let headers = transport.sent[0].headers
    #expect(headers["user-agent"] == "Engine/2" && headers["accept-language"] == "de")
    #expect(headers["referer"] == RuntimeBench.page)
  }

  /// For a page that the app opens, the app prefetches; form submissions and frames aren't pages of the config.
  @Test func callsArePrefetchedOnce() async throws {
    let transport = FakePageTransport(setsCookies: false)
    let proxy = try await configured(transport)
    let page = proxy.open(RuntimeBench.page)
    let engine = try await connect(proxy, "m.test")
    engine.say(get("/index.html", Self.navigation))
    #expect(await engine.answer().hasSuffix("<p>one"))
    engine.say(get("/index.html", "Sec-Fetch-Dest: iframe\r\nSec-Fetch-Mode: navigate\r\n"))
    #expect(await engine.answer().hasSuffix("<p>one"))
    proxy.left(page)
    engine.say("POST /index.html HTTP/1.1\r\nHost: m.test\r\nContent-Length: 0\r\n\(Self.navigation)\r\n")
    _ = await engine.answer()
    // The next page's calls are sent after any that those before would have caused.
    engine.say(get("/index.html?next", Self.navigation))
    #expect(await engine.answer().hasSuffix("<p>one"))
    while proxy.runtime.prefetchCounts.sent == 0 { try await Task.sleep(for: .milliseconds(1)) }
    #expect(proxy.runtime.prefetchCounts.sent == 1)
  }

  /// WebKit also sends the proxy's password inside the tunnel.
  @Test func prefetchedAnswersAreUsed() async throws {
    let transport = FakePageTransport(setsCookies: false)
    let proxy = try await ahead(transport, cookies: [])
    let engine = try await connect(proxy, "m.test")
    engine.say(get("/api", "Referer: \(RuntimeBench.page)\r\nSec-Fetch-Mode: cors\r\n\(password(proxy))"))
    #expect(await engine.answer().contains("answer of https://m.test/api"))
    #expect(transport.sent.map(\.url) == ["https://m.test/api"] && proxy.runtime.prefetchCounts.used == 1)
  }

  /// A request without cookies is one without credentials. After it, or one of another user, the answer is dropped.
  @Test(arguments: [nil, "session=other", "session=secret"])
  func prefetchedAnswersNeedTheSameCookies(cookie: String?) async throws {
    let transport = FakePageTransport(setsCookies: false)
    let proxy = try await ahead(transport, cookies: ["session=secret"])
    let engine = try await connect(proxy, "m.test")
    let isOwn = cookie == "session=secret"
    for asked in [cookie, "session=secret"] {
      engine.say(get("/api", "Referer: \(RuntimeBench.page)\r\n" + (asked.map { "Cookie: \($0)\r\n" } ?? "")))
      #expect(await engine.answer().contains("answer of https://m.test/api"))
    }
    let sent = transport.sent.map { $0.headers["cookie"] }
    #expect(sent == ["session=secret"] + (isOwn ? [] : [cookie]) + ["session=secret"])
    #expect(proxy.runtime.prefetchCounts.used == (isOwn ? 1 : 0))
  }

  @Test func requestsForOtherHostsInATunnelAreRefused() async throws {
    let engine = try await connect(try await proxy(), "m.test")
    engine.say(get("/index.html", host: "bank.test"))
    #expect(await engine.answer().hasPrefix("HTTP/1.1 421 "))
    #expect(transport.sent.isEmpty)
  }

  /// Targets that aren't a host and a valid port.
  @Test(arguments: [
    "m.test:443/index.html", "m.test?a:443", "a@m.test:443", "m.test:0", "m.test:65536", "m\u{FC}.test:443",
    "/m.test:443",
  ])
  func invalidConnectTargetsAreRefused(_ target: String) async throws {
    let proxy = try await proxy()
    let engine = try dial(proxy)
    engine.say("CONNECT \(target) HTTP/1.1\r\nHost: m.test\r\n\(password(proxy))\r\n")
    #expect(await engine.answer().hasPrefix("HTTP/1.1 400 "))
    #expect(network.secured.isEmpty && network.connected.isEmpty)
  }

  @Test func killSwitchForwardsConnectionsUnread() async throws {
    let runtime = try await bench.runtime()
    bench.serve(policy: 1, #""intercept":false,"bypass":[]"#)
    await runtime.handle(.launch)
    let proxy = PageProxy(runtime, transport: transport, network: network)
    #expect(proxy.hosts.isEmpty)
    proxy.addTrustedHost("m.test")
    _ = try await connect(proxy, "m.test")
    #expect(network.secured.isEmpty && network.connected == ["m.test:443"])
  }

  /// Old tunnels would bypass the device, and give the server's answer for the blank page.
  @Test func policiesThatResumeEndTunnels() async throws {
    let runtime = try await bench.runtime()
    bench.serve(policy: 1, #""intercept":false,"bypass":[]"#)
    await runtime.handle(.launch)
    let proxy = PageProxy(runtime, transport: transport, network: network)
    proxy.addTrustedHost("m.test")
    let (engine, foreign) = (try await connect(proxy, "m.test"), try await connect(proxy, "bank.test"))
    #expect(await engine.hear(until: ": ") == "m.test: ")
    #expect(await foreign.hear(until: ": ") == "bank.test: ")
    #expect(proxy.isPassedOn("https://m.test/"))
    bench.serve(policy: 2, #""intercept":true,"bypass":[]"#)
    await runtime.update(force: true)
    try #require(await ends(engine) && !foreign.isGone)
    let next = try await connect(proxy, "m.test")
    next.say(get(PageProxy.blankPath))
    #expect(await next.answer().hasSuffix("<title></title>"))
    while proxy.isPassedOn("https://m.test/") { try await Task.sleep(for: .milliseconds(5)) }
    #expect(proxy.isPassedOn("https://bank.test/"))
    foreign.say("more")
    #expect(await foreign.hear(until: "more") == "more")
    #expect(network.secured == ["m.test"] && network.connected == ["m.test:443", "bank.test:443"])
  }

  /// At the first start, pages open before the release arrives.
  @Test func trustingAHostEndsItsTunnels() async throws {
    let runtime = try await bench.runtime()
    await runtime.handle(.launch)
    let proxy = PageProxy(runtime, transport: transport, network: network)
    let engine = try await connect(proxy, "m.test")
    #expect(await engine.hear(until: ": ") == "m.test: ")
    proxy.addTrustedHost("m.test")
    #expect(await ends(engine))
  }

  /// Whether a tunnel ends before its server closes it, which is after 60 s.
  private func ends(_ engine: MemoryStream) async -> Bool {
    for _ in 0..<90 where !engine.isGone { try? await Task.sleep(for: .milliseconds(500)) }
    return engine.isGone
  }

  @Test func unattributedRequestsGoToTheNetworkWhileABypassedPageIsOpen() async throws {
    let runtime = try await bench.runtime()
    bench.serve(policy: 1, #""intercept":true,"bypass":["https://m.test/pay/*"]"#)
    await runtime.handle(.launch)
    let proxy = PageProxy(runtime, transport: transport, network: network)
    proxy.addTrustedHost("m.test")
    let engine = try await connect(proxy, "m.test")
    func isLocal(_ more: String) async -> Bool {
      engine.say(get("/app.js", more))
      return await engine.answer().contains("no-store")
    }
    let plain = proxy.shown(RuntimeBench.page)
    #expect(await isLocal(""))
    #expect(await isLocal("Referer: \(plain.url)\r\n"))
    let bypassed = proxy.shown("https://m.test/pay/index.html")
    #expect(runtime.leavesAlone(bypassed) && !runtime.leavesAlone(plain))
    #expect(await !isLocal(""))
    #expect(await !isLocal("Referer: \(bypassed.url)\r\n"))
    #expect(await isLocal("Referer: \(plain.url)\r\n"))
    proxy.left(bypassed)
    #expect(await isLocal(""))
  }

  @Test func pagesOfOtherSitesGetTheNetworksAnswers() async throws {
    let engine = try await connect(try await proxy(), "m.test")
    for header in ["Referer: https://evil.test/", "Origin: https://evil.test", "Sec-Fetch-Site: cross-site"] {
      engine.say(get("/app.js", header + "\r\n"))
      #expect(await !engine.answer().contains("no-store"))
    }
    #expect(transport.sent.count == 3)
    // A page opened by a link there comes from the device.
    engine.say(get("/index.html", "Referer: https://evil.test/\r\nSec-Fetch-Dest: document\r\n"))
    #expect(await engine.answer().hasSuffix("<p>one"))
  }

  @Test func hangingServersDoNotBlockOtherRequests() async throws {
    let barrier = Barrier()
    let stuck = FakePageTransport { _ throws(TransportError) in
      barrier.wait()
      throw TransportError(.unreachable, "dead")
    }
    let proxy = try await proxy(stuck)
    let waiting = try await connect(proxy, "m.test")
    waiting.say(get("/api"))
    await barrier.reached()
    let engine = try await connect(proxy, "m.test")
    engine.say(get("/index.html"))
    #expect(await engine.answer().hasSuffix("<p>one"))
    barrier.open()
    // No answer is made up: the connection ends, as without a server.
    #expect(await waiting.hear(until: "never") == "")
    #expect(proxy.runtime.version == "1")
  }

  /// libsoup repeats a request if a persistent connection ends without a byte; the transport has repeated it already.
  @Test(
    arguments: [
      (.timedOut, "HTTP/1.1 "), (.broken, "HTTP/1.1 "), (.other, "HTTP/1.1 "), (.unreachable, ""),
    ] as [(TransportError.Kind, String)])
  func requestsThatMayHaveReachedTheServerAreNotRepeated(_ kind: TransportError.Kind, _ end: String)
    async throws
  {
    let failing = FakePageTransport { request throws(TransportError) in
      if request.url.hasSuffix("/stalls") { throw TransportError(kind, "no answer") }
    }
    let engine = try await connect(try await proxy(failing), "m.test")
    engine.say(get("/api"))
    #expect(await engine.answer().hasPrefix("HTTP/1.1 200"))
    engine.say(get("/stalls"))
    #expect(await engine.hear(until: "never") == end)
    #expect(failing.sent.count == 2)
  }

  /// After a complete chunk, WebKit takes the end of the connection for the end of the body, and uses it.
  @Test(arguments: [
    ([], ["half", "more"], "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n4\r\nmore\r\n1\r\n"),
    ([], [], "Transfer-Encoding: chunked\r\n\r\n1\r\n"),
    (["Content-Length: 10"], ["half"], "Content-Length: 10\r\n\r\nhalf"),
  ])
  func truncatedAnswersEndWithinAChunk(_ headers: [String], _ pieces: [String], _ end: String)
    async throws
  {
    let engine = try await connect(try await proxy(BreakingTransport(headers, pieces)), "m.test")
    engine.say(get("/api"))
    #expect(await engine.hear(until: "never") == "HTTP/1.1 200 OK\r\n" + end)
  }

  /// An answer that ends with the connection is incomplete if it is reset, whatever its coding.
  @Test(arguments: [false, true], ["", "Content-Encoding: gzip\r\n"])
  func resetAnswersEndWithinAChunk(_ isReset: Bool, _ coding: String) async throws {
    let text = Array("let answer = 42".utf8)
    let servers = EndingServers(
      Array("HTTP/1.1 200 OK\r\n\(coding)\r\n".utf8) + (coding.isEmpty ? text : Gzip.encode([text])),
      isReset: isReset)
    let engine = try await connect(try await proxy(StreamPageTransport(servers)), "m.test")
    engine.say(get("/api"))
    let answer = await engine.hear(until: isReset ? "never" : "\r\n0\r\n\r\n")
    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
    #expect(answer.contains("42") && answer.hasSuffix(isReset ? "\r\n1\r\n" : "\r\n0\r\n\r\n"))
  }

  /// An engine may send on without waiting for the answer to CONNECT.
  @Test(arguments: ["m.test", "bank.test"]) func bytesAfterConnectBelongToTheTunnel(_ host: String)
    async throws
  {
    let proxy = try await proxy()
    let engine = try dial(proxy)
    engine.say(
      "CONNECT \(host):443 HTTP/1.1\r\nHost: \(host):443\r\n\(password(proxy))\r\n"
        + get("/index.html", host: host))
    #expect(await engine.answer() == "HTTP/1.1 200 OK\r\n\r\n")
    if host == "m.test" {
      #expect(await engine.answer().hasSuffix("<p>one"))
    } else {
      #expect(await engine.hear(until: "\r\n\r\n") == "\(host): " + get("/index.html", host: host))
    }
  }

  /// WebKit only reads an answer after it has sent the whole body.
  @Test(arguments: [0, 100_000])
  func earlyAnswersAreDelivered(_ behind: Int) async throws {
    let engine = try await connect(try await proxy(EarlyTransport(behind)), "m.test")
    let size = 300_000
    engine.say("POST /api HTTP/1.1\r\nHost: m.test\r\nContent-Length: \(size)\r\n\r\n")
    _ = engine.write([UInt8](repeating: 1, count: size / 3))
    let answer = await engine.hear(until: "early")
    #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("\r\nConnection: close\r\n"))
    // The connection mustn't end in this time.
    try await Task.sleep(for: .milliseconds(300))
    #expect(!engine.isGone && engine.write([UInt8](repeating: 2, count: size - size / 3)))
    if behind > 0 { #expect(await engine.hear(until: "late") == "late") }
    engine.finishWriting()
    #expect(await engine.hear(until: "never") == "")
  }

  @Test(
    arguments: [
      ("Own reason", "299 Own reason"), ("", "299 "), (nil, "299 OK"), ("a\r\nX: y", "299 OK"),
    ] as [(String?, String)])
  func reasonPhrasesArePassedOn(_ reason: String?, _ line: String) async throws {
    let told = AnsweringTransport(299, reason: reason, [])
    let engine = try await connect(try await proxy(told), "m.test")
    engine.say(get("/api"))
    #expect(await engine.answer().hasPrefix("HTTP/1.1 \(line)\r\n"))
  }

  @Test func hopByHopHeadersAreRemoved() async throws {
    let told = AnsweringTransport(
      407,
      [
        ("Connection", "keep-alive, X-Hop"), ("x-hop", "1"), ("Keep-Alive", "5"),
        ("Connection", "Content-Length"),
        ("Proxy-Authenticate", "Basic realm=x"), ("X-Own", "2"),
      ])
    let engine = try await connect(try await proxy(told), "m.test")
    engine.say(get("/api"))
    #expect(
      await engine.answer()
        == "HTTP/1.1 407 Proxy Authentication Required\r\nX-Own: 2\r\nContent-Length: 2\r\nProxy-Authenticate: Basic realm=x\r\n\r\nhi"
    )
  }

  /// Old servers send cookies in other encodings.
  @Test func headerBytesAreUnchanged() async throws {
    let engine = try await connect(try await proxy(), "m.test")
    _ = engine.write(
      Array("GET /api HTTP/1.1\r\nHost: m.test\r\nCookie:\u{301}a=".utf8) + [0xCB, 0xD1]
        + Array(" \r\n\r\n".utf8))
    #expect(await engine.answer().hasPrefix("HTTP/1.1 200"))
    #expect(
      transport.sent.first?.headers["cookie"] == HeaderText.text(Array("\u{301}a=".utf8) + [0xCB, 0xD1]))
    let cookie: HTTPFields = [("Set-Cookie", HeaderText.text([0x61, 0x3D, 0xCB]))]
    #expect(
      ProxyHead.answer(200, cookie)
        == Array("HTTP/1.1 200 OK\r\nSet-Cookie: a=".utf8) + [0xCB] + Array("\r\n\r\n".utf8))
  }

  /// A line that begins with a blank would continue the one before.
  @Test func invalidHeadersAreDropped() {
    let headers: HTTPFields = [
      (" script-src https", "//x"), ("", "1"), ("A b", "2"), ("C:", "3"), ("D\u{E9}", "4"), ("E", "5"),
    ]
    #expect(ProxyHead.answer(200, headers) == Array("HTTP/1.1 200 OK\r\nE: 5\r\n\r\n".utf8))
  }

  @Test func blankPageOnlyAnswersGETAndHEAD() async throws {
    let engine = try await connect(try await proxy(), "m.test")
    let blank = PageProxy.blankPath
    engine.say("HEAD \(blank) HTTP/1.1\r\nHost: m.test\r\n\r\n" + get("/index.html"))
    #expect(await engine.hear(until: "\r\n\r\n").contains("Content-Length: \(PageProxy.blankPage.count)\r\n"))
    #expect(await engine.answer().hasSuffix("<p>one"))
    engine.say(get(blank))
    #expect(await engine.answer().hasSuffix("<title></title>"))
    #expect(transport.sent.isEmpty)
    engine.say("POST \(blank) HTTP/1.1\r\nHost: m.test\r\nContent-Length: 1\r\n\r\n.")
    #expect(await engine.answer().contains("answer of https://m.test\(blank)"))
  }

  /// Browsers send such paths, and servers answer them.
  @Test(arguments: [
    "/api/100%", "/api/%zz", "/api/%00", "/api/%", "/api/" + String(repeating: "a", count: 40_000),
  ])
  func unusualPathsAreForwarded(_ path: String) async throws {
    let proxy = try await proxy()
    let engine = try await connect(proxy, "m.test")
    engine.say(get(path))
    #expect(await engine.answer().contains("answer of https://m.test\(path)"))
    let plain = try dial(proxy)
    plain.say("GET http://m.test\(path) HTTP/1.1\r\nHost: m.test\r\n\(password(proxy))\r\n")
    #expect(await plain.answer().contains("answer of http://m.test\(path)"))
  }

  @Test func webSocketsAreForwarded() async throws {
    let engine = try await connect(try await proxy(), "m.test")
    let ask = get("/socket", "Upgrade: websocket\r\nConnection: Upgrade\r\n")
    engine.say(ask)
    #expect(await engine.hear(until: "\r\n\r\n") == "m.test: " + ask)
    engine.say("frames")
    #expect(await engine.hear(until: "frames") == "frames")
    #expect(network.connected == ["tls m.test:443"])
    engine.close()
  }

  /// For tools that show how each request was answered.
  @Test func requestsAreReportedWithTheirSource() async throws {
    let runtime = try await bench.runtime()
    await runtime.handle(.launch)
    let reports = Locked<[ProxyReport]>([])
    let proxy = PageProxy(runtime, transport: transport, network: network) { report in
      reports.withLock { $0.append(report) }
    }
    proxy.addTrustedHost("m.test")
    let engine = try await connect(proxy, "m.test")
    for (path, kind) in [("/app.js", "script"), ("/api", "empty"), ("/missing", "image")] {
      engine.say(get(path, "Sec-Fetch-Dest: \(kind)\r\n"))
      _ = await engine.answer()
    }
    network.goDown()
    engine.say(get("/socket", "Upgrade: websocket\r\nConnection: Upgrade\r\n"))
    _ = await engine.hear(until: "never")
    let told = reports.withLock { $0 }
    #expect(told.map(\.id) == [1, 1, 2, 2, 3, 3, 4, 4])
    #expect(told.map(\.isOver) == [false, true, false, true, false, true, false, true])
    #expect(told.allSatisfy { $0.isOver || $0.source == nil && $0.status == nil && $0.bytes == 0 })
    let over = told.filter(\.isOver)
    #expect(over.map(\.url) == ["/app.js", "/api", "/missing", "/socket"].map { "https://m.test" + $0 })
    #expect(over.map(\.source) == [.device, .network, .network, nil])
    #expect(over.map(\.status) == [200, 200, 404, nil])
    #expect(over.map(\.destination) == [.script, .fetch, .image, .other])
    #expect(over.first?.bytes == Int64("let one".utf8.count) && (over.dropFirst().first?.bytes ?? 0) > 0)
  }

  /// A tool can add hosts of the app without held files, but no others.
  @Test func moreHostsGoThroughTheTransport() async throws {
    let runtime = try await bench.runtime { $0.device.hosts.append("cdn.m.test") }
    await runtime.handle(.launch)
    let proxy = PageProxy(
      runtime, transport: transport, network: network, moreHosts: ["cdn.m.test", "bank.test", "m.test"])
    #expect(proxy.hosts == ["m.test", "cdn.m.test"])
    for host in proxy.hosts + ["bank.test"] { proxy.addTrustedHost(host) }
    let engine = try await connect(proxy, "cdn.m.test")
    engine.say(get("/api", host: "cdn.m.test"))
    #expect(await engine.answer().contains("answer of https://cdn.m.test/api"))
    _ = try await connect(proxy, "bank.test")
    #expect(network.secured == ["cdn.m.test"] && network.connected == ["bank.test:443"])
  }

  @Test func requestBodiesAreForwardedAsTheyArrive() async throws {
    let arrived = Monitor(0)
    let reading = FakePageTransport { request throws(TransportError) in
      guard case .stream(let length, let read) = request.body else {
        throw TransportError(.other, "no stream")
      }
      var offset: Int64 = 0
      while offset < length {
        var buffer = [UInt8](repeating: 0, count: 10_000)
        let count = buffer.withUnsafeMutableBytes { (try? read(offset, $0)) ?? 0 }
        guard count > 0 else { throw TransportError(.broken, "the body ended") }
        offset += Int64(count)
        arrived.broadcasting { $0 = Int(offset) }
      }
      // Bytes that were read can't be read again.
      var buffer = [UInt8](repeating: 0, count: 1)
      if (try? buffer.withUnsafeMutableBytes { try read(0, $0) }) != nil {
        throw TransportError(.other, "read twice")
      }
    }
    let engine = try await connect(try await proxy(reading), "m.test")
    let size = 300_000
    engine.say(
      "POST /api HTTP/1.1\r\nHost: m.test\r\nContent-Length: \(size)\r\nExpect: 100-continue\r\n\r\n")
    #expect(await engine.hear(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    _ = engine.write([UInt8](repeating: 1, count: size / 2))
    // The first half is forwarded before the second one has arrived.
    await MemoryStream.onOwnThread { arrived.waiting { $0 > 0 ? () : nil } }
    _ = engine.write([UInt8](repeating: 2, count: size - size / 2))
    #expect(await engine.answer().hasPrefix("HTTP/1.1 200"))
    #expect(arrived.withLock { $0 } == size)
    engine.say(get("/index.html"))
    #expect(await engine.answer().hasSuffix("<p>one"))
  }

  @Test func chunkedBodiesAreCollected() async throws {
    let engine = try await connect(try await proxy(), "m.test")
    engine.say(
      "POST /api HTTP/1.1\r\nHost: m.test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n2\r\n..\r\n0\r\n\r\n"
    )
    #expect(await engine.answer().hasPrefix("HTTP/1.1 200"))
    #expect(transport.sent.first?.body == Array("body..".utf8))
    #expect(transport.sent.first?.headers["transfer-encoding"] == nil)
  }

  @Test(arguments: ["nonsense\r\n\r\n", "GET / HTTP/3.0\r\n\r\n", "CONNECT m.test:443 HTTP/1.1\r\n\r\n"])
  func invalidRequestsEndTheConnection(_ text: String) async throws {
    let engine = try dial(try await proxy())
    engine.say(text)
    #expect(await engine.hear(until: "never").contains("\r\nConnection: close\r\n"))
  }
}

/// Servers whose answers are truncated.
private struct BreakingTransport: PageTransport {
  private let headers: [String]
  private let pieces: [String]

  init(_ headers: [String], _ pieces: [String]) {
    self.headers = headers
    self.pieces = pieces
  }

  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    var all = HTTPFields()
    for line in headers {
      let words = line.split(separator: ":").map { $0.trimmingSpaces }
      all.add(String(words[0]), String(words[1]))
    }
    guard begin(NetworkHead(status: 200, headers: all, url: request.url)) else {
      throw TransportError(.stopped, "the caller ended it")
    }
    for piece in pieces where !receive(Array(piece.utf8).span.bytes) {
      throw TransportError(.stopped, "the caller ended it")
    }
    throw TransportError(.broken, "it ended early")
  }
}

/// Servers that send the same bytes on each connection, and close or reset it.
private struct EndingServers: StreamNetwork {
  private let bytes: [UInt8]
  private let isReset: Bool

  init(_ bytes: [UInt8], isReset: Bool) {
    self.bytes = bytes
    self.isReset = isReset
  }

  func connect(
    to host: String, port: Int, isSecure: Bool, isCancelled: () -> Bool
  ) throws(TransportError) -> any ProxyStream {
    let (here, there) = MemoryStream.pair()
    _ = there.write(bytes)
    if isReset { here.breakInput() } else { there.finishWriting() }
    return here
  }
}

/// Servers that answer with the given head and the body "hi".
private struct AnsweringTransport: PageTransport {
  private let head: NetworkHead

  init(_ status: Int, reason: String? = nil, _ headers: HTTPFields) {
    var head = NetworkHead(
      status: status, headers: headers + [("Content-Length", "2")], url: "https://m.test/api")
    head.reason = reason
    self.head = head
  }

  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    guard begin(head), receive(Array("hi".utf8).span.bytes) else {
      throw TransportError(.stopped, "the caller ended it")
    }
  }
}

/// Servers that answer before they have read the body, of which they read `behind` bytes after that.
private struct EarlyTransport: PageTransport {
  private let behind: Int64

  init(_ behind: Int) { self.behind = Int64(behind) }

  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    let text = behind > 0 ? ["early", "late"] : ["early"]
    let length = "\(text.joined().utf8.count)"
    guard
      begin(NetworkHead(status: 413, headers: [("Content-Length", length)], url: request.url)),
      receive(Array("early".utf8).span.bytes), case .stream(_, let read) = request.body
    else { throw TransportError(.stopped, "the caller ended it") }
    var offset: Int64 = 0
    while offset < behind {
      var buffer = [UInt8](repeating: 0, count: 10_000)
      let count = buffer.withUnsafeMutableBytes { (try? read(offset, $0)) ?? 0 }
      guard count > 0 else { throw TransportError(.broken, "the body ended") }
      offset += Int64(count)
    }
    if behind > 0, !receive(Array("late".utf8).span.bytes) {
      throw TransportError(.stopped, "the caller ended it")
    }
  }
}
