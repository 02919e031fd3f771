import HTTP
import Server
import System
import Testing

/// Fair scheduling: work of disconnected clients is dropped, and holders take turns.
@Suite struct FairnessTests {
  private static func get(_ path: String, of holder: String = "a") -> String {
    "GET \(path) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(holder)\r\n\r\n"
  }

  /// A server whose only common worker is busy.
  private static func held() throws -> (TestServer, TestClient) {
    let server = try TestServer { $0.workers = 1 }
    let holding = server.client()
    holding.send(get("/hold"))
    #expect(server.events.has("held"))
    return (server, holding)
  }

  @Test func workOfADisconnectedClientNeverBegins() throws {
    let (server, holding) = try Self.held()
    let disconnected = (0..<20).map { _ in server.client() }
    for client in disconnected { client.send(Self.get("/noted")) }
    #expect(server.waitUntil { $0.open == 21 })
    for client in disconnected { client.reset() }
    #expect(server.waitUntil { $0.open == 1 })
    server.events.add("release")
    #expect(holding.answer()?.text == "held")
    let next = server.client()
    next.send(Self.get("/later?x"))
    #expect(next.answer()?.text == "x")
    #expect(!server.events.all.contains("noted"))
  }

  /// The client may only have shut down its sending side.
  @Test func workOfAHalfClosedClientComesLast() throws {
    let (server, holding) = try Self.held()
    let half = server.client()
    half.send(Self.get("/noted"))
    half.finishSending()
    Clock.sleep(for: .milliseconds(100))
    let next = server.client()
    next.send(Self.get("/noted?next", of: "b"))
    Clock.sleep(for: .milliseconds(100))
    server.events.add("release")
    #expect(holding.answer()?.text == "held")
    #expect(next.answer()?.text == "noted next")
    #expect(half.answer()?.text == "noted")
    #expect(server.events.all.filter { $0.hasPrefix("noted") } == ["noted next", "noted"])
  }

  @Test func halfClosedClientIsNotWaitedFor() throws {
    let server = try TestServer {
      $0.workers = 1
      $0.timeouts.leaving = Timeouts.second / 10
    }
    let half = server.client()
    half.send(Self.get("/read"))
    #expect(server.events.has("reading"))
    half.finishSending()
    #expect(half.isClosedByServer())
    #expect(server.events.has("broken off"))
  }

  @Test func holdersTakeTurns() throws {
    let (server, holding) = try Self.held()
    var clients: [TestClient] = []
    for (count, holder) in [(10, "a"), (1, "b")] {
      for _ in 0..<count {
        let client = server.client()
        client.send(Self.get("/noted?\(holder)", of: holder))
        clients.append(client)
        Clock.sleep(for: .milliseconds(5))
      }
    }
    server.events.add("release")
    #expect(holding.answer()?.text == "held")
    for client in clients { #expect(client.answer()?.status == 200) }
    let order = server.events.all.filter { $0.hasPrefix("noted") }
    #expect(order.firstIndex(of: "noted b") ?? .max <= 2)
  }

  /// 20 clients repeatedly request answers that take the loop 30 ms each.
  @Test func largeAnswersTakeTurnsWithRequests() throws {
    let server = try TestServer()
    let isOver = Locked(false)
    let address = server.address
    let threads = try (0..<20).map { _ in
      try OSThread(name: "large") {
        let client = TestClient(address)
        while !isOver.withLock({ $0 }) {
          client.send(Self.get("/made"))
          guard client.answer()?.body.count == 3_000_000 else { return }
        }
      }
    }
    defer {
      isOver.withLock { $0 = true }
      for thread in threads { thread.join() }
    }
    #expect(server.waitUntil { $0.open == 20 })
    Clock.sleep(for: .milliseconds(300))
    let client = server.client()
    var milliseconds: [UInt64] = []
    for _ in 0..<20 {
      let begin = Clock.monotonicNanoseconds()
      client.send(Self.get("/small"))
      #expect(client.answer()?.text == "/small")
      milliseconds.append((Clock.monotonicNanoseconds() - begin) / 1_000_000)
    }
    // The answers of all others take 600 ms.
    #expect(milliseconds.sorted()[10] < 100, "\(milliseconds)")
  }

  @Test func uploadOfADisconnectedClientIsAborted() throws {
    let (server, holding) = try Self.held()
    let uploader = server.client()
    uploader.send("PUT /count HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789")
    Clock.sleep(for: .milliseconds(100))
    uploader.reset()
    #expect(server.waitUntil { $0.open == 1 })
    server.events.add("release")
    #expect(holding.answer()?.text == "held")
    let next = server.client()
    next.send(Self.get("/later?x"))
    #expect(next.answer()?.text == "x")
    #expect(!server.events.all.contains("finish"))
  }

  @Test func stopDropsQueuedWorkAndCancelsReads() throws {
    let server = try TestServer { $0.workers = 3 }
    let reader = server.client()
    reader.send(Self.get("/read"))
    #expect(server.events.has("reading"))
    let slow = (0..<40).map { _ in server.client() }
    for client in slow { client.send(Self.get("/slow")) }
    #expect(server.waitUntil { $0.open == 41 })
    let start = Clock.monotonicNanoseconds()
    // 40 times 0.3 s of work by two workers would take 6 s.
    #expect(server.server.stop(graceSeconds: 1))
    #expect(Double(Clock.monotonicNanoseconds() - start) / 1e9 < 3)
    #expect(server.events.all.contains("broken off"))
  }
}
