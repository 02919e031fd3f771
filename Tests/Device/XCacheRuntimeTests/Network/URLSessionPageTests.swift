import DeviceTestSupport
import SocketServer
import System
import Testing
import TestSupport
import XCacheDevice

@testable import DeviceApple
@testable import XCacheRuntime

/// The transport for pages on Apple's systems, with Foundation on Linux and over real sockets.
@Suite(.unhurried) struct URLSessionPageTests {
  @Test(arguments: ExchangeTests.asks) func requestsAndAnswersArrive(_ ask: ExchangeTests.Ask) async throws {
    let seen = Locked<[SocketServer.Request]>([])
    let server = SocketServer { request in
      seen.withLock { $0.append(request) }
      let cookies = [("Set-Cookie", "a=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT"), ("Set-Cookie", "b=2")]
      return .answer(
        201, cookies + [("X-Server", "1")], body: request.method == "HEAD" ? [] : Array("here".utf8))
    }
    let cookies = FakeCookies(["session=7"])
    let fetcher = PageFetcher(URLSessionPageTransport(), cookies: cookies)
    let got = await Collected.fetch(ask.request("\(server.url)/start"), by: fetcher)
    #expect(got.error == nil && got.head?.status == 201 && got.head?.headers.values("x-server") == ["1"])
    #expect(got.body == (ask.method == "HEAD" ? [] : Array("here".utf8)))
    #expect(cookies.taken == ["a=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT", "b=2"])
    let request = try #require(seen.withLock { $0.first })
    #expect(request.method == ask.method && request.body == ask.body ?? [])
    for header in ask.headers { #expect(request.fields[header.name.lowercased()] == header.value) }
    #expect(request.fields["cookie"] == "session=7")
  }

  @Test(arguments: [301, 302, 303, 307, 308]) func redirectsAreFollowedByTheFetcher(status: Int) async throws
  {
    let seen = Locked<[SocketServer.Request]>([])
    let server = SocketServer { request in
      seen.withLock { $0.append(request) }
      return request.path == "/start"
        ? .answer(status, [("Location", "/end"), ("Set-Cookie", "step=1")]) : .answer(body: "end".utf8)
    }
    let post = NetworkRequest("\(server.url)/start", method: "POST", body: .bytes([1, 2, 3]))
    let fetcher = PageFetcher(URLSessionPageTransport(), cookies: FakeCookies([]))
    let got = await Collected.fetch(post, by: fetcher)
    #expect(got.head?.status == 200 && got.body == Array("end".utf8))
    let last = try #require(seen.withLock { $0.last })
    #expect(last.method == (status < 307 ? "GET" : "POST") && last.body == (status < 307 ? [] : [1, 2, 3]))
    #expect(last.fields["cookie"] == "step=1")
    let back = await Collected.fetch(post, by: fetcher, redirects: .giveBack)
    #expect(back.head?.status == status && back.head?.headers.values("location") == ["/end"])
  }

  /// Running requests continue.
  @Test func networkChangesCloseConnections() async throws {
    let state = Monitor<(isAsked: Bool, isOpen: Bool)>((false, false))
    let server = SocketServer { request in
      guard request.path == "/slow" else { return .answer(body: request.path.utf8) }
      state.broadcasting { $0.isAsked = true }
      _ = state.waiting(for: .seconds(60)) { $0.isOpen ? () : nil }
      return .answer(body: request.path.utf8)
    }
    let transport = URLSessionPageTransport()
    let fetcher = PageFetcher(transport, cookies: FakeCookies([]))
    let get = { @Sendable (path: String) in
      await Collected.fetch(NetworkRequest(server.url + path), by: fetcher).body
    }
    for number in 0..<3 { #expect(await get("/\(number)") == Array("/\(number)".utf8)) }
    #expect(server.connections == 1)
    let slow = Task { await get("/slow") }
    while !state.withLock({ $0.isAsked }) { try await Task.sleep(for: .milliseconds(2)) }
    transport.networkChanged()
    for number in 0..<3 { #expect(await get("/\(number)") == Array("/\(number)".utf8)) }
    #expect(server.connections == 2)
    state.broadcasting { $0.isOpen = true }
    #expect(await slow.value == Array("/slow".utf8))
  }

  @Test func truncatedAnswersAreErrors() async {
    let server = SocketServer { _ in
      [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".utf8)), .close]
    }
    let fetcher = PageFetcher(URLSessionPageTransport(), cookies: FakeCookies([]))
    #expect(await Collected.fetch(NetworkRequest(server.url), by: fetcher).error != nil)
  }

  @Test func requestsEndWithTheirTask() async {
    let (asked, isOver) = (Monitor(false), Monitor(false))
    defer { isOver.broadcasting { $0 = true } }
    let server = SocketServer { _ in
      asked.broadcasting { $0 = true }
      return [.run { isOver.waiting { $0 ? () : nil } }, .close]
    }
    let fetcher = PageFetcher(URLSessionPageTransport(), cookies: FakeCookies([]))
    let task = Task { await Collected.fetch(NetworkRequest(server.url), by: fetcher).error?.kind }
    while asked.withLock({ !$0 }) { try? await Task.sleep(for: .milliseconds(2)) }
    task.cancel()
    #expect(await task.value == .stopped)
  }

  @Test(arguments: [
    ("a=1", ["a=1"]), ("a=1, b=2", ["a=1", "b=2"]), ("a=1,b=2; Path=/", ["a=1", "b=2; Path=/"]),
    (
      "a=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT, b=x,y",
      ["a=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT", "b=x,y"]
    ),
    ("", [""]),
  ]) func joinedCookiesAreSplit(text: String, values: [String]) {
    #expect(SetCookie.split(text) == values)
  }
}
