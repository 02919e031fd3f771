import Foundation
import FoundationNetworking
import SocketServer
import System
import Testing
import TestSupport
import XCacheDevice
import XCacheRuntime

@testable import XCacheFoundation

/// Real sessions with the protocol, over real sockets. Serialized, since only one runtime answers at a time.
@Suite(.serialized) struct URLProtocolTests {
  /// Records the requests, and answers them.
  private final class Site: Sendable {
    let seen = Locked<[SocketServer.Request]>([])
    let server: SocketServer

    init(_ answer: @escaping SocketServer.Handler = { .answer(body: "network responses: \($0.path)".utf8) }) {
      server = SocketServer { [seen] request in
        seen.withLock { $0.append(request) }
        return answer(request)
      }
    }

    func request(_ path: String, _ method: String = "GET") throws -> URLRequest {
      var request = URLRequest(url: try #require(URL(string: server.url + path)))
      request.httpMethod = method
      request.timeoutInterval = 60
      return request
    }

    var paths: [String] { seen.withLock { $0.map(\.path) } }
  }

  /// Runs `body` with a session that uses the protocol; afterwards everything has been released.
  private func with(
    _ site: Site, files: [String: [UInt8]] = [:], takes: XCacheURLProtocol.Requests = .ofHosts,
    delegate: RecordingDelegate? = nil, progress: (@Sendable (URLSessionTask, Int64, Int64) -> Void)? = nil,
    config: String? = nil, fetcher: PageFetcher? = nil, opening page: String? = nil,
    _ body: (URLSession) async throws -> Void
  ) async throws {
    let urls = files.map { (site.server.url + $0.key, $0.value) }
    var shop: Shop? = try await Shop(
      Dictionary(uniqueKeysWithValues: urls), config: config, fetcher: fetcher)
    if let page, let runtime = shop?.runtime {
      await runtime.prefetch(for: runtime.open(page), PageContext(userAgent: "Engine/1"))
    }
    weak let runtime = shop?.runtime
    if let shop {
      let network = URLSessionConfiguration.ephemeral
      network.httpCookieStorage = HTTPCookieStorage.shared
      XCacheURLProtocol.start(shop.runtime, takes: takes, network: network, progress: progress)
    }
    weak let service = LoadingService.current.withLock { $0 }
    weak let relay = service?.relay
    let configuration = URLSessionConfiguration.ephemeral
    XCacheURLProtocol.add(to: configuration)
    var session: URLSession? = URLSession(
      configuration: configuration, delegate: delegate, delegateQueue: nil)
    if let session { try await body(session) }
    session?.finishTasksAndInvalidate()
    session = nil
    XCacheURLProtocol.stop()
    await shop?.runtime.close()
    shop = nil
    // Work under way ends after the last answer.
    for _ in 0..<2_000 where runtime != nil || service != nil || relay != nil {
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(runtime == nil && service == nil && relay == nil)
  }

  static let small = Array("const a = 1;".utf8)
  static let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 251) }

  @Test(arguments: [XCacheURLProtocol.Requests.listed, .ofHosts])
  func listedFilesComeFromTheDevice(takes: XCacheURLProtocol.Requests) async throws {
    let site = Site()
    let files = ["/a.js": Self.small, "/large.bin": Self.large]
    try await with(site, files: files, takes: takes) { session in
      for (path, bytes) in files {
        let loaded = try await session.load(site.request(path))
        #expect(loaded.status == 200 && loaded.body == bytes && loaded.code == nil)
        #expect(loaded.headers["content-type"] == "text/plain;charset=UTF-8")
      }
      var part = try site.request("/large.bin")
      part.setValue("bytes=5-9", forHTTPHeaderField: "Range")
      let loaded = await session.load(part)
      #expect(loaded.status == 206 && loaded.body == Array(Self.large[5...9]))
      let head = try await session.load(site.request("/a.js", "HEAD"))
      #expect(head.status == 200 && head.headers["content-length"] == "12" && head.body == [])
      #expect(site.paths == [])
      // Not from the device: another method, another URL.
      #expect(
        try await session.load(site.request("/a.js", "POST")).body == Array("network responses: /a.js".utf8))
      #expect(try await session.load(site.request("/b.js")).body == Array("network responses: /b.js".utf8))
      #expect(site.paths == ["/a.js", "/b.js"])
    }
  }

  /// Prefetched calls also answer the app's own sessions: each once, and only an equal request.
  @Test(arguments: [XCacheURLProtocol.Requests.listed, .ofHosts])
  func prefetchedAnswersAreUsed(takes: XCacheURLProtocol.Requests) async throws {
    let site = Site()
    let transport = AheadTransport()
    let base = site.server.url
    let config = """
      [{"url":"\(base)/index.html","interfaces":[
        {"api":"\(base)/api/list","method":"GET"}, {"api":"\(base)/api/other","method":"GET"},
        {"api":"\(base)/api/one","method":"POST","body":{"a":1,"b":[2]}}]}]
      """
    let fetcher = PageFetcher(transport, cookies: NoCookies(header: nil))
    try await with(
      site, files: ["/index.html": Self.small], takes: takes, config: config, fetcher: fetcher,
      opening: "\(base)/index.html"
    ) { session in
      let first = try await session.load(site.request("/api/list"))
      #expect(
        first.status == 200 && first.body == Array("ahead of \(base)/api/list".utf8) && first.code == nil)
      #expect(first.headers["x-ahead"] == "1" && site.paths == [])
      // It was used up.
      #expect(
        try await session.load(site.request("/api/list")).body == Array("network responses: /api/list".utf8))
      var other = try site.request("/api/other")
      other.setValue("Bearer x", forHTTPHeaderField: "Authorization")
      #expect(await session.load(other).body == Array("network responses: /api/other".utf8))
      other = try site.request("/api/other")
      other.setValue("a=1", forHTTPHeaderField: "Cookie")
      #expect(await session.load(other).body == Array("network responses: /api/other".utf8))
      // JSON bodies are compared by value.
      var post = try site.request("/api/one", "POST")
      post.setValue("application/json", forHTTPHeaderField: "Content-Type")
      post.httpBody = Data(#"{"a":2}"#.utf8)
      #expect(await session.load(post).body == Array("network responses: /api/one".utf8))
      post.httpBody = Data(#"{ "b":[2], "a":1 }"#.utf8)
      #expect(await session.load(post).body == Array("ahead of \(base)/api/one".utf8))
      #expect(site.paths == ["/api/list", "/api/other", "/api/other", "/api/one"])
    }
    #expect(transport.sent.withLock { $0.count } == 3)
  }

  /// Of several concurrent requests during the call, one gets its answer.
  @Test func prefetchedAnswersAreUsedOnce() async throws {
    let site = Site()
    let transport = AheadTransport()
    transport.goes.withLock { $0 = false }
    let base = site.server.url
    let config = #"[{"url":"\#(base)/index.html","interfaces":[{"api":"\#(base)/api/list","method":"GET"}]}]"#
    try await with(
      site, takes: .ofHosts, config: config,
      fetcher: PageFetcher(transport, cookies: NoCookies(header: nil)), opening: "\(base)/index.html"
    ) { session in
      let request = try site.request("/api/list")
      let tasks = (0..<5).map { _ in Task { await session.load(request).body } }
      while site.paths.count < 4 { try await Task.sleep(for: .milliseconds(2)) }
      transport.goes.broadcasting { $0 = true }
      var bodies: [[UInt8]] = []
      for task in tasks { bodies.append(await task.value) }
      #expect(bodies.count { $0 == Array("ahead of \(base)/api/list".utf8) } == 1)
      #expect(bodies.count { $0 == Array("network responses: /api/list".utf8) } == 4 && site.paths.count == 4)
    }
  }

  @Test func delegatesGetPieces() async throws {
    let site = Site()
    let delegate = RecordingDelegate()
    try await with(site, files: ["/large.bin": Self.large], delegate: delegate) { session in
      session.dataTask(with: try site.request("/large.bin")).resume()
      #expect(delegate.finish() == nil && delegate.body == Self.large)
      #expect(delegate.state.withLock { $0.pieces.count } > 4)
      #expect(delegate.state.withLock { $0.response?.statusCode } == 200)
      // A task with a completion handler gets everything at once, whatever the session's delegate.
      #expect(try await session.load(site.request("/large.bin")).body == Self.large)
    }
    #expect(site.paths == [])
  }

  /// The protocol is registered for all sessions, including its own: forwarded requests aren't taken again.
  @Test func forwardedRequestsAreNotTakenAgain() async throws {
    let site = Site()
    #expect(URLProtocol.registerClass(XCacheURLProtocol.self))
    defer { URLProtocol.unregisterClass(XCacheURLProtocol.self) }
    try await with(site) { session in
      let (a, b) = (try site.request("/a"), try site.request("/b"))
      #expect(await session.load(a).status == 200)
      #expect(await URLSession.shared.load(b).status == 200)
    }
    #expect(site.paths == ["/a", "/b"])
  }

  @Test func requestBodiesAreForwarded() async throws {
    let site = Site { .answer(201, body: "\($0.method) \($0.body.count)".utf8) }
    let data = Data(Self.large)
    let scratch = try Scratch()
    let file = URL(fileURLWithPath: "\(scratch.path)/body")
    try data.write(to: file)
    let delegate = RecordingDelegate { InputStream(data: data) }
    let sent = Locked<[Int64]>([])
    let progress: @Sendable (URLSessionTask, Int64, Int64) -> Void = { _, count, total in
      sent.withLock { if total == Int64(data.count) { $0.append(count) } }
    }
    try await with(site, delegate: delegate, progress: progress) { session in
      var request = try site.request("/data", "POST")
      request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
      request.httpBody = data
      #expect(await session.load(request).body == Array("POST 3000000".utf8))
      request = try site.request("/upload", "PUT")
      #expect(await session.send(request, data).body == Array("PUT 3000000".utf8))
      request = try site.request("/file", "PUT")
      #expect(await session.send(request, file).body == Array("PUT 3000000".utf8))
      request = try site.request("/stream", "POST")
      request.httpBodyStream = InputStream(data: data)
      #expect(await session.load(request).body == Array("POST 3000000".utf8))
      request = try site.request("/asked", "POST")
      session.uploadTask(withStreamedRequest: request).resume()
      #expect(delegate.finish() == nil && delegate.body == Array("POST 3000000".utf8))
    }
    let bodies = site.seen.withLock { $0.map(\.body) }
    #expect(bodies.count == 5)
    for (body, path) in zip(bodies, site.paths) { #expect(body == Self.large, "\(path)") }
    // Progress is reported up to the last byte.
    #expect(sent.withLock { $0.max() } == 3_000_000 && sent.withLock { $0.count } > 5)
  }

  @Test(arguments: [301, 302, 303, 307, 308], ["GET", "POST", "PUT"])
  func redirectsAreFollowed(status: Int, method: String) async throws {
    let site = Site { request in
      request.path == "/start"
        ? .answer(status, [("Location", "end?x=1"), ("Set-Cookie", "step=1; Path=/")], body: "moved".utf8)
        : .answer(body: "\(request.method) \(request.body.count)".utf8)
    }
    try await with(site) { session in
      var request = try site.request("/start", method)
      if method != "GET" { request.httpBody = Data("body".utf8) }
      request.setValue("mine", forHTTPHeaderField: "X-Own")
      let loaded = await session.load(request)
      let keeps = status >= 307 || (method != "POST" && status != 303) || method == "GET"
      let expected = keeps ? "\(method) \(method == "GET" ? 0 : 4)" : "GET 0"
      #expect(loaded.status == 200 && loaded.body == Array(expected.utf8))
    }
    #expect(site.paths == ["/start", "/end?x=1"])
    let last = try #require(site.seen.withLock { $0.last })
    #expect(last.fields["x-own"] == "mine" && last.fields["cookie"] == "step=1")
  }

  /// Cookies set on a request are for its host. Foundation may replace them by those that it knows.
  @Test func cookiesOfARequestStayWithItsHost() async throws {
    let site = Site { request in
      let place = "http://localhost:\(request.fields["host"]?.split(separator: ":").last ?? "")/end"
      return request.path == "/start" ? .answer(307, [("Location", place)]) : .answer(body: [1])
    }
    try await with(site) { session in
      var request = try site.request("/start")
      request.setValue("own=1", forHTTPHeaderField: "Cookie")
      #expect(await session.load(request).body == [1])
    }
    let cookies = site.seen.withLock { $0.map { $0.fields["cookie"] ?? "" } }
    #expect(cookies.count == 2 && cookies.first != "" && cookies.last == "", "\(cookies)")
  }

  @Test func redirectsAreLimited() async throws {
    let site = Site { request in
      switch request.path {
      case "/nowhere": .answer(302, [], body: "nowhere".utf8)
      case "/stream": .answer(307, [("Location", "/end")])
      default: .answer(302, [("Location", "/loop")])
      }
    }
    try await with(site) { session in
      #expect(try await session.load(site.request("/loop")).code == .httpTooManyRedirects)
      let nowhere = try await session.load(site.request("/nowhere"))
      // Foundation drops the body of such an answer.
      #expect(nowhere.status == 302 && nowhere.code == nil)
      var request = try site.request("/stream", "POST")
      request.httpBodyStream = InputStream(data: Data([1, 2, 3]))
      #expect(await session.load(request).code == .requestBodyStreamExhausted)
    }
    #expect(site.paths.filter { $0 == "/loop" }.count == 21)
  }

  @Test func failuresReachTheClient() async throws {
    let site = Site { request in
      switch request.path {
      case "/cut": [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".utf8)), .close]
      case "/401": .answer(401, [], body: "who".utf8)
      default: .answer(503, [], body: "later".utf8)
      }
    }
    try await with(site) { session in
      #expect(try await session.load(site.request("/cut")).code != nil)
      let busy = try await session.load(site.request("/503"))
      #expect(busy.status == 503 && busy.body == Array("later".utf8))
      let unknown = try await session.load(site.request("/401"))
      #expect(unknown.status == 401 && unknown.body == Array("who".utf8))
      let nobody = URLRequest(url: try #require(URL(string: "http://127.0.0.1:1/")))
      #expect(await session.load(nobody).code == .cannotConnectToHost)
    }
  }

  /// Foundation asks the client for credentials, and repeats the request.
  @Test func challengesReachTheClient() async throws {
    let site = Site { request in
      request.fields["authorization"] == "Basic YTpi"
        ? .answer(body: "welcome".utf8) : .answer(401, [("WWW-Authenticate", "Basic realm=\"a\"")])
    }
    let delegate = RecordingDelegate()
    try await with(site, delegate: delegate) { session in
      session.dataTask(with: try site.request("/")).resume()
      #expect(delegate.finish() == nil && delegate.state.withLock { $0.response?.statusCode } == 200)
    }
    #expect(site.paths.count == 2)
  }

  /// Pieces arrive as they are sent, and cancelling the task ends its connection.
  @Test func streamsAndCancellation() async throws {
    let site = Site { _ in
      [
        .send(Array("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n".utf8)),
        .sleep(milliseconds: 60_000), .close,
      ]
    }
    let delegate = RecordingDelegate()
    try await with(site, delegate: delegate) { session in
      let task = session.dataTask(with: try site.request("/events"))
      task.resume()
      delegate.state.waiting { $0.pieces.isEmpty ? nil : () }
      #expect(delegate.body == Array("data: 1\n\n".utf8))
      task.cancel()
      #expect(delegate.finish() == .cancelled)
    }
  }

  /// What a suspended task doesn't get, it gets when resumed, once.
  @Test func suspendedTasksLoseNothing() async throws {
    let site = Site()
    let delegate = RecordingDelegate()
    try await with(site, files: ["/large.bin": Self.large], delegate: delegate) { session in
      let task = session.dataTask(with: try site.request("/large.bin"))
      task.resume()
      for _ in 0..<5 {
        task.suspend()
        try await Task.sleep(for: .milliseconds(2))
        task.resume()
      }
      #expect(delegate.finish() == nil && delegate.body == Self.large)
    }
  }

  /// They would crash in Foundation, since a protocol can't give it a file.
  @Test func downloadTasksAreRefused() async throws {
    let site = Site()
    try await with(site, files: ["/a.js": Self.small], takes: .listed) { session in
      let code = await withCheckedContinuation { continuation in
        guard let request = try? site.request("/a.js") else { return }
        session.downloadTask(with: request) { continuation.resume(returning: Loaded(nil, $1, $2).code) }
          .resume()
      }
      #expect(code == .unsupportedURL)
      let text = await withCheckedContinuation { continuation in
        guard let request = try? site.request("/b.js") else { return }
        session.downloadTask(with: request) { url, _, _ in
          continuation.resume(returning: url.flatMap { try? String(contentsOf: $0, encoding: .utf8) })
        }.resume()
      }
      #expect(text == "network responses: /b.js")
    }
  }

  @Test func stoppedProtocolsTakeNothing() async throws {
    let site = Site()
    let configuration = URLSessionConfiguration.ephemeral
    try await with(site, files: ["/a.js": Self.small]) { _ in
      XCacheURLProtocol.add(to: configuration)
      XCacheURLProtocol.add(to: configuration)
      #expect(configuration.protocolClasses?.filter { $0 == XCacheURLProtocol.self }.count == 1)
    }
    let session = URLSession(configuration: configuration)
    #expect(try await session.load(site.request("/a.js")).body == Array("network responses: /a.js".utf8))
    session.finishTasksAndInvalidate()
  }
}
