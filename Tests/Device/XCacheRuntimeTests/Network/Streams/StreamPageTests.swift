import DeviceTestSupport
import SocketServer
import System
import Testing
import TestSupport
import XCacheDevice

@testable import DeviceLinux
@testable import XCacheRuntime

/// Requests of pages over our own HTTP/1.1 and real sockets; `ExchangeTests` tests their content.
@Suite(.unhurried) struct StreamPageTests {
  private func fetcher(_ transport: StreamPageTransport) -> PageFetcher {
    PageFetcher(transport, cookies: FakeCookies([]))
  }

  private func get(_ url: String, _ transport: StreamPageTransport) async -> Collected {
    await Collected.fetch(NetworkRequest(url), by: fetcher(transport))
  }

  @Test func connectionsAreReused() async {
    let server = SocketServer { .answer(body: $0.path.utf8) }
    let transport = StreamPageTransport(LinuxProxyNetwork())
    for number in 0..<5 {
      #expect(await get("\(server.url)/\(number)", transport).body == Array("/\(number)".utf8))
    }
    #expect(server.connections == 1)
    // Not after a change of the network.
    transport.networkChanged()
    #expect(await get(server.url, transport).error == nil && server.connections == 2)
  }

  /// The server closes each connection when its second request arrives.
  @Test func closedPersistentConnectionsAreReplaced() async {
    let counts = Locked<[Int: Int]>([:])
    let server = SocketServer { request in
      let count = counts.withLock { counts in
        counts[request.connection, default: 0] += 1
        return counts[request.connection] ?? 0
      }
      return count == 1 ? .answer(body: request.path.utf8) : [.close]
    }
    let transport = StreamPageTransport(LinuxProxyNetwork())
    for number in 0..<5 {
      let post = NetworkRequest("\(server.url)/\(number)", method: "POST", body: .bytes([1]))
      let got = await Collected.fetch(post, by: fetcher(transport))
      #expect(got.error == nil && got.body == Array("/\(number)".utf8))
    }
    #expect(server.connections == 5)
  }

  /// Unsolicited bytes from the server aren't read as the next answer.
  @Test func unsolicitedAnswersAreIgnored() async {
    let mayBeSaid = Monitor(false)
    let isSaid = Monitor(false)
    let server = SocketServer { request in
      guard request.path == "/first" else { return .answer(body: request.path.utf8) }
      return .answer(body: [1]) + [
        .run { _ = mayBeSaid.waiting(for: .seconds(60)) { $0 ? () : nil } },
        .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong".utf8)),
        .run { isSaid.broadcasting { $0 = true } },
      ]
    }
    let transport = StreamPageTransport(LinuxProxyNetwork())
    #expect(await get("\(server.url)/first", transport).body == [1])
    mayBeSaid.broadcasting { $0 = true }
    await MemoryStream.onOwnThread { isSaid.waiting { $0 ? () : nil } }
    // A busy system may need a moment to deliver it.
    try? await Task.sleep(for: .milliseconds(200))
    #expect(await get("\(server.url)/second", transport).body == Array("/second".utf8))
    #expect(server.connections == 2)
  }

  /// A request that may have been processed is sent at most twice, however many persistent connections were closed.
  @Test func requestsAreRepeatedOnce() async {
    let seen = Monitor<(begun: Int, posts: [Int])>((0, []))
    let server = SocketServer { request in
      if request.method == "GET" {
        seen.broadcasting { $0.begun += 1 }
        _ = seen.waiting(for: .seconds(30)) { $0.begun >= 4 ? () : nil }
        return .answer()
      }
      seen.broadcasting { $0.posts.append(request.connection) }
      return request.connection < 4 ? [.close] : .answer(body: request.body)
    }
    let transport = StreamPageTransport(LinuxProxyNetwork())
    let fetcher = fetcher(transport)
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask { _ = await Collected.fetch(NetworkRequest(server.url), by: fetcher) }
      }
    }
    #expect(server.connections == 4)
    let post = NetworkRequest(server.url, method: "POST", body: .bytes([1, 2]))
    let got = await Collected.fetch(post, by: fetcher)
    #expect(got.error == nil && got.body == [1, 2])
    let posts = seen.withLock { $0.posts }
    #expect(posts.count == 2 && posts.last == 4)
  }

  /// A connection that was made for the request isn't replaced.
  @Test func failuresOfNewConnectionsAreErrors() async {
    let server = SocketServer { _ in [.close] }
    let transport = StreamPageTransport(LinuxProxyNetwork())
    #expect(await get(server.url, transport).error?.kind == .broken && server.connections == 1)
  }

  @Test func truncatedAnswersAreErrors() async {
    let server = SocketServer { request in
      let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
      return request.path == "/first" ? .answer() : [.send(Array(head.utf8)), .close]
    }
    let transport = StreamPageTransport(LinuxProxyNetwork())
    #expect(await get("\(server.url)/first", transport).error == nil)
    let got = await get("\(server.url)/second", transport)
    #expect(got.error?.kind == .broken && got.body == Array("half".utf8) && server.connections == 1)
  }

  @Test func silentServersTimeOut() async {
    let goes = Monitor(false)
    defer { goes.broadcasting { $0 = true } }
    let server = SocketServer { _ in [.run { goes.waiting { $0 ? () : nil } }, .close] }
    let got = await get(server.url, StreamPageTransport(LinuxProxyNetwork(), stallSeconds: 1))
    #expect(got.error?.kind == .timedOut)
  }

  /// A request that stalls on a persistent connection may still be processed: it isn't repeated.
  @Test func stalledRequestsAreSentOnce() async {
    let goes = Monitor(false)
    defer { goes.broadcasting { $0 = true } }
    let stream = StreamPageTransport(LinuxProxyNetwork(), stallSeconds: 1)
    for transport in [stream, CurlPageTransport(stallSeconds: 1)] as [any PageTransport] {
      let stalls = Locked(0)
      let server = SocketServer { request in
        if request.path == "/first" { return .answer() }
        stalls.withLock { $0 += 1 }
        return [.run { goes.waiting { $0 ? () : nil } }, .close]
      }
      let fetcher = PageFetcher(transport, cookies: FakeCookies([]))
      #expect(await Collected.fetch(NetworkRequest("\(server.url)/first"), by: fetcher).error == nil)
      let got = await Collected.fetch(NetworkRequest("\(server.url)/second"), by: fetcher)
      #expect(got.error?.kind == .timedOut && stalls.withLock { $0 } == 1 && server.connections == 1)
    }
  }

  /// Long polls may take minutes, as without the proxy: as long as the proxy keeps an idle connection of the engine.
  @Test func timeoutsAllowLongPolls() {
    let seconds = ProxyConnection.idleMilliseconds / 1000
    #expect(CurlPageTransport().timeouts.stallSeconds == seconds)
    #expect(StreamPageTransport(LinuxProxyNetwork()).stallSeconds == seconds)
    #expect(MemoryStream.timeout == ProxyConnection.idleMilliseconds)
  }

  @Test func requestsEndWithTheirTask() async {
    let asked = Monitor(false)
    let goes = Monitor(false)
    defer { goes.broadcasting { $0 = true } }
    let server = SocketServer { _ in
      asked.broadcasting { $0 = true }
      goes.waiting { $0 ? () : nil }
      return [.close]
    }
    let transport = StreamPageTransport(LinuxProxyNetwork())
    let task = Task { await self.get(server.url, transport).error?.kind }
    while asked.withLock({ !$0 }) { try? await Task.sleep(for: .milliseconds(2)) }
    task.cancel()
    #expect(await task.value == .stopped)
  }

  /// A server may answer and close before the whole body was sent; its answer counts.
  @Test func earlyAnswersCount() async {
    struct Early: StreamNetwork {
      func connect(
        to host: String, port: Int, isSecure: Bool, isCancelled: () -> Bool
      ) throws(TransportError) -> any ProxyStream {
        let (here, there) = MemoryStream.pair()
        there.say("HTTP/1.1 413 Too Much\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
        there.close()
        return here
      }
    }
    let post = NetworkRequest(
      "http://m.test/", method: "POST", body: .bytes([UInt8](repeating: 1, count: 1 << 20)))
    let got = await Collected.fetch(post, by: fetcher(StreamPageTransport(Early())))
    #expect(got.head?.status == 413 && got.body == Array("big".utf8))
  }

  /// A connection whose other side reads a head and then nothing more, until `open` or `close`.
  private final class StuckStream: ProxyStream, StreamNetwork {
    private struct State {
      var writes = 0
      var isOpen = false
      var isClosed = false
      var hasTimedOut = false
    }

    private let inner: MemoryStream
    private let state = Monitor(State())

    init(says text: String = "") {
      let (here, there) = MemoryStream.pair()
      there.say(text)
      inner = here
    }

    /// Whether a write timed out because nothing was read.
    var hasTimedOut: Bool { state.withLock { $0.hasTimedOut } }
    func open() { state.broadcasting { $0.isOpen = true } }
    func waitForUpload() { state.waiting { $0.writes > 1 ? () : nil } }

    func connect(
      to host: String, port: Int, isSecure: Bool, isCancelled: () -> Bool
    ) throws(TransportError) -> any ProxyStream { self }

    func write(_ bytes: UnsafeRawBufferPointer, within milliseconds: Int) -> Bool {
      state.broadcasting { $0.writes += 1 }
      let isWritten = state.waiting(for: .milliseconds(milliseconds)) { state in
        state.isClosed ? false : state.writes == 1 || state.isOpen ? true : nil
      }
      if isWritten == nil { state.withLock { $0.hasTimedOut = true } }
      return isWritten ?? false
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int? {
      inner.read(into: buffer, within: milliseconds)
    }

    var isBroken: Bool { inner.isBroken }
    var isGone: Bool { false }
    func finishWriting() {}

    func close() {
      state.broadcasting { $0.isClosed = true }
      inner.close()
    }

    func reset() { close() }
  }

  private static let upload = NetworkRequest(
    "http://m.test/", method: "POST", body: .bytes([UInt8](repeating: 1, count: 1 << 20)))

  /// A server may answer, and stop reading the body.
  @Test func earlyAnswersDoNotWaitForTheUpload() async {
    let stuck = StuckStream(says: "HTTP/1.1 413 Too Much\r\nContent-Length: 3\r\n\r\nbig")
    let got = await Collected.fetch(
      Self.upload, by: fetcher(StreamPageTransport(stuck, stallSeconds: 20)))
    #expect(got.head?.status == 413 && got.body == Array("big".utf8) && !stuck.hasTimedOut)
  }

  @Test func stuckUploadsEndWithTheirTask() async {
    let stuck = StuckStream()
    let isCancelled = Monitor(false)
    let error = await MemoryStream.onOwnThread { () -> TransportError? in
      _ = try? OSThread(name: "cancels") {
        stuck.waitForUpload()
        isCancelled.broadcasting { $0 = true }
      }
      var request = Self.upload
      request.isCancelled = { isCancelled.withLock { $0 } }
      do throws(TransportError) {
        try StreamPageTransport(stuck, stallSeconds: 20).send(request) { _ in
          true
        } receive: { _ in
          true
        }
        return nil
      } catch {
        return error
      }
    }
    #expect(error?.kind == .stopped && !stuck.hasTimedOut)
  }

  /// Answers during an upload reach the page at once; here the server reads no more before that.
  @Test func answersArriveDuringTheUpload() async {
    let stuck = StuckStream(says: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")
    let body = await MemoryStream.onOwnThread { () -> [UInt8] in
      var body: [UInt8] = []
      do throws(TransportError) {
        try StreamPageTransport(stuck, stallSeconds: 20).send(Self.upload) { _ in
          true
        } receive: { bytes in
          body += bytes.withUnsafeBytes { Array($0) }
          stuck.open()
          return true
        }
      } catch {
        body += Array("\(error)".utf8)
      }
      return body
    }
    #expect(body == Array("yes".utf8) && !stuck.hasTimedOut)
  }

  /// A Content-Length that isn't the body's isn't passed on, by either transport.
  @Test(
    arguments: [
      ("GET", "Transfer-Encoding: chunked\r\nContent-Length: 3", "5\r\nhello\r\n0\r\n\r\n", "hello", []),
      ("GET", "Content-Length: 5\r\nContent-Length: 5", "hello", "hello", ["5"]),
      ("HEAD", "Transfer-Encoding: chunked\r\nContent-Length: 3", "", "", []),
      ("HEAD", "Content-Length: 7", "", "", ["7"]),
    ] as [(String, String, String, String, [String])])
  func contentLengthsMatchTheBody(
    method: String, fields: String, sent: String, body: String, lengths: [String]
  ) async {
    for transport in [CurlPageTransport() as any PageTransport, StreamPageTransport(LinuxProxyNetwork())] {
      let server = SocketServer { _ in [.send(Array("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(sent)".utf8))] }
      let got = await Collected.fetch(
        NetworkRequest(server.url, method: method), by: PageFetcher(transport, cookies: FakeCookies([])))
      #expect(got.body == Array(body.utf8) && got.head?.headers.values("content-length") == lengths, "\(got)")
    }
  }

  @Test func invalidLengthsAreNotPassedOn() {
    for value in ["x", "-1", "", "5, 6", "99999999999999999999"] {
      #expect(NetworkHead.forwardable([("A", "b"), ("Content-Length", value)]).map(\.name) == ["A"])
    }
  }

  @Test func eventsArriveAsTheyAreSent() async {
    let got = Monitor("")
    let server = SocketServer { _ in
      [.send(Array("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".utf8))]
        + (1...4).flatMap { number -> [SocketServer.Step] in
          [
            .send(Array("data: \(number)\n\n".utf8)),
            .run { got.waiting { $0.contains("data: \(number)\n\n") ? () : nil } },
          ]
        } + [.close]
    }
    let fetcher = fetcher(StreamPageTransport(LinuxProxyNetwork()))
    var isWhole = true
    do throws(TransportError) {
      try await fetcher.fetch(NetworkRequest(server.url)) { _ in
        true
      } receive: { bytes in
        let text = String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)
        got.broadcasting { $0 += text }
        return true
      }
    } catch {
      isWhole = false
    }
    #expect(isWhole && got.withLock { $0 } == (1...4).map { "data: \($0)\n\n" }.joined())
  }

  @Test(arguments: [("X-Bad\r\nX: y", "a"), ("X-Own", "a\r\nX: y"), ("", "a"), ("X Y", "a")])
  func headersThatWouldBreakTheRequestAreRefused(name: String, value: String) async {
    let server = SocketServer { _ in .answer() }
    let got = await Collected.fetch(
      NetworkRequest(server.url, headers: [(name, value)]),
      by: fetcher(StreamPageTransport(LinuxProxyNetwork())))
    #expect(got.error?.kind == .other)
  }

  @Test(
    arguments: [
      ("https://M.test:443/a/../b?c#d", "https://m.test /b?c"), ("http://[::1]:80", "http://[::1] /"),
      ("https://m.test/LONG?a#LONG", "https://m.test /LONG?a"),
      ("https://m.test:8443/?LONG", "https://m.test:8443 /?LONG"),
      ("https://m.test/LONG b", nil), ("https://m.test/LONG\u{E9}", nil), ("https://a@m.test/LONG", nil),
      ("https://m.test?/LONG", nil), ("https://m.test#/LONG", "https://m.test /"), ("https:m.test/LONG", nil),
      ("ftp://m.test/LONG", nil),
      ("https://m.test\\x/LONG", nil), ("/LONG", nil),
    ] as [(String, String?)])
  func urlsAreSplitIntoServerAndTarget(_ text: String, _ parts: String?) {
    let long = String(repeating: "x", count: 5_000)
    let address = RequestAddress(text.replacing("LONG", with: long))
    #expect(address.map { "\($0.server) \($0.target)" } == parts.map { $0.replacing("LONG", with: long) })
  }

  /// At most six connections are kept per server, for a minute, and none from another network.
  @Test func persistentConnectionsAreLimited() {
    let second: Int64 = 1_000
    var kept = KeptStreams()
    let streams = (0..<8).map { _ in MemoryStream.pair().0 }
    for (place, stream) in streams.enumerated() {
      let isKept = kept.keep(stream, to: "https://m.test", of: 0, at: Int64(place) * second)
      #expect(isKept == (place < 6))
    }
    let other = kept.take("https://n.test", at: 0)
    #expect(other == nil)
    // The most recent one first.
    let youngest = kept.take("https://m.test", at: 64 * second)
    #expect(youngest?.0 === streams[5])
    let old = kept.take("https://m.test", at: 64 * second)
    #expect(old == nil && streams[0].isGone && streams[4].isGone)
    let again = kept.keep(streams[6], to: "https://m.test", of: 0, at: 0)
    let all = kept.takeAll().count
    #expect(again && all == 1)
    // With many servers, the oldest connections are closed.
    let others = (0..<70).map { _ in MemoryStream.pair().0 }
    for (place, stream) in others.enumerated() {
      let isKept = kept.keep(stream, to: "https://h\(place).test", of: 1, at: Int64(place))
      #expect(isKept)
    }
    #expect(others.map(\.isGone) == (0..<70).map { $0 < 6 })
    let young = kept.keep(streams[7], to: "https://m.test", of: 1, at: 60 * second + 30)
    #expect(young && others.map(\.isGone) == (0..<70).map { $0 < 31 })
    _ = kept.takeAll()
    let late = kept.keep(streams[7], to: "https://m.test", of: 0, at: 0)
    let now = kept.keep(streams[7], to: "https://m.test", of: 2, at: 0)
    #expect(!late && now)
  }
}
