import SocketServer
import System
import Testing

@testable import HTTPClient

@Suite struct HTTPPoolTests {
  /// The replies to requests of many threads at the same time, by the request's number.
  private func bodies(_ count: Int, _ ask: @escaping @Sendable (Int) throws -> HTTPReply) -> [Int: HTTPReply]
  {
    let replies = Locked<[Int: HTTPReply]>([:])
    Parallel.forEach(count, threads: 32) { index in
      guard let reply = try? ask(index) else { return }
      replies.withLock { $0[index] = reply }
    }
    return replies.withLock { $0 }
  }

  @Test func manyThreadsShareFewConnections() throws {
    let server = SocketServer { request in
      [.sleep(milliseconds: 5)] + .answer(200, body: Array("body of \(request.path)".utf8))
    }
    let pool = HTTPPool(connections: 4)
    let replies = bodies(100) { try pool.send(HTTPRequest("GET", "\(server.url)/\($0)")) }
    #expect(replies.count == 100)
    for (index, reply) in replies {
      #expect(reply.body == Array("body of /\(index)".utf8) && reply.status == 200 && !reply.isMultiplexed)
    }
    #expect(server.connections <= 4)
  }

  @Test func errorsOfASinkEndOnlyItsRequest() throws {
    let server = SocketServer { _ in .answer(200, body: [UInt8](repeating: 1, count: 300_000)) }
    struct Stop: Error {}
    let pool = HTTPPool()
    let replies = bodies(40) { index in
      try pool.send(
        HTTPRequest("GET", "\(server.url)/"),
        into: .stream(limit: .max, write: { _ in if index % 2 == 0 { throw Stop() } }))
    }
    #expect(Set(replies.keys) == Set((0..<40).filter { $0 % 2 == 1 }))
  }

  @Test func failuresAreThrown() throws {
    let pool = HTTPPool()
    let server = SocketServer { request in request.path == "/reset" ? [.reset] : .answer(404) }
    #expect(throws: HTTPClientError.self) { try pool.send(HTTPRequest("GET", "\(server.url)/reset")) }
    #expect(throws: HTTPClientError.self) { try pool.send(HTTPRequest("GET", "not a url")) }
    #expect(try pool.send(HTTPRequest("GET", "\(server.url)/x")).status == 404)
  }

  /// A request that begins while the network changes isn't lost with the thread that ends for it.
  @Test func requestsSurviveNetworkChanges() async throws {
    let server = SocketServer { _ in .answer() }
    let pool = HTTPPool()
    let url = server.url
    let done = Monitor(0)
    let changes = try OSThread(name: "changes") {
      while done.withLock({ $0 < 400 }) {
        pool.forgetConnections()
        Clock.sleep(for: .microseconds(200))
      }
    }
    for _ in 0..<4 {
      _ = try OSThread(name: "requests") {
        for _ in 0..<100 {
          _ = try? pool.send(HTTPRequest("GET", url))
          done.broadcasting { $0 += 1 }
        }
      }
    }
    // A lost request never ends.
    for _ in 0..<6_000 where done.withLock({ $0 < 400 }) { try await Task.sleep(for: .milliseconds(10)) }
    #expect(done.withLock { $0 } == 400)
    done.broadcasting { $0 = 400 }
    changes.join()
  }

  /// After sleep, persistent connections aren't used again: the server may have closed them without notice.
  @Test(arguments: [false, true]) func sleepClosesPersistentConnections(isPooled: Bool) throws {
    let slept = Locked<Int64>(0)
    let server = SocketServer { _ in .answer() }
    let time: @Sendable () -> Int64 = { slept.withLock { $0 } }
    let (pool, client) = (HTTPPool(slept: time), HTTPClient(slept: time))
    for (milliseconds, connections) in [(0, 1), (19_999, 1), (20_000, 2), (0, 2), (600_000, 3)] {
      slept.withLock { $0 += Int64(milliseconds) }
      for _ in 0..<3 {
        let request = HTTPRequest("GET", server.url)
        _ = try isPooled ? pool.send(request) : client.send(request)
      }
      #expect(server.connections == connections)
    }
  }

  /// A stopped driver doesn't queue a transfer that nobody would run.
  @Test func stoppedDriversTakeNoTransfers() throws {
    let driver = try PoolDriver.start(1)
    driver.stop()
    let handle = try EasyHandle()
    #expect(driver.run(handle.handle) == nil)
  }

  /// A request that may have been processed is sent at most twice, however many persistent connections were closed.
  @Test(arguments: [false, true]) func postsAreRepeatedOnce(forPage: Bool) throws {
    let seen = Monitor<(begun: Int, posts: [Int])>((0, []))
    let server = SocketServer { request in
      if request.method == "GET" {
        // All come before one is answered, so that each has a connection of its own.
        seen.broadcasting { $0.begun += 1 }
        _ = seen.waiting(for: .seconds(30)) { $0.begun >= 4 ? () : nil }
        return .answer()
      }
      seen.broadcasting { $0.posts.append(request.connection) }
      return request.connection < 4 ? [.close] : .answer(body: request.body)
    }
    let pool = HTTPPool(connections: 4)
    let url = server.url
    let replies = bodies(4) { _ in
      try pool.send(HTTPRequest("GET", url), into: .page(begin: { _ in }, write: { _ in }))
    }
    #expect(replies.count == 4)
    var body: [UInt8] = []
    let repeats = Locked<[Bool]>([])
    var post = HTTPRequest("POST", url, body: .bytes([1, 2]))
    post.asksBeforeBody = false
    post.routed = { route in repeats.withLock { $0.append(route.isRepeat) } }
    let sink = HTTPSink.page(begin: { _ in }, write: { body.append(contentsOf: $0) })
    let reply = try pool.send(post, into: forPage ? sink : .memory(limit: 100))
    #expect((forPage ? body : reply.body) == [1, 2])
    let posts = seen.withLock { $0.posts }
    #expect(
      posts.count == 2 && posts.first ?? 9 < 4 && posts.last == 4 && repeats.withLock { $0 } == [false, true])
  }

  /// A request whose answer was cut off may have been processed.
  @Test func postsAreNotRepeatedAfterAnAnswerBegan() throws {
    let posts = Locked(0)
    let server = SocketServer { request in
      guard request.method == "POST" else { return .answer() }
      posts.withLock { $0 += 1 }
      return [.send(Array("HTTP/1.1 200 OK\r\nX: ".utf8)), .close]
    }
    let pool = HTTPPool(connections: 1)
    let page = HTTPSink.page(begin: { _ in }, write: { _ in })
    _ = try pool.send(HTTPRequest("GET", server.url), into: page)
    var post = HTTPRequest("POST", server.url, body: .bytes([1]))
    post.asksBeforeBody = false
    #expect(throws: HTTPClientError.self) { try pool.send(post, into: page) }
    #expect(posts.withLock { $0 } == 1)
  }

  /// libcurl takes a truncated head for an answer without a body.
  @Test(arguments: ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nX: 1\r\n", "HTTP/1.1 200 OK\r\nX: "])
  func truncatedHeadsAreErrors(_ head: String) throws {
    let server = SocketServer { _ in [.send(Array(head.utf8)), .close] }
    let url = server.url
    let isCut = { (body: () throws -> HTTPReply) in
      do {
        _ = try body()
        return false
      } catch HTTPClientError.cutOff {
        return true
      } catch {
        return false
      }
    }
    #expect(
      isCut { try HTTPPool().send(HTTPRequest("GET", url), into: .page(begin: { _ in }, write: { _ in })) })
    #expect(isCut { try HTTPPool().send(HTTPRequest("GET", url)) })
    #expect(isCut { try HTTPClient().send(HTTPRequest("GET", url)) })
  }

  /// `begin` is called once, before the first byte.
  @Test(arguments: [false, true]) func headsArriveBeforeTheBody(isPooled: Bool) throws {
    let server = SocketServer { _ in .answer(206, [("ETag", "\"a\"")], body: Array("message".utf8)) }
    var received: [String] = []
    let sink = HTTPSink.stream(
      limit: 100, write: { received.append(String(decoding: $0, as: UTF8.self)) },
      begin: { received.append("\($0.status) \($0.fields["etag"] ?? "")") })
    let request = HTTPRequest("GET", server.url)
    _ = try isPooled ? HTTPPool().send(request, into: sink) : HTTPClient().send(request, into: sink)
    #expect(received == ["206 \"a\"", "message"])
  }

  @Test(.enabled(if: NginxServer.isPossible)) func http2RequestsShareOneConnection() throws {
    let file = [UInt8](repeating: 42, count: 20_000)
    let server = try NginxServer(["file": file])
    let pool = HTTPPool()
    let (url, certificate) = (server.url, server.certificate)
    let replies = bodies(200) { _ in
      var request = HTTPRequest("GET", "\(url)/file")
      request.authorities = certificate
      return try pool.send(request)
    }
    #expect(replies.count == 200)
    #expect(replies.values.allSatisfy { $0.isMultiplexed && $0.body == file })
    let log = try server.log(of: 200)
    #expect(log.count == 200 && Set(log).count == 1 && log.allSatisfy { $0.hasSuffix("HTTP/2.0") })
  }

  /// An idempotent request is repeated when a persistent HTTP/2 connection ends before its answer.
  @Test(.enabled(if: ClosingServer.isPossible), arguments: ClosingServer.Ending.allCases, [false, true])
  func getsAreRepeatedWhenAnHTTP2ConnectionEnds(ending: ClosingServer.Ending, isPooled: Bool) throws {
    let server = try ClosingServer(ending)
    let (pool, client) = (HTTPPool(), HTTPClient())
    let ask = { (method: String, path: String) throws in
      var request = HTTPRequest(method, server.url + path)
      request.authorities = server.certificate
      return try isPooled ? pool.send(request) : client.send(request)
    }
    let first = try ask("GET", "/first")
    #expect(first.isMultiplexed && first.body == Array("0".utf8))
    #expect(try ask("GET", "/gone").body == Array("1".utf8))
    // The new connection is reused.
    #expect(try ask("GET", "/next").body == Array("1".utf8))
  }

  @Test(.enabled(if: ClosingServer.isPossible)) func postsAreNotRepeatedWhenAnHTTP2ConnectionEnds() throws {
    let server = try ClosingServer(.failure)
    let pool = HTTPPool()
    for (method, path) in [("GET", "/first"), ("POST", "/gone")] {
      var request = HTTPRequest(method, server.url + path)
      request.authorities = server.certificate
      if method == "GET" {
        _ = try pool.send(request)
      } else {
        #expect(throws: HTTPClientError.self) { try pool.send(request) }
      }
    }
  }
}
