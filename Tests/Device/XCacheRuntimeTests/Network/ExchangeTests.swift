import Compression
import DeviceLinux
import DeviceTestSupport
import SocketServer
import System
import Testing
import XCacheDevice

@testable import XCacheRuntime

/// Requests and answers of pages, over real sockets: every kind of request with every kind of answer. What the server
/// received and what the page gets are compared with what was sent.
@Suite struct ExchangeTests {
  struct Ask: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let method: String
    var headers: HTTPFields = []
    var body: [UInt8]?
    var isStreamed = false

    func request(_ url: String) -> NetworkRequest {
      guard let body else { return NetworkRequest(url, method: method, headers: headers) }
      guard isStreamed else {
        return NetworkRequest(url, method: method, headers: headers, body: .bytes(body))
      }
      let stream = NetworkRequest.Body.stream(length: Int64(body.count)) { offset, buffer in
        let piece = body.dropFirst(Int(offset)).prefix(min(buffer.count, 7_777))
        buffer.copyBytes(from: piece)
        return piece.count
      }
      return NetworkRequest(url, method: method, headers: headers, body: stream)
    }
  }

  static let multipart = """
    --edge\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--edge\r\nContent-Disposition: form-data; \
    name="f"; filename="x.bin"\r\n\r\n\u{0}\u{1}\r\n--edge--\r\n
    """

  static let asks: [Ask] = [
    Ask(testDescription: "GET", method: "GET"),
    Ask(
      testDescription: "GET with fields", method: "GET", headers: [("X-Own", "a b"), ("Accept", "text/html")]),
    Ask(testDescription: "HEAD", method: "HEAD"),
    Ask(testDescription: "POST without a body", method: "POST"),
    Ask(
      testDescription: "POST of a form", method: "POST",
      headers: [("Content-Type", "application/x-www-form-urlencoded")], body: Array("a=1&b=%20".utf8)),
    Ask(
      testDescription: "POST of JSON", method: "POST", headers: [("Content-Type", "application/json")],
      body: Array(#"{"a":1}"#.utf8)),
    Ask(
      testDescription: "POST of parts", method: "POST",
      headers: [("Content-Type", "multipart/form-data; boundary=edge")], body: Array(multipart.utf8)),
    Ask(
      testDescription: "POST of many bytes", method: "POST",
      headers: [("Content-Type", "application/octet-stream")],
      body: (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }),
    Ask(
      testDescription: "PUT of a stream", method: "PUT",
      headers: [("Content-Type", "application/octet-stream")],
      body: (0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 17) }, isStreamed: true),
    Ask(
      testDescription: "PATCH", method: "PATCH", headers: [("Content-Type", "application/json")],
      body: Array("[]".utf8)),
    Ask(testDescription: "DELETE", method: "DELETE"),
    Ask(testDescription: "OPTIONS", method: "OPTIONS"),
  ]

  struct Answer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var status = 200
    var headers: HTTPFields = []
    var body: [UInt8] = []
    /// The bytes sent after the head, if they aren't the body itself.
    var sent: [UInt8]?
    var framing = Framing.length
    /// The status of a redirect that leads to the answer.
    var redirect: Int?

    enum Framing: Sendable {
      case length, chunked, close, slow
      /// Fewer bytes than announced.
      case cut
    }
  }

  static let text = [UInt8](String(repeating: "const answer = 42;\n", count: 400).utf8)

  /// `text` in brotli.
  static let brotli: [UInt8] = [
    0x1b, 0xaf, 0x1d, 0xf8, 0x45, 0x27, 0xe7, 0x17, 0x3a, 0xf0, 0x77, 0xfb, 0x32, 0xca, 0x0b, 0xaa, 0x58,
    0xb9, 0xad, 0x44, 0xf0, 0x47, 0xef, 0xdc, 0x5f, 0xe8, 0xaa, 0x02, 0xa0, 0x68, 0x05, 0x00,
  ]

  static let answers: [Answer] = [
    Answer(testDescription: "200", body: text),
    Answer(testDescription: "200 without a body"),
    Answer(
      testDescription: "201 with fields", status: 201, headers: [("X-Server", "1"), ("ETag", "\"a\"")],
      body: text),
    Answer(testDescription: "204", status: 204),
    Answer(
      testDescription: "206", status: 206, headers: [("Content-Range", "bytes 0-4/9")],
      body: Array(text.prefix(5))),
    Answer(testDescription: "304", status: 304, headers: [("ETag", "\"a\"")]),
    Answer(testDescription: "400", status: 400, body: Array("no".utf8)),
    Answer(testDescription: "404 with a long body", status: 404, body: text + text),
    Answer(testDescription: "500", status: 500, body: text),
    Answer(testDescription: "chunked", body: text, framing: .chunked),
    Answer(testDescription: "until the end", body: text, framing: .close),
    Answer(testDescription: "in pieces", body: text, framing: .slow),
    Answer(testDescription: "cut", body: text, framing: .cut),
    Answer(
      testDescription: "gzip", headers: [("Content-Encoding", "gzip")], body: text, sent: Gzip.encode([text])),
    Answer(
      testDescription: "gzip, chunked", headers: [("Content-Encoding", "gzip")], body: text,
      sent: Gzip.encode([text]), framing: .chunked),
    Answer(testDescription: "br", headers: [("Content-Encoding", "br")], body: text, sent: brotli),
    Answer(
      testDescription: "zstd", headers: [("Content-Encoding", "zstd")], body: text, sent: Zstd.encode([text])),
    Answer(
      testDescription: "coded, but not in this coding", headers: [("Content-Encoding", "gzip")], body: text,
      sent: text,
      framing: .cut),
    Answer(testDescription: "301", body: text, redirect: 301),
    Answer(testDescription: "302", body: text, redirect: 302),
    Answer(testDescription: "303", body: text, redirect: 303),
    Answer(testDescription: "307", body: text, redirect: 307),
    Answer(testDescription: "308", body: text, redirect: 308),
  ]

  /// Records the requests, and gives the answer.
  private static func server(_ answer: Answer, _ seen: Locked<[SocketServer.Request]>) -> SocketServer {
    SocketServer { request in
      seen.withLock { $0.append(request) }
      if let status = answer.redirect, request.path == "/start" {
        return .answer(
          status, [("Location", "/end"), ("Set-Cookie", "step=1; Path=/")], body: Array("moved".utf8)
        )
        .withoutBody(where: request.method == "HEAD")
      }
      return steps(answer, isHead: request.method == "HEAD")
    }
  }

  private static func steps(_ answer: Answer, isHead: Bool) -> [SocketServer.Step] {
    var head = "HTTP/1.1 \(answer.status) Said\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2; Secure\r\n"
    for field in answer.headers { head += "\(field.name): \(field.value)\r\n" }
    let sent = answer.sent ?? answer.body
    let hasBody = ![204, 304].contains(answer.status)
    switch answer.framing {
    case .length, .slow: if hasBody { head += "Content-Length: \(sent.count)\r\n" }
    case .cut: head += "Content-Length: \(sent.count + 9)\r\n"
    case .chunked: head += "Transfer-Encoding: chunked\r\n"
    case .close: head += "Connection: close\r\n"
    }
    let start = Array((head + "\r\n").utf8)
    if isHead || !hasBody { return [.send(start)] + (answer.framing == .close ? [.close] : []) }
    switch answer.framing {
    case .length: return [.send(start + sent)]
    case .chunked:
      let pieces = stride(from: 0, to: sent.count, by: 1_000).map { Array(sent.dropFirst($0).prefix(1_000)) }
      let chunks = pieces.flatMap {
        Array("\(String($0.count, radix: 16))\r\n".utf8) + $0 + Array("\r\n".utf8)
      }
      return [.send(start + chunks + Array("0\r\n\r\n".utf8))]
    case .close: return [.send(start + sent), .close]
    case .slow:
      return [.send(start)]
        + stride(from: 0, to: sent.count, by: 2_000).flatMap { place -> [SocketServer.Step] in
          [.sleep(milliseconds: 2), .send(Array(sent.dropFirst(place).prefix(2_000)))]
        }
    case .cut: return [.send(start + sent), .close]
    }
  }

  @Test(arguments: asks, answers) func exchanges(_ ask: Ask, _ answer: Answer) async throws {
    try await exchange(ask, answer, over: CurlPageTransport())
  }

  /// The same over our own HTTP/1.1, which is used with Apple's connections; it only offers gzip.
  @Test(arguments: asks, answers.filter { !["br", "zstd"].contains($0.testDescription) })
  func exchangesOverStreams(_ ask: Ask, _ answer: Answer) async throws {
    try await exchange(ask, answer, over: StreamPageTransport(LinuxProxyNetwork()))
  }

  private func exchange(_ ask: Ask, _ answer: Answer, over transport: any PageTransport) async throws {
    let seen = Locked<[SocketServer.Request]>([])
    let server = Self.server(answer, seen)
    let cookies = FakeCookies(["session=7"])
    let fetcher = PageFetcher(transport, cookies: cookies)
    let got = await Collected.fetch(ask.request("\(server.url)/start"), by: fetcher)

    // What the server received.
    let requests = seen.withLock { $0 }
    #expect(requests.count == (answer.redirect == nil ? 1 : 2))
    let first = try #require(requests.first)
    #expect(first.method == ask.method && first.body == ask.body ?? [])
    #expect(first.fields["host"] == "127.0.0.1:\(server.port)")
    // A server that ignores `Expect` would cost a second.
    #expect(first.fields["expect"] == nil)
    for header in ask.headers { #expect(first.fields[header.name.lowercased()] == header.value) }
    #expect(first.fields["cookie"] == "session=7")
    if let status = answer.redirect, let second = requests.last {
      let keeps =
        status >= 307 || ["GET", "HEAD"].contains(ask.method) || (status < 303 && ask.method != "POST")
      #expect(second.method == (keeps ? ask.method : "GET") && second.path == "/end")
      #expect(second.body == (keeps ? ask.body ?? [] : []))
      #expect(second.fields["content-type"] == (keeps ? first.fields["content-type"] : nil))
      #expect(second.fields["cookie"] == "session=7; step=1; Path=/")
    }

    // What the page gets.
    let isHead = ask.method == "HEAD"
    if answer.framing == .cut, !isHead {
      #expect(got.error != nil)
      return
    }
    #expect(got.error == nil, "\(String(describing: got.error))")
    let head = try #require(got.head)
    #expect(head.status == answer.status && got.body == (isHead ? [] : answer.body))
    for field in answer.headers where field.name != "Content-Encoding" {
      #expect(head.headers.values(field.name.lowercased()) == [field.value])
    }
    #expect(head.url == "\(server.url)/\(answer.redirect == nil ? "start" : "end")")
    #expect(head.headers.values("set-cookie") == ["a=1", "b=2; Secure"])
    let last = (answer.redirect == nil ? [] : ["step=1; Path=/"]) + ["a=1", "b=2; Secure"]
    #expect(cookies.taken == last)
  }

  /// A range of a coded body can't be decoded.
  @Test func rangesAreRequestedUncoded() async {
    for transport in [CurlPageTransport(), StreamPageTransport(LinuxProxyNetwork())] as [any PageTransport] {
      let codings = Locked<[String?]>([])
      let server = SocketServer { request in
        codings.withLock { $0.append(request.fields["accept-encoding"]) }
        return .answer()
      }
      let fetcher = PageFetcher(transport, cookies: FakeCookies([]))
      _ = await Collected.fetch(NetworkRequest(server.url, headers: [("range", "bytes=1-2")]), by: fetcher)
      #expect(codings.withLock { $0 } == ["identity"])
    }
  }

  /// Documents get the redirect, so that their URL changes.
  @Test func redirectsOfDocumentsAreReturned() async throws {
    let server = SocketServer { _ in .answer(302, [("Location", "/end"), ("Set-Cookie", "a=1")], body: [1]) }
    let cookies = FakeCookies([])
    let fetcher = PageFetcher(CurlPageTransport(), cookies: cookies)
    let got = await Collected.fetch(NetworkRequest(server.url), by: fetcher, redirects: .giveBack)
    #expect(
      got.head?.status == 302 && got.head?.headers.values("location") == ["/end"] && cookies.taken == ["a=1"])
  }

  /// The body of a redirect isn't waited for: it may be long, endless or invalid.
  @Test(
    arguments: [false, true],
    [
      (head: "Content-Length: 9999999", sent: 0), (head: "Content-Length: 9", sent: 4),
      (head: "Transfer-Encoding: chunked", sent: 1 << 20), (head: "X: 1", sent: 1 << 20),
    ])
  func redirectsAreFollowedBeforeTheirBodyEnds(overStreams: Bool, body: (head: String, sent: Int)) async {
    let isAsked = Monitor(false)
    let server = SocketServer { request in
      guard request.path == "/start" else {
        isAsked.broadcasting { $0 = true }
        return .answer(body: [7])
      }
      let chunk = body.head.hasPrefix("Transfer") ? Array("fffffff\r\n".utf8) : []
      let head = Array("HTTP/1.1 302 Found\r\nLocation: /end\r\n\(body.head)\r\n\r\n".utf8)
      return [
        .send(head + chunk + [UInt8](repeating: 1, count: body.sent)),
        .run { _ = isAsked.waiting(for: .seconds(60)) { $0 ? () : nil } }, .close,
      ]
    }
    let transport: any PageTransport =
      overStreams ? StreamPageTransport(LinuxProxyNetwork()) : CurlPageTransport()
    let got = await Collected.fetch(
      NetworkRequest("\(server.url)/start"), by: PageFetcher(transport, cookies: FakeCookies([])))
    #expect(
      got.error == nil && got.head?.status == 200 && got.body == [7], "\(String(describing: got.error))")
    #expect(isAsked.withLock { $0 })
  }

  /// Also if the body is truncated; not for a page that was closed.
  @Test(arguments: [false, true]) func redirectsAreFollowedHoweverTheirBodyEnds(isGone: Bool) async {
    let server = SocketServer { request in
      guard request.path == "/start" else { return .answer(body: [7]) }
      let head = "HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 9\r\n\r\nmoved"
      return [.send(Array(head.utf8)), .close]
    }
    let asked = Locked(0)
    let request = NetworkRequest(
      "\(server.url)/start",
      isCancelled: {
        isGone
          && asked.withLock { count in
            count += 1
            return count > 1
          }
      })
    let got = await Collected.fetch(request, by: PageFetcher(CurlPageTransport(), cookies: FakeCookies([])))
    if isGone { #expect(got.error?.kind == .stopped) } else { #expect(got.error == nil && got.body == [7]) }
  }

  /// Whether connections are multiplexed is recorded per server.
  @Test func multiplexingIsRecordedPerServer() async {
    let told = Locked<[Bool]>([])
    let transport = Redirecting()
    let fetcher = PageFetcher(transport, cookies: FakeCookies([]), connections: 1)
    var request = NetworkRequest("https://one.test/start")
    request.multiplexed = { value in told.withLock { $0.append(value) } }
    let got = await Collected.fetch(request, by: fetcher)
    #expect(got.head?.status == 200 && told.withLock { $0 } == [false, true])
    #expect(!fetcher.gate.isMultiplexed("https://one.test") && fetcher.gate.isMultiplexed("https://two.test"))
  }

  private struct Redirecting: PageTransport {
    func send(
      _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
    ) throws(TransportError) {
      let isFirst = request.url.hasPrefix("https://one.test")
      request.multiplexed(!isFirst)
      let location: HTTPFields = isFirst ? [("Location", "https://two.test/end")] : []
      _ = begin(NetworkHead(status: isFirst ? 302 : 200, headers: location, url: request.url))
    }
  }

  /// -1 is the error of `InputStream.read`.
  @Test(arguments: [false, true]) func unreadableBodiesAreFailures(overStreams: Bool) async {
    let server = SocketServer { _ in .answer() }
    let transport: any PageTransport =
      overStreams ? StreamPageTransport(LinuxProxyNetwork()) : CurlPageTransport()
    let body = NetworkRequest.Body.stream(length: 100_000) { _, _ in -1 }
    let got = await Collected.fetch(
      NetworkRequest(server.url, method: "POST", body: body),
      by: PageFetcher(transport, cookies: FakeCookies([])))
    #expect(got.error?.kind == .other)
  }

  /// Pages get it as `statusText`.
  @Test(arguments: [("200 Own reason", "Own reason"), ("200 ", ""), ("200", nil)], [false, true])
  func reasonPhrasesArePassedOn(_ told: (line: String, reason: String?), overStreams: Bool) async {
    let server = SocketServer { _ in
      [.send(Array("HTTP/1.1 \(told.line)\r\nContent-Length: 0\r\n\r\n".utf8))]
    }
    let transport: any PageTransport =
      overStreams ? StreamPageTransport(LinuxProxyNetwork()) : CurlPageTransport()
    let fetcher = PageFetcher(transport, cookies: FakeCookies([]))
    let got = await Collected.fetch(NetworkRequest(server.url), by: fetcher)
    #expect(got.error == nil && got.head?.status == 200 && got.head?.reason == told.reason)
  }

  /// Invalid field lines are ignored, as in engines. libcurl refuses them, so its transport uses the other one from
  /// then on.
  @Test(arguments: [false, true]) func headersWithoutAColonAreIgnored(overStreams: Bool) async {
    let asked = Locked<[String]>([])
    let server = SocketServer { request in
      asked.withLock { $0.append(request.method) }
      return [
        .send(Array("HTTP/1.1 200 OK\r\nX: 1\r\nno header\r\nContent-Length: 2\r\n\r\nhi".utf8)), .close,
      ]
    }
    let fetcher = PageFetcher(
      overStreams ? StreamPageTransport(LinuxProxyNetwork()) : CurlPageTransport(), cookies: FakeCookies([]))
    for method in ["GET", "POST"] {
      let body: NetworkRequest.Body = method == "GET" ? .none : .bytes([1])
      let got = await Collected.fetch(NetworkRequest(server.url, method: method, body: body), by: fetcher)
      #expect(
        got.error == nil && got.body == Array("hi".utf8) && got.head?.headers.values("x") == ["1"], "\(got)")
    }
    #expect(asked.withLock { $0 } == (overStreams ? ["GET", "POST"] : ["GET", "GET", "POST"]))
  }

  /// A request that may have been processed isn't sent again because of it.
  @Test func postsWithUnreadableAnswersAreSentOnce() async {
    let asked = Locked<[String]>([])
    let server = SocketServer { request in
      asked.withLock { $0.append(request.method) }
      return [.send(Array("HTTP/1.1 200 OK\r\nno header\r\nContent-Length: 2\r\n\r\nhi".utf8)), .close]
    }
    let fetcher = PageFetcher(CurlPageTransport(), cookies: FakeCookies([]))
    let post = NetworkRequest(server.url, method: "POST", body: .bytes([1]))
    #expect(await Collected.fetch(post, by: fetcher).error?.kind == .other)
    #expect(await Collected.fetch(post, by: fetcher).body == Array("hi".utf8))
    #expect(asked.withLock { $0 } == ["POST", "POST"])
  }

  /// Browsers send control characters, except those that end a line.
  @Test(arguments: [false, true]) func controlCharactersAreSent(overStreams: Bool) async throws {
    let asked = Locked<[[String: String]]>([])
    let server = SocketServer { request in
      asked.withLock { $0.append(request.fields) }
      return .answer()
    }
    let fetcher = PageFetcher(
      overStreams ? StreamPageTransport(LinuxProxyNetwork()) : CurlPageTransport(), cookies: FakeCookies([]))
    let odd = "a\u{1}b\u{B}c\u{1F}d\u{7F}\t\u{E9}e"
    let got = await Collected.fetch(NetworkRequest(server.url, headers: [("X-Own", odd)]), by: fetcher)
    #expect(got.error == nil && asked.withLock { $0.map { $0["x-own"] } } == [odd])
    for bad in ["a\rb", "a\nb", "a\r\nHost: other", "a\0b"] {
      let got = await Collected.fetch(NetworkRequest(server.url, headers: [("X-Own", bad)]), by: fetcher)
      #expect(got.error != nil)
    }
    #expect(asked.withLock { $0.count } == 1)
  }

  /// Old servers fold headers and use other encodings: cookies are sent back unchanged.
  @Test(arguments: [false, true]) func headerBytesAreUnchanged(overStreams: Bool) async {
    let asked = Locked<[[String: String]]>([])
    let server = SocketServer { request in
      asked.withLock { $0.append(request.fields) }
      let head = Array("HTTP/1.1 200 OK\r\nX: a;\r\n\tb c:\r\n d\r\nSet-Cookie: n=\u{E9}".utf8)
      return [.send(head + [0xCB, 0xD1] + Array("\r\nContent-Length: 2\r\n\r\nhi".utf8))]
    }
    let fetcher = PageFetcher(
      overStreams ? StreamPageTransport(LinuxProxyNetwork()) : CurlPageTransport(), cookies: FakeCookies([]))
    let headers: HTTPFields = [("X-Own", "\u{E9}" + HeaderText.text([0xCB])), ("X-Empty", "")]
    let got = await Collected.fetch(NetworkRequest(server.url, headers: headers), by: fetcher)
    #expect(got.error == nil && got.head?.headers.values("x") == ["a; b c: d"])
    let cookie = got.head?.headers.values("set-cookie").first.map { HeaderText.bytes($0) }
    #expect(cookie == Array("n=\u{E9}".utf8) + [0xCB, 0xD1])
    // The server decodes UTF-8, and shows invalid bytes as U+FFFD.
    let first = asked.withLock { $0.first }
    #expect(first?["x-own"] == "\u{E9}\u{FFFD}" && first?["x-empty"] == "")
  }

  /// Also longer than the limit of resources.
  @Test(arguments: [false, true]) func urlsMayBeLong(overStreams: Bool) async {
    let server = SocketServer { .answer(body: $0.path.utf8) }
    let path = "/a/?b=" + String(repeating: "c%20", count: 10_000)
    let fetcher = PageFetcher(
      overStreams ? StreamPageTransport(LinuxProxyNetwork()) : CurlPageTransport(), cookies: FakeCookies([]))
    let got = await Collected.fetch(NetworkRequest("\(server.url)\(path)#d"), by: fetcher)
    #expect(got.error == nil && got.body == Array(path.utf8))
  }

  /// A request that is sent as soon as the head arrived has its cookies.
  @Test func cookiesAreStoredBeforeTheHeadIsDelivered() async throws {
    let server = SocketServer { _ in .answer(200, [("Set-Cookie", "a=1")], body: [7]) }
    let cookies = FakeCookies([])
    let taken = Locked<[String]>([])
    try await PageFetcher(CurlPageTransport(), cookies: cookies).fetch(NetworkRequest(server.url)) { _ in
      taken.withLock { $0 = cookies.taken }
      return true
    } receive: { _ in
      true
    }
    #expect(taken.withLock { $0 } == ["a=1"] && cookies.taken == ["a=1"])
  }

  @Test func redirectsAreLimited() async {
    let server = SocketServer { _ in .answer(302, [("Location", "/")]) }
    let got = await Collected.fetch(
      NetworkRequest(server.url), by: PageFetcher(CurlPageTransport(), cookies: FakeCookies([])))
    #expect(got.error?.reason.contains("more than 20 redirects") == true)
  }

  /// Events are delivered as they arrive, not when the stream ends.
  @Test func eventStreamsArrivePieceByPiece() async throws {
    let server = SocketServer { _ in
      [
        .send(Array("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n".utf8)),
        .sleep(milliseconds: 300), .send(Array("data: 2\n\n".utf8)), .close,
      ]
    }
    let pieces = Locked<[String]>([])
    let fetcher = PageFetcher(CurlPageTransport(), cookies: FakeCookies([]))
    try await fetcher.fetch(NetworkRequest(server.url)) { head in
      pieces.withLock { $0.append("\(head.status)") }
      return true
    } receive: { bytes in
      pieces.withLock { $0.append(String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)) }
      return true
    }
    #expect(pieces.withLock { $0 } == ["200", "data: 1\n\n", "data: 2\n\n"])
  }

  @Test func requestsEndWithTheirTask() async {
    let (asked, isOver) = (Monitor(false), Monitor(false))
    defer { isOver.broadcasting { $0 = true } }
    let server = SocketServer { _ in
      asked.broadcasting { $0 = true }
      return [.run { isOver.waiting { $0 ? () : nil } }, .close]
    }
    let fetcher = PageFetcher(CurlPageTransport(), cookies: FakeCookies([]))
    let task = Task { await Collected.fetch(NetworkRequest(server.url), by: fetcher).error?.kind }
    while asked.withLock({ !$0 }) { try? await Task.sleep(for: .milliseconds(2)) }
    task.cancel()
    #expect(await task.value == .stopped)
  }

  /// A request in the queue.
  @Test func waitingRequestsEndWithTheirTask() async {
    let barrier = Barrier()
    let transport = FakePageTransport { _ in barrier.wait() }
    let fetcher = PageFetcher(transport, cookies: FakeCookies([]), connections: 1)
    let first = Task { await Collected.fetch(NetworkRequest("https://m.test/1"), by: fetcher).error?.kind }
    await barrier.reached()
    let second = Task { await Collected.fetch(NetworkRequest("https://m.test/2"), by: fetcher).error?.kind }
    let early = Task { await Collected.fetch(NetworkRequest("https://m.test/3"), by: fetcher).error?.kind }
    early.cancel()
    #expect(await early.value == .stopped)
    second.cancel()
    #expect(await second.value == .stopped)
    barrier.open()
    #expect(await first.value == nil)
    // Cancelled requests were not sent.
    #expect(await Collected.fetch(NetworkRequest("https://m.test/4"), by: fetcher).error == nil)
    #expect(transport.sent.map(\.url) == ["https://m.test/1", "https://m.test/4"])
  }

  /// A request whose page is closed while it is in the queue.
  @Test func cancelledRequestsAreNotSent() async {
    let barrier = Barrier()
    let transport = FakePageTransport { _ in barrier.wait() }
    let fetcher = PageFetcher(transport, cookies: FakeCookies([]), connections: 1)
    let first = Task { await Collected.fetch(NetworkRequest("https://m.test/1"), by: fetcher).error?.kind }
    await barrier.reached()
    let isGone = Locked(false)
    let request = NetworkRequest("https://m.test/2", isCancelled: { isGone.withLock { $0 } })
    let second = Task { await Collected.fetch(request, by: fetcher).error?.kind }
    while fetcher.gate.waiting == 0 { try? await Task.sleep(for: .milliseconds(2)) }
    isGone.withLock { $0 = true }
    barrier.open()
    #expect(await second.value == .stopped)
    #expect(await first.value == nil)
    #expect(await Collected.fetch(NetworkRequest("https://m.test/3"), by: fetcher).error == nil)
    #expect(transport.sent.map(\.url) == ["https://m.test/1", "https://m.test/3"])
  }

  /// A body that may not be spooled to disk is limited in memory while its reader is slow.
  @Test func unspooledBodiesAreLimited() async {
    let server = SocketServer { _ in .answer(body: [UInt8](repeating: 1, count: 16 << 20)) }
    var request = NetworkRequest(server.url)
    request.memoryLimit = 1 << 20
    let sent = request
    let hasWaited = Locked(false)
    let fetcher = PageFetcher(CurlPageTransport(), cookies: FakeCookies([]))
    let error = await #expect(throws: TransportError.self) {
      try await fetcher.fetch(sent) { _ in
        true
      } receive: { _ in
        let isFirst = hasWaited.withLock { hasWaited in
          defer { hasWaited = true }
          return !hasWaited
        }
        if isFirst { Clock.sleep(for: .seconds(3)) }
        return true
      }
    }
    #expect(error?.kind == .tooLong)
  }

  @Test func sixRequestsAtATimePerServer() async {
    let running = Locked<(now: Int, peak: Int)>((0, 0))
    let transport = FakePageTransport { _ in
      running.withLock { $0 = ($0.now + 1, max($0.peak, $0.now + 1)) }
      Clock.sleep(for: .milliseconds(3))
      running.withLock { $0.now -= 1 }
    }
    let fetcher = PageFetcher(transport, cookies: FakeCookies([]))
    await withTaskGroup { group in
      for number in 0..<60 {
        group.addTask { _ = await Collected.fetch(NetworkRequest("https://m.test/\(number)"), by: fetcher) }
      }
    }
    #expect(running.withLock { $0.peak } <= 6 && running.withLock { $0.now } == 0)
  }
}

extension [SocketServer.Step] {
  /// Only the head, for HEAD.
  fileprivate func withoutBody(where isHead: Bool) -> Self {
    guard isHead, case .send(let bytes)? = first else { return self }
    let text = String(decoding: bytes, as: UTF8.self)
    guard let end = text.firstRange(of: "\r\n\r\n") else { return self }
    return [.send([UInt8](text[..<end.upperBound].utf8))]
  }
}
