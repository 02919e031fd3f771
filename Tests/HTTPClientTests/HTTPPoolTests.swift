import SocketServer
import System
import Testing

@testable import HTTPClient

@Suite struct HTTPPoolTests {
  /// The bodies that many threads get at the same time, by the number in their paths.
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

  @Test func aSinkThatStopsEndsItsRequestAlone() throws {
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

  @Test func failuresAreTold() throws {
    let pool = HTTPPool()
    let server = SocketServer { request in request.path == "/reset" ? [.reset] : .answer(404) }
    #expect(throws: HTTPClientError.self) { try pool.send(HTTPRequest("GET", "\(server.url)/reset")) }
    #expect(throws: HTTPClientError.self) { try pool.send(HTTPRequest("GET", "not a url")) }
    #expect(try pool.send(HTTPRequest("GET", "\(server.url)/x")).status == 404)
  }

  /// A request that begins while the network changes isn't lost with the thread that ends then.
  @Test func requestsOutliveAChangeOfTheNetwork() async throws {
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
    // One that is lost never ends.
    for _ in 0..<6_000 where done.withLock({ $0 < 400 }) { try await Task.sleep(for: .milliseconds(10)) }
    #expect(done.withLock { $0 } == 400)
    done.broadcasting { $0 = 400 }
    changes.join()
  }

  /// Nothing is put into a queue that nobody reads any more.
  @Test func aDriverThatWasStoppedTakesNothing() throws {
    let driver = try PoolDriver.start(1)
    driver.stop()
    let handle = try EasyHandle()
    #expect(driver.run(handle.handle) == nil)
  }

  /// The head comes before the first byte, once.
  @Test(arguments: [false, true]) func theHeadComesFirst(isPooled: Bool) throws {
    let server = SocketServer { _ in .answer(206, [("ETag", "\"a\"")], body: Array("message".utf8)) }
    var told: [String] = []
    let sink = HTTPSink.stream(
      limit: 100, write: { told.append(String(decoding: $0, as: UTF8.self)) },
      begin: { told.append("\($0.status) \($0.field("etag") ?? "")") })
    let request = HTTPRequest("GET", server.url)
    _ = try isPooled ? HTTPPool().send(request, into: sink) : HTTPClient().send(request, into: sink)
    #expect(told == ["206 \"a\"", "message"])
  }

  @Test(.enabled(if: NginxServer.isPossible)) func aServerOfHTTP2GetsOneConnection() throws {
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
}
