import HTTP
import DeviceTestSupport
import System
import Testing
import XCacheDevice

@testable import XCacheRuntime

/// Pages on the custom scheme: what the device answers, what is forwarded with which headers, and what is refused.
@Suite struct PageSchemeTests {
  private static let id = String(repeating: "ab", count: 16)
  private static let page = "xcache-https://m.test/index.html"

  let bench: RuntimeBench
  let cookies = FakeScriptCookies([
    PageCookie(name: "a", value: "1", domain: "m.test", path: "/"),
    PageCookie(name: "s", value: "2", domain: "m.test", path: "/", isHTTPOnly: true),
  ])

  init() throws { bench = try RuntimeBench() }

  private func scheme(_ transport: any PageTransport) async throws -> PageScheme {
    let runtime = try await bench.runtime()
    #expect(await runtime.handle(.launch)?.kind == .whole)
    return PageScheme(runtime, fetcher: PageFetcher(transport, cookies: cookies), cookies: cookies)
  }

  private func ask(
    _ scheme: PageScheme, _ url: String, method: String = "GET",
    _ headers: HTTPFields = [], destination: PageRequest.Destination = .fetch,
    mode: PageRequest.Mode = .cors, body: [UInt8]? = nil
  ) async -> Collected {
    let request = PageRequest(
      url, method: method, headers: headers, destination: destination, mode: mode, hasCredentials: true)
    return await Collected.of { begin, receive throws(TransportError) in
      try await scheme.answer(request, body: body, begin: begin, receive: receive)
    }
  }

  private func part(_ url: String, method: String = "POST", type: String = "text/plain") -> String {
    #"{"kind":"body","id":"\#(Self.id)","method":"\#(method)","url":"\#(url)","type":"\#(type)","size":3,"part":0}"#
      + "\nAQID"
  }

  @Test func deviceAnswers() async throws {
    let transport = FakePageTransport()
    let scheme = try await scheme(transport)
    let page = await ask(scheme, Self.page, destination: .document, mode: .navigate)
    #expect(page.head?.status == 200 && page.body == bytes("<p>one") && page.head?.url == Self.page)
    let part = await ask(scheme, "xcache-https://m.test/app.js", [("Range", "bytes=4-")])
    #expect(part.head?.status == 206 && part.body == bytes("one"))
    let other = await ask(
      scheme, "xcache-https://m.test/app.js", [("Origin", "xcache-https://m.test")])
    #expect(other.head?.headers.values("access-control-allow-origin") == ["xcache-https://m.test"])
    #expect(transport.sent.isEmpty)
  }

  @Test func blankPageIsAnsweredLocally() async throws {
    let transport = FakePageTransport()
    let scheme = try await scheme(transport)
    let page = await ask(
      scheme, "xcache-https://m.test" + PageProxy.blankPath, destination: .document, mode: .navigate)
    #expect(page.head?.status == 200 && page.body == PageProxy.blankPage)
    let foreign = await ask(
      scheme, "xcache-https://bank.test" + PageProxy.blankPath, destination: .document, mode: .navigate)
    #expect(foreign.head == nil && transport.sent.isEmpty)
  }

  @Test func otherRequestsComeFromTheNetwork() async throws {
    let transport = FakePageTransport()
    let scheme = try await scheme(transport)
    let answer = await ask(
      scheme, "xcache-https://m.test/api",
      [("Referer", Self.page), ("Cookie", "forged=1"), ("X-XCache-Cookie", "x"), ("Accept", "*/*")])
    #expect(
      answer.body == bytes("answer of https://m.test/api") && answer.head?.headers.values("set-cookie") == [])
    #expect(transport.sent.map(\.url) == ["https://m.test/api"])
    #expect(
      transport.sent[0].headers
        == ["referer": "https://m.test/index.html", "accept": "*/*", "cookie": "a=1; s=2"])
    #expect(cookies.taken == ["of=https://m.test/api"])
  }

  /// The body's id is in a header, or in the URL, as with forms.
  @Test(arguments: [true, false]) func bodiesArriveBesideTheirRequest(_ isHeader: Bool) async throws {
    let transport = FakePageTransport()
    let scheme = try await scheme(transport)
    let url = "xcache-https://m.test/api?q=1"
    await scheme.receive(part(url), from: "xcache-https://m.test")
    let asked = isHeader ? url : "\(url)&xcache-body=\(Self.id)"
    // The type of the form that carries the id isn't the body's.
    let headers: HTTPFields =
      isHeader
      ? [("X-XCache-Body", Self.id)] : [("Content-Type", "application/x-www-form-urlencoded")]
    let answer = await ask(scheme, asked, method: "POST", headers)
    #expect(answer.error == nil && answer.head?.url == url)
    #expect(transport.sent.map(\.url) == ["https://m.test/api?q=1"] && transport.sent[0].body == [1, 2, 3])
    #expect(
      transport.sent[0].headers
        == ["origin": "https://m.test", "content-type": "text/plain", "cookie": "a=1; s=2"])
  }

  @Test func lostBodiesAreNotSentAsEmptyOnes() async throws {
    let transport = FakePageTransport()
    let scheme = try await scheme(transport)
    // One was passed by a page of another origin, the other one never.
    await scheme.receive(part("xcache-https://m.test/api"), from: "xcache-https://evil.test")
    let stolen = await ask(scheme, "xcache-https://m.test/api", method: "POST", [("X-XCache-Body", Self.id)])
    let ofWorker = await ask(
      scheme, "xcache-https://m.test/api", method: "POST", [("Content-Type", "image/png")])
    #expect(stolen.error?.kind == .other && ofWorker.error?.kind == .other && transport.sent.isEmpty)
    let empty = await ask(scheme, "xcache-https://m.test/api", method: "POST")
    let own = await ask(
      scheme, "xcache-https://m.test/api", method: "POST",
      [("Content-Type", "application/x-www-form-urlencoded")], body: bytes("a=b"))
    #expect(empty.error == nil && own.error == nil)
    #expect(transport.sent.map(\.body) == [[], bytes("a=b")])
  }

  @Test(
    arguments: [
      ("xcache-https://bank.test/", "", ""), ("https://m.test/app.js", "", ""),
      ("xcache-https://m.test/api", "Origin", "https://evil.test"),
      ("xcache-https://m.test/api", "Referer", "https://evil.test/page"),
      ("xcache-https://m.test/api", "Origin", "xcache-https://evil.test"),
    ])
  func otherPagesAndHostsGetNothing(_ url: String, _ name: String, _ value: String) async throws {
    let transport = FakePageTransport()
    let scheme = try await scheme(transport)
    let answer = await ask(scheme, url, name.isEmpty ? [] : [(name, value)])
    #expect(answer.error?.kind == .other && answer.head == nil && transport.sent.isEmpty)
  }

  /// Requests of images and scripts don't name their page.
  @Test(
    arguments: [
      ("https://evil.test/", false), ("xcache-https://evil.test/", false), ("xcache-https://m.test/", true),
      ("https://m.test/pay", true), ("about:blank", true), ("", true),
    ])
  func pagesOfOtherHostsGetNothing(_ main: String, _ isGiven: Bool) async throws {
    let scheme = try await scheme(FakePageTransport())
    let request = PageRequest("xcache-https://m.test/app.js", destination: .script)
    let got = await Collected.of { begin, receive throws(TransportError) in
      try await scheme.answer(
        request, mainDocument: main.isEmpty ? nil : main, begin: begin, receive: receive)
    }
    #expect((got.error == nil) == isGiven && got.body.isEmpty != isGiven)
  }

  /// A frame without a URL of its own, and one with an opaque origin.
  @Test func framesWithoutAnOrigin() async throws {
    let transport = FakePageTransport()
    let scheme = try await scheme(transport)
    let url = "xcache-https://m.test/api"
    await scheme.receive(part(url), from: "xcache-https://m.test")
    let srcdoc = await ask(
      scheme, url, method: "POST", [("Referer", "about:srcdoc"), ("X-XCache-Body", Self.id)])
    #expect(srcdoc.error == nil && transport.sent[0].headers["referer"] == nil)
    #expect(await ask(scheme, url, method: "POST", [("Origin", "null")]).error != nil)
    #expect(await ask(scheme, url, [("Origin", "null")]).error == nil && transport.sent.count == 2)
  }

  /// The request may have been one without credentials, which the engine doesn't tell, but they were sent.
  @Test(
    arguments: [
      (["Access-Control-Allow-Origin": "*"], [], ["*"]),
      (["Access-Control-Allow-Origin": "null"], [], ["null"]),
      (
        ["Access-Control-Allow-Origin": "null", "Access-Control-Allow-Credentials": "true"], ["null"],
        ["null"]
      ),
    ] as [([String: String], [String], [String])])
  func opaqueOriginsOnlyReadWhatIsAllowedForThem(
    _ headers: [String: String], _ hidden: [String], _ own: [String]
  ) async throws {
    let scheme = try await scheme(Redirecting(to: "/", headers))
    func allowed(_ origin: String) async -> [String]? {
      await ask(scheme, "xcache-https://m.test/api", [("Origin", origin)]).head?
        .headers.values("access-control-allow-origin")
    }
    #expect(await allowed("null") == hidden)
    #expect(await allowed("xcache-https://m.test") == own)
  }

  @Test func redirectsOfDocumentsChangeTheURL() async throws {
    let transport = Redirecting(to: "/next?a=1", ["Access-Control-Allow-Origin": "https://m.test"])
    let scheme = try await scheme(transport)
    let document = await ask(scheme, "xcache-https://m.test/old", destination: .document, mode: .navigate)
    #expect(document.head?.status == 200)
    let target = "xcache-https://m.test/next?a=1"
    #expect(document.body == bytes("<!doctype html><script>location.replace(\"\(target)\")</script>"))
    let call = await ask(scheme, "xcache-https://m.test/old")
    #expect(call.head?.status == 200 && call.head?.url == "xcache-https://m.test/next?a=1")
  }

  @Test func redirectsToOtherHostsLeaveTheScheme() async throws {
    let scheme = try await scheme(Redirecting(to: "https://o.test/\"</script>", [:]))
    let frame = await ask(scheme, "xcache-https://m.test/old", destination: .frame, mode: .navigate)
    let page = String(decoding: frame.body, as: UTF8.self)
    #expect(page == "<!doctype html><script>location.replace(\"https://o.test/%22%3C/script%3E\")</script>")
  }

  /// A backslash in a query must be escaped in the script's string.
  @Test func redirectsMayHaveBackslashes() async throws {
    let scheme = try await scheme(Redirecting(to: #"https://o.test/?p=C:\new\"#, [:]))
    let page = await ask(scheme, "xcache-https://m.test/old", destination: .document, mode: .navigate)
    let script = #"location.replace("https://o.test/?p=C:\\new\\")"#
    #expect(String(decoding: page.body, as: UTF8.self) == "<!doctype html><script>\(script)</script>")
  }

  /// The engine takes an answer for the requested origin's: after a redirect, the other origin must allow it by CORS.
  @Test(
    arguments: [
      ([:], PageRequest.Mode.cors, false), (["Access-Control-Allow-Origin": "https://m.test"], .cors, true),
      (["Access-Control-Allow-Origin": "*"], .cors, true),
      (["Access-Control-Allow-Origin": "https://x.test"], .cors, false), ([:], .noCORS, true),
    ] as [([String: String], PageRequest.Mode, Bool)])
  func redirectsDoNotOpenOtherOrigins(
    _ headers: [String: String], _ mode: PageRequest.Mode, _ isGiven: Bool
  ) async throws {
    let scheme = try await scheme(Redirecting(to: "https://other.test/secret", headers))
    let answer = await ask(
      scheme, "xcache-https://m.test/open-redirect", [("Origin", "xcache-https://m.test")], mode: mode)
    #expect((answer.error == nil) == isGiven && answer.body.isEmpty != isGiven)
  }

  @Test func documentCookie() async throws {
    let scheme = try await scheme(FakePageTransport())
    let url = "xcache-https://m.test/.well-known/xcache/cookie?path=%2Findex.html"
    let read = await ask(scheme, url, [("X-XCache-Cookie", "read")])
    #expect(read.head?.status == 200 && read.body == bytes("a=1"))
    for line in ["b=%C3%A9", "s=3", "c=1%3B%20HttpOnly"] {
      #expect(await ask(scheme, url, method: "POST", [("X-XCache-Cookie", line)]).head?.status == 200)
    }
    #expect(cookies.taken == ["b=é"])
    // Without the header, which pages of other origins can't send, or for another host.
    #expect(await ask(scheme, url).head?.status == 403)
    let other = url.replacing("m.test/", with: "bank.test/")
    #expect(await ask(scheme, other, [("X-XCache-Cookie", "read")]).error != nil)
    let bent = url.replacing("%2Findex.html", with: "%40bank.test")
    #expect(await ask(scheme, bent, [("X-XCache-Cookie", "read")]).head?.status == 403)
  }

  @Test func policysScriptsReplaceTheDefaults() {
    let own = SchemeScripts.all(hosts: "m.test *.cdn.test")
    #expect(
      own.count == 2 && own[0].contains("\"m.test *.cdn.test\".split")
        && !own[0].contains("\"XCACHE_HOSTS\".split"))
    // A host that would end the string is refused.
    #expect(SchemeScripts.all(hosts: "a\"+evil()+\"")[0].contains("= \"\".split"))
    let scripts = ["other.js", "interceptor.js"].map {
      PageScript(name: $0, source: "\($0) \"XCACHE_HOSTS\".split")
    }
    let replaced = SchemeScripts.all(hosts: "m.test", policy: scripts)
    #expect(replaced == ["interceptor.js \"m.test\".split", own[1]])
    #expect(scripts.map(SchemeScripts.replaces) == [false, true])
  }

  @Test func beaconsAreSentWithoutTheirPage() async throws {
    let transport = FakePageTransport()
    let scheme = try await scheme(transport)
    let url = "xcache-https://m.test/log"
    await scheme.receive(part(url), from: "xcache-https://m.test")
    let beacon = #"{"kind":"beacon","id":"\#(Self.id)","url":"\#(url)"}"# + "\n"
    await scheme.receive(beacon, from: "xcache-https://evil.test")
    #expect(transport.sent.isEmpty)
    await scheme.receive(beacon, from: "xcache-https://m.test")
    #expect(transport.sent.map(\.url) == ["https://m.test/log"] && transport.sent[0].body == [1, 2, 3])
    #expect(transport.sent[0].headers["origin"] == "https://m.test")
    #expect(transport.sent[0].headers["content-type"] == "text/plain")
  }

  @Test(
    arguments: [
      ("https://m.test/a", "https://m.test/a", nil), ("https://m.test/a?b=c", "https://m.test/a?b=c", nil),
      ("https://m.test/a?xcache-body=1", "https://m.test/a", "1"),
      ("https://m.test/a?b&xcache-body=1#c", "https://m.test/a?b#c", "1"),
      ("https://m.test/a?xcache-body=2&xcache-body=1", "https://m.test/a?xcache-body=2", "1"),
    ] as [(String, String, String?)])
  func idsAreRemovedFromURLs(_ url: String, _ rest: String, _ id: String?) {
    #expect(CustomScheme.split(url) == (rest, id))
    #expect(CustomScheme.real("xcache-" + url) == rest && CustomScheme.real(url) == nil)
    #expect(CustomScheme.inPage(rest) == "xcache-" + rest && CustomScheme.inPage("xcache-" + rest) == nil)
  }
}

/// Redirects from the first URL, and answers at the second one.
private struct Redirecting: PageTransport {
  let location: String
  let headers: [String: String]

  init(to location: String, _ headers: [String: String]) {
    (self.location, self.headers) = (location, headers)
  }

  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    let isFirst = request.url.hasSuffix("/old") || request.url.hasSuffix("/open-redirect")
    let all = isFirst ? [("Location", location)] : HTTPFields(headers)
    guard begin(NetworkHead(status: isFirst ? 302 : 200, headers: all, url: request.url)),
      receive(Array("secret".utf8).span.bytes)
    else { throw TransportError(.stopped, "the caller ended it") }
  }
}
